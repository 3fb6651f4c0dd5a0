/* Checks and steps the program's graphs: before each launch, and on request. */
#include "graph_table.h"
#include "in_place.h"

#include <stdlib.h>

#include "debug/attach/memory/allocation_changes.h"
#include "debug/attach/stream_order/stream_order.h"
#include "debug/attach/report/report_list.h"
#include "debug/check/node_pointers.h"
#include "debug/graph/tool_state.h"
#include "debug/hooks/step_replays.h"
#include "debug/report/process_report.h"

/* The program has set the nodes' pointers on purpose. Only memory that changes afterwards is a finding, so this records
 * the allocations behind the pointers again. */
static bg_status read_nodes(bg__tracked_graph *a)
{
    bg__nodes nodes = {.node = NULL};
    bg_status status = BG_OK;

    if (a->nodes_read)
        return BG_OK;
    bg__recorded_allocations_clear(a->graph);
    BG__TRY(bg__recorded_allocations_update(a->graph));
    BG__TRY(bg__nodes_read(a->graph, &nodes));
    a->nodes_read = true;
    BG__DISPATCH(BG__EXEC_NODES_READ, .graph = a, .exec = a->exec, .nodes = &nodes);
done:
    bg__nodes_free(&nodes);
    return status;
}

/* Whether memory that the graph may use has changed since its last check. */
static bool is_touched(bg__tracked_graph *a, const bg__allocations *used)
{
    uint64_t memory_checked_at = a->memory_checked_at, blocks = a->blocks_checked_at;
    bool first = !a->checked;

    a->checked = true;
    a->memory_checked_at = bg__changes_count();
    a->blocks_checked_at = bg__graph_table_block_moves();
    return first || a->blocks_checked_at != blocks ||
           (a->memory_checked_at != memory_checked_at && bg__changes_overlap(memory_checked_at, used));
}

static void report_new_findings(bg__tracked_graph *a)
{
    bg__report_publish_new(a->report, &a->reported_count);
}

static bg_status check_launch(bg__tracked_graph *a, bg__event *launching)
{
    const bool checks = bg__events_are_checked() && !a->stale && !a->unreadable;
    bg__allocations *used;
    bg_status status = BG_OK, read = checks ? read_nodes(a) : BG_OK;

    bg__event_dispatch(launching);
    BG__TRY(read);
    if (checks) {
        BG__TRY(bg__recorded_allocations_get(a->graph, &used));
        if (is_touched(a, used))
            BG__TRY(bg__subscribers_look(a, __builtin_frame_address(0), a->report));
    }
    report_new_findings(a);
done:
    return status;
}

/* Returns true if the program gets *result, and false if stepping failed before a node ran: the graph is launched as a
 * whole. */
static bool step_launch(bg__tracked_graph *a, cudaStream_t stream, CUresult *result)
{
    bg_status status = bg_replay(a->graph, stream != NULL ? stream : cudaStreamLegacy);
    cudaError_t error = cudaSuccess;
    *result = CUDA_SUCCESS;
    if (status == BG_OK || status == BG_ERROR_STOPPED)
        return true;
    if (bg__stepping_pop_partial_run(a->graph, &error)) {
        *result = error != cudaSuccess ? (CUresult)error : CUDA_ERROR_UNKNOWN;
        if (error == cudaSuccess) /* no finding reports it */
            bg__warn("--attach: the launch of %s fails, since some of its nodes did not run: %s",
                     bg__graph_name(a->graph), bg_last_error());
        return true;
    }
    bg__warn("--attach: %s is launched as a whole and not stepped: %s", bg__graph_name(a->graph), bg_last_error());
    return false;
}

bool bg__graph_table_before_launch(CUgraphExec exec, cudaStream_t stream, CUresult *result)
{
    const bg__launcher *launcher = bg__graph_table_launcher();
    bg__tracked_graph *a = bg__tracked_graph_acquire(exec);
    bg__event launching = {.kind = BG__EXEC_LAUNCHING, .graph = a, .exec = exec, .stream = stream};
    bool answered;

    if (a == NULL) {
        bg__event_dispatch(&launching);
        return false;
    }
    if (a->edited)
        bg__tracked_graph_set_stale(a);
    a->unreadable = !a->stale && bg__subscribers_forbid(a, a->report);
    if (check_launch(a, &launching) != BG_OK)
        bg__tracked_graph_warn_partial(a);
    if (launcher != NULL)
        answered = a->unreadable || a->stale ? bg__launch_in_order(launcher, a, stream, result)
                                             : bg__launch_in_place(launcher, a, stream, result);
    else
        answered = !a->unreadable && !a->stale && bg__graph_table_is_stepping() && step_launch(a, stream, result);
    if (!answered || (launcher != NULL && *result == CUDA_SUCCESS)) { /* bg_replay counts a stepped launch */
        bg__graph_count_replay(a->graph);
        bg__process_report_count_replay(NULL);
    }
    bg__tracked_graph_release(a);
    bg__graph_table_write_list_if_due();
    return answered;
}

/* Only the check of the order between streams (stream_order.c) needs this call. */
void bg__graph_table_after_launch(CUgraphExec exec, cudaStream_t stream)
{
    bg__event launched = {.kind = BG__EXEC_LAUNCHED, .exec = exec, .stream = stream};

    if (!bg__stream_order_is_active())
        return;
    launched.graph = bg__tracked_graph_acquire(exec);
    bg__event_dispatch(&launched);
    if (launched.graph != NULL)
        bg__tracked_graph_release(launched.graph);
}

/* ---- requests of the program (attach_interface.c) ---------------------------------------------------------------- */

/* Checks into a new report, which lacks findings that no longer hold. The graph's report gets the new findings. */
static bg_status check_on_request(bg__tracked_graph *a, bg__report_list *found)
{
    bg_report *report = NULL;
    bg_status status;

    if (a->edited)
        bg__tracked_graph_set_stale(a);
    found->graphs += !a->stale;
    found->not_checked += a->stale;
    BG__TRY(bg__report_create(&report, "check", bg__graph_name(a->graph)));
    if (!a->stale && !bg__subscribers_forbid(a, report)) {
        BG__TRY(read_nodes(a));
        BG__TRY(bg__subscribers_look(a, __builtin_frame_address(0), report));
    }
    if (a->gone) /* another thread has destroyed it: memory freed since then is no fault */
        goto done;
    BG__TRY(bg_report_merge(a->report, report));
    report_new_findings(a);
    if (bg_report_count(a->report) > a->returned_count)
        BG__TRY(bg_report_merge(report, a->report));
    a->returned_count = bg_report_count(a->report);
    status = bg__report_list_add(found, report);
    report = NULL;
done:
    bg_report_destroy(report);
    return status;
}

bg_status bg__graph_table_check_all(bg__report_list *found)
{
    CUgraphExec *list = NULL;
    size_t count;
    bg_status status;

    if (!bg__events_are_checked())
        return bg__fail(BG_ERROR_UNSUPPORTED,
                        "bg_attach_check: this command does not check; write: breakgraph check --attach -- PROGRAM");
    status = bg__graph_table_list_execs(&list, &count, found);
    for (size_t i = 0; status == BG_OK && i < count; i++) {
        bg__tracked_graph *a = bg__tracked_graph_acquire(list[i]);
        if (a == NULL)
            continue; /* destroyed meanwhile */
        status = check_on_request(a, found);
        bg__tracked_graph_release(a);
    }
    free(list);
    return status;
}
