/* --timeout: launches are followed node by node, so that the command can say which one hangs. */
#include "launches.h"

#include "debug/attach/graphs/book.h"
#include "debug/attach/checks/host_functions.h"
#include "debug/hang/hang.h"
#include "debug/report/process_report.h"

enum { UPDATES_MAX = 64 }; /* a copy of a graph that changes before each launch would be made at each */

static bg_status watch(bg__attached *a)
{
    const bool whole = a->own || a->updates > UPDATES_MAX;
    const bg__watched_what what = {.graph = a->graph,
                                   .name = bg__graph_name(a->graph),
                                   .source = whole ? NULL : a->source,
                                   .key = (cudaGraphExec_t)a->exec,
                                   .launches = bg__graph_replays(a->graph)};
    const char *why = NULL;
    bg__watched *watched = NULL;
    cudaGraphExec_t copy;
    cudaGraph_t source;
    bg_status status = bg__watched_create(&watched, &what, &why);

    if (status == BG_OK && watched != NULL && why == NULL)
        bg__process_report_checked("hang", 0, a->nodes);
    else
        bg__process_report_not_checked("hang", bg__graph_name(a->graph), why != NULL ? why : bg_last_error());
    a->kept = watched;
    copy = watched != NULL ? bg__watched_copy(watched, &source) : NULL;
    if (copy != NULL && bg__book_checks())
        bg__host_functions_watch((CUgraphExec)copy, source, a->graph);
    return status;
}

static bool launch(bg__attached *a, cudaStream_t stream, CUresult *result)
{
    if (a->kept == NULL && watch(a) != BG_OK)
        return false;
    *result = (CUresult)bg__watched_launch(a->kept, stream);
    return *result == CUDA_SUCCESS; /* else the program makes the launch itself, and gets the error */
}

static void drop(void *kept)
{
    bg__watched_drop(kept);
}

bg_status bg__launch_hangs(const bg__launcher **launcher)
{
    static const bg__launcher hangs = {.name = "hang", .launch = launch, .drop = drop, .queues = true};
    bg_status status;

    BG__TRY(bg__hangs_begin());
    if (bg__hangs_wanted() && *launcher == NULL && !bg__book_steps())
        *launcher = &hangs;
done:
    return status;
}
