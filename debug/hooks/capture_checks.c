#include "capture_checks.h"

#include <breakgraph/check.h>
#include <stdio.h>
#include <string.h>

#include "graph/debug_table.h"
#include "debug/check/addresses.h"
#include "debug/check/check.h"
#include "debug/check/padding.h"
#include "debug/graph/tool_state.h"
#include "debug/memory/allocate.h"
#include "debug/report/process_report.h"
#include "debug/report/report.h"
#include "debug/report/report_data.h"
#include "debug/memory/results.h"
#include "debug/check/recapture.h"

static size_t count_calls(const bg_graph *graph)
{
    size_t count = 0;
    for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL; call = bg__call_next(call))
        count++;
    return count;
}

static size_t count_nodes(const bg_graph *graph)
{
    size_t count = 0;
    for (int i = 0; i < bg__graph_segment_count(graph); i++)
        count += bg__graph_segment(graph, i)->nodes;
    return count;
}

static bg_status check_poison(bg_graph *graph, cudaStream_t stream, bg_report **report)
{
    bg__results results = {0};
    bg_tensor *outputs = NULL;
    bg_status status;

    BG__TRY(bg__results_find(&results, graph));
    BG__TRY(BG__ALLOCATE(outputs, results.count, "outputs"));
    for (size_t i = 0; i < results.count; i++)
        outputs[i] = *results.list[i].field.tensor;
    BG__TRY(bg_check_poison(graph, outputs, results.count, stream, report));
done:
    free(outputs);
    bg__results_free(&results);
    return status;
}

static void warn_unchecked(const char *check, const char *name)
{
    char why[1024]; /* the calls below may set other errors */

    snprintf(why, sizeof why, "%s", bg_last_error());
    bg__warn("BG_CHECK=%s: %s could not be checked: %s", check, name, why);
    bg__process_report_add_unchecked(check, name, why);
}

/* Prints the findings, or why the check failed, and destroys `report`. */
static void print_and_destroy_report(const char *check, const char *name, bg_status status, bg_report *report)
{
    bg__foreign_error_note();
    if (status != BG_OK)
        warn_unchecked(check, name);
    else if (bg_report_count(report) > 0)
        bg__report_print(report, stderr);
    if (status == BG_OK)
        bg__process_report_add(report);
    bg_report_destroy(report);
}

void bg__env_check_recapture(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options)
{
    bg__env_check_bucket(forward, user, stream, options, NULL);
}

void bg__env_check_bucket(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options,
                          const bg__bucket_hooks *around)
{
    bg__recapture_pass pass = {forward, user, stream, *options, around};
    char hidden = bg__error_set_aside();
    bg_report *report = NULL;
    bg_status status;

    pass.options.check = BG_REPLAY_CHECK_OFF;
    pass.options.worker_threads = 0;
    pass.options.upload = false;
    pass.options.barrier = NULL;
    status = bg__check_recapture(&pass, NULL, &report);
    if (status == BG_OK)
        bg__process_report_add_checked("recapture", 0, 0);
    print_and_destroy_report("recapture", options->name != NULL ? options->name : "graph", status, report);
    bg__error_restore(hidden);
}

void bg__env_check_poison(bg_graph *graph, cudaStream_t stream)
{
    char hidden = bg__error_set_aside();
    bg_report *report = NULL;
    bg_status status = check_poison(graph, stream, &report);

    if (status == BG_OK)
        bg__process_report_add_checked("poison", count_calls(graph), count_nodes(graph));
    print_and_destroy_report("poison", bg__graph_name(graph), status, report);
    bg__error_restore(hidden);
}

void bg__env_check_padding(bg_graph *graph, const bg__padded_buffer *buffers, size_t count, cudaStream_t stream)
{
    char hidden = bg__error_set_aside();
    bg_report *report = NULL;
    bg_status status = bg__check_padding(graph, buffers, count, stream, &report);

    if (status == BG_OK)
        bg__process_report_add_checked("padding", count_calls(graph), count_nodes(graph));
    print_and_destroy_report("padding", bg__graph_name(graph), status, report);
    bg__error_restore(hidden);
}

/* ---- BG_CHECK=graph ---- */

/* Adds to `all`, the report of the graph, the findings of `fresh` that it lacks. Returns false if it lacks none.
 * Messages are not compared, since they count replays. */
