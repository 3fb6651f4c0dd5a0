/* --timeout: launches are followed node by node, so that the command can say which one hangs. */
#include "launches.h"

#include "debug/attach/graphs/graph_table.h"
#include "debug/attach/events/subscribers.h"
#include "debug/attach/checks/host_functions.h"
#include "debug/attach/stacks/function_names.h"
#include "debug/hang/hang.h"
#include "debug/report/process_report.h"

enum { UPDATES_MAX = 64 }; /* a copy of a graph that changes before each launch would be made at each */

static bg_status watch(bg__tracked_graph *a)
{
    const bool whole = a->own || a->updates > UPDATES_MAX;
    const bg__hang_target what = {.graph = a->graph,
                                  .name = bg__graph_name(a->graph),
                                  .source = whole ? NULL : a->source,
                                  .key = (cudaGraphExec_t)a->exec,
                                  .launches = bg__graph_replays(a->graph)};
    const char *why = NULL;
    bg__hang_copy *watched = NULL;
    bg__nodes nodes = {.node = NULL};
    cudaGraphExec_t copy;
    cudaGraph_t source;
    bg_status status = bg__hang_copy_create(&watched, &what, &why);

    if (status == BG_OK && watched != NULL && why == NULL)
        bg__process_report_add_checked("hang", 0, a->nodes);
    else
        bg__process_report_add_unchecked("hang", bg__graph_name(a->graph), why != NULL ? why : bg_last_error());
    a->kept = watched;
    copy = watched != NULL ? bg__hang_copy_exec(watched, &source) : NULL;
    if (copy != NULL && bg__events_are_checked() && bg__nodes_read(a->graph, &nodes) == BG_OK)
        (void)bg__host_functions_wrap((CUgraphExec)copy, source, a->graph, &nodes); /* it has warned */
    bg__nodes_free(&nodes);
    return status;
}

static bool launch(bg__tracked_graph *a, cudaStream_t stream, CUresult *result)
{
    if (a->kept == NULL && watch(a) != BG_OK)
        return false;
    *result = (CUresult)bg__hang_copy_launch(a->kept, stream);
    return *result == CUDA_SUCCESS; /* else the program makes the launch itself, and gets the error */
}

static void drop(void *kept)
{
    bg__hang_copy_release(kept);
}

/* ---- threads that wait ------------------------------------------------------------------------------------------ */

static void record_waiting(const bg__event *event)
{
    const bg__stack *stack;
    char text[80];

    if (!bg__hangs_wanted())
        return;
    stack = bg__stack_here();
    bg__hang_wait_begin(bg__function_api_name(bg__call_name(event->call), stack, text, sizeof text),
                        stack != NULL ? bg__stack_site(stack) : (bg_site){NULL, 0});
}

static void record_waited(const bg__event *event)
{
    (void)event;
    bg__hang_wait_end();
}

const bg__subscriber bg__fact_waits = {.name = "waits",
                                       .on = {[BG__WAITING] = record_waiting, [BG__WAITED] = record_waited}};

bg_status bg__launch_hangs(const bg__launcher **launcher)
{
    static const bg__launcher hangs = {.name = "hang", .launch = launch, .drop = drop, .queues = true};
    bg_status status;

    BG__TRY(bg__hangs_begin());
    if (bg__hangs_wanted() && *launcher == NULL && !bg__graph_table_is_stepping())
        *launcher = &hangs;
done:
    return status;
}
