/* Checks and steps the program's graphs: before each launch, and on request. */
#include "book.h"
#include "attached.h"
#include "in_place.h"

#include <stdlib.h>

#include "debug/attach/memory/changes.h"
#include "debug/attach/report/found.h"
#include "debug/check/check.h"
#include "debug/check/node_pointers.h"
#include "debug/graph/tools.h"
#include "debug/hooks/step_replays.h"
#include "debug/report/process_report.h"

/* The program has set the nodes' pointers on purpose. Only memory that changes afterwards is a finding, so this records
 * the allocations behind the pointers again. */
static bg_status note_nodes(bg__attached *a)
{
    bg_status status = BG_OK;
    if (!a->noted) {
        bg__nodes_forget(a->graph);
        BG__TRY(bg__nodes_note(a->graph));
        BG__TRY(bg__kernels_note(a->graph, &a->kernels));
        a->around_noted = false;
        a->noted = true;
    }
done:
    return status;
}

/* Whether memory that the graph may use has changed since its last check. */
static bool is_touched(bg__attached *a, const bg__allocations *used)
{
    uint64_t looked = a->looked, blocks = a->blocks_looked;
    bool first = !a->checked;

    a->checked = true;
    a->looked = bg__changes();
    a->blocks_looked = bg__book_moves();
    return first || a->blocks_looked != blocks || (a->looked != looked && bg__changes_meet(looked, used));
}

static void tell(bg__attached *a)
{
    bg__found_tell(a->report, &a->told);
}

static bg_status run_checks(bg__attached *a, bg_report *report)
{
    bg__nodes nodes = {0};
    bg_status status;

    bg__blocks_check(a->blocks, report); /* first: it knows the tensors, and bg__check_nodes does not repeat it */
    BG__TRY(bg__nodes_take(a->graph, &nodes));
    BG__TRY(bg__check_nodes(a->graph, &nodes, report));
    BG__TRY(bg__check_host_memory(a->graph, &nodes, __builtin_frame_address(0), report));
done:
    bg__nodes_free(&nodes);
    return status;
}

static bg_status check_launch(bg__attached *a)
{
    bg__allocations *used;
    bg_status status;

    bg__blocks_launched(a->graph, a->blocks, a->report);
    BG__TRY(note_nodes(a));
    BG__TRY(bg__nodes_notes(a->graph, &used));
    if (is_touched(a, used))
        BG__TRY(run_checks(a, a->report));
    tell(a);
    BG__TRY(bg__attached_note_around(a));
    bg__around_look(a->around);
done:
    return status;
}

/* Returns true if the program gets *result, and false if stepping failed before a node ran: the graph is launched as a
 * whole. */
static bool step_launch(bg__attached *a, cudaStream_t stream, CUresult *result)
{
    bg_status status = bg_replay(a->graph, stream != NULL ? stream : cudaStreamLegacy);
    cudaError_t error = cudaSuccess;
    *result = CUDA_SUCCESS;
    if (status == BG_OK || status == BG_ERROR_STOPPED)
        return true;
    if (bg__stepping_take_ran(a->graph, &error)) {
        *result = error != cudaSuccess ? (CUresult)error : CUDA_ERROR_UNKNOWN;
        if (error == cudaSuccess) /* no finding reports it */
            bg__warn("--attach: nodes of %s did not run, and its launch fails: %s", bg__graph_name(a->graph),
                     bg_last_error());
        return true;
    }
    bg__warn("--attach: %s is launched as a whole: %s", bg__graph_name(a->graph), bg_last_error());
    return false;
}

bool bg__book_launch(CUgraphExec exec, cudaStream_t stream, CUresult *result)
{
    const bg__launcher *launcher = bg__book_launcher();
    bg__attached *a = bg__attached_take(exec);
    bool answered, unloaded;

    if (a == NULL)
        return false;
    bg__growth_launched(a->grown);
    if (a->edited)
        bg__attached_set_stale(a);
    unloaded = !a->stale && bg__kernels_check(a->kernels, a->report);
    if (unloaded)
        tell(a);
    else if (bg__book_checks() && a->stale)
        bg__blocks_launched(a->graph, a->blocks, NULL);
    else if (bg__book_checks() && check_launch(a) != BG_OK)
        bg__attached_warn(a);
    if (launcher != NULL)
        answered = unloaded || a->stale ? bg__launch_behind(launcher, a, stream, result)
                                        : bg__launch_in_place(launcher, a, stream, result);
    else
        answered = !unloaded && !a->stale && bg__book_steps() && step_launch(a, stream, result);
    if (!answered || (launcher != NULL && *result == CUDA_SUCCESS)) { /* bg_replay counts a stepped launch */
        bg__graph_count_replay(a->graph);
        bg__process_report_count_replay(NULL);
    }
    bg__attached_give(a);
    bg__book_list_if_due();
    return answered;
}

void bg__book_launched(CUgraphExec exec, cudaStream_t stream)
{
    bg__attached *a = bg__around_is_used() ? bg__attached_take(exec) : NULL;

    bg__around_launched(a != NULL && a->around_noted && !a->stale ? a->around : NULL, a != NULL ? a->graph : NULL,
                        stream);
    if (a != NULL)
        bg__attached_give(a);
}

/* ---- the program asks (interface.c) ----------------------------------------------------------------------------- */

/* Checks into a new report, which lacks findings that no longer hold. The graph's report gets the new findings. */
static bg_status check_now(bg__attached *a, bg__found *found)
{
    bg_report *report = NULL;
    bg_status status;

    if (a->edited)
        bg__attached_set_stale(a);
    found->graphs += !a->stale;
    found->not_checked += a->stale;
    BG__TRY(bg__report_create(&report, "check", bg__graph_name(a->graph)));
    if (!a->stale && !bg__kernels_check(a->kernels, report)) {
        BG__TRY(note_nodes(a));
        BG__TRY(run_checks(a, report));
    }
    if (a->gone) /* another thread has destroyed it: memory freed since then is no fault */
        goto done;
    BG__TRY(bg_report_merge(a->report, report));
    tell(a);
    if (bg_report_count(a->report) > a->asked)
        BG__TRY(bg_report_merge(report, a->report));
    a->asked = bg_report_count(a->report);
    status = bg__found_add(found, report);
    report = NULL;
done:
    bg_report_destroy(report);
    return status;
}

bg_status bg__book_check(bg__found *found)
{
    CUgraphExec *list = NULL;
    size_t count;
    bg_status status;

    if (!bg__book_checks())
        return bg__fail(BG_ERROR_UNSUPPORTED,
                        "bg_attach_check: this command does not check; write: breakgraph check --attach -- PROGRAM");
    status = bg__book_graphs(&list, &count, found);
    for (size_t i = 0; status == BG_OK && i < count; i++) {
        bg__attached *a = bg__attached_take(list[i]);
        if (a == NULL)
            continue; /* destroyed meanwhile */
        status = check_now(a, found);
        bg__attached_give(a);
    }
    free(list);
    return status;
}
