/* --timeout: launches are followed node by node, so that the command can say which one hangs. */
#include "launches.h"

#include "debug/attach/graphs/graph_table.h"
#include "debug/attach/checks/host_functions.h"
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
    cudaGraphExec_t copy;
    cudaGraph_t source;
    bg_status status = bg__hang_copy_create(&watched, &what, &why);

    if (status == BG_OK && watched != NULL && why == NULL)
        bg__process_report_add_checked("hang", 0, a->nodes);
    else
        bg__process_report_add_unchecked("hang", bg__graph_name(a->graph), why != NULL ? why : bg_last_error());
    a->kept = watched;
    copy = watched != NULL ? bg__hang_copy_exec(watched, &source) : NULL;
    if (copy != NULL && bg__graph_table_is_checking())
        bg__host_functions_wrap((CUgraphExec)copy, source, a->graph);
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