static bool add_new_findings(bg_report *all, const bg_report *fresh)
{
    bool any = false;
    for (int i = 0; i < bg_report_count(fresh); i++) {
        const bg_finding *f = bg__report_finding_at(fresh, i);
        bool known = false;
        for (int k = 0; k < bg_report_count(all) && !known; k++) {
            const bg_finding *a = bg__report_finding_at(all, k);
            known = a->address == f->address && strcmp(a->kind, f->kind) == 0 && strcmp(a->call, f->call) == 0;
        }
        if (!known)
            bg__report_add_finding(all, f);
        any |= !known;
    }
    return any;
}

/* Checks what can change after the capture. closures: checks closures alone. */
static bg_status check_changes(bg_graph *graph, bool closures, const void *frame, bg_report **fresh)
{
    bg_status status;
    if (!closures)
        return bg__check_graph(graph, BG_CHECK_ADDRESSES | BG_CHECK_NODES, frame, fresh);
    BG__TRY(bg__report_create(fresh, "check", bg__graph_name(graph)));
    BG__TRY(bg__check_closures(graph, frame, *fresh));
done:
    return status;
}

/* Checks the graph again. Warns once for each graph if it cannot be checked. */
static void check_again(bg_graph *graph, bool closures, const void *frame)
{
    char hidden = bg__error_set_aside();
    bg_report *fresh = NULL;
    bg__tools *tools = NULL;
    bg_status status;

    BG__TRY(bg__tools_get(graph, &tools));
    tools->check_count++;
    BG__TRY(check_changes(graph, closures, frame, &fresh));
    if (tools->checked == NULL)
        BG__TRY(bg__report_create(&tools->checked, "check", bg__graph_name(graph)));
    if (add_new_findings(tools->checked, fresh)) {
        bg__report_print(fresh, stderr);
        bg__process_report_add(tools->checked);
    }
done:
    if (status != BG_OK && tools != NULL && tools->check_count == 1)
        bg__warn("BG_CHECK=graph: %s could not be checked before a replay: %s", bg__graph_name(graph), bg_last_error());
    bg_report_destroy(fresh);
    bg__error_restore(hidden);
}

/* Early replays are always checked. Soon after the capture, memory that the capture used may be freed, and functions
 * that the capture used may return. */
static bool is_early_replay(const bg_graph *graph)
{
    enum { FIRST = 3 }; /* replays that are always checked */
    const bg__tools *tools = bg__tools_find(graph);
    return tools == NULL || tools->check_count < FIRST;
}

static void check_before_replay(bg_graph *graph, const void *frame)
{
    bool needed = true;

    if (!is_early_replay(graph) && bg__check_is_needed(graph, &needed) == BG_OK && !needed)
        return;
    check_again(graph, false, frame);
}

/* A failed capture is not counted, since it leaves no graph. The program gets the error of the capture. */
void bg__env_check_graph(bg_graph *graph, bool failed, const void *frame)
{
    char text[1024];
    bg_report *report = NULL;
    bg__tools *tools;
    bg_status status;

    snprintf(text, sizeof text, "%s", bg_last_error());
    BG__TRY(bg__tools_get(graph, &tools));
    BG__TRY(bg__check_graph(graph, failed ? BG_CHECK_ADDRESSES : BG_CHECK_ALL, frame, &report));
    tools->checked = report;
    if (!failed)
        bg__process_report_add_checked("graph", count_calls(graph), count_nodes(graph));
    if (bg_report_count(report) > 0) {
        bg__report_print(report, stderr);
        bg__process_report_add(report);
    }
done:
    if (status != BG_OK && !failed)
        warn_unchecked("graph", bg__graph_name(graph));
    bg__error_set_text(text);
}

void bg__env_record_unchecked(const bg_graph *graph, unsigned check, const char *why)
{
    const char *name = check == BG__CHECK_RECAPTURE ? "recapture" : check == BG__CHECK_POISON ? "poison" : "padding";
    bg__process_report_add_unchecked(name, bg__graph_name(graph), why);
}

/* ---- before replays ---- */

bg_status bg__env_check_replay(bg_graph *graph, unsigned checks, const void *frame)
{
    bool in_tool = bg__thread_self()->in_tool;
    bg_status status = BG_OK;

    if ((checks & BG__CHECK_REPLAY) != 0) {
        if (!in_tool && frame != NULL) /* otherwise a runner checks before it makes the replay itself */
            bg__process_report_count_compared_replay();
        BG__TRY(bg__check_replay(graph));
        if (!in_tool && frame != NULL && is_early_replay(graph))
            check_again(graph, true, frame);
    } else if (!in_tool) {
        check_before_replay(graph, frame);
    }
done:
    return status;
}
