/* BG_ATTACH_BREAK: a graph is split at chosen nodes, which are launched without a graph, between its parts. */
#include "launches.h"

#include <stdlib.h>

#include "debug/attach/split/node_patterns.h"
#include "debug/attach/split/split_graph.h"
#include "debug/attach/split/node_launch.h"

/* Never NULL but for want of host memory. What cannot be split has no cuts, and is not tried again until it changes. */
static bg__split_graph *make(bg__tracked_graph *a)
{
    bg__split_graph *cuts = calloc(1, sizeof *cuts);

    if (cuts == NULL) {
        bg__warn("--break: out of host memory: %s is launched as it is", bg__graph_name(a->graph));
        return NULL;
    }
    if (bg__split_graph_create(cuts, a) != BG_OK) {
        bg__warn("--break: %s is launched as it is: %s", bg__graph_name(a->graph), bg_last_error());
        bg__split_graph_free(cuts);
    }
    if (cuts->outside > 0)
        a->cut = cuts->outside;
    return cuts;
}

static cudaError_t launch_cut(const struct bg__split_item *cut, cudaStream_t stream)
{
    return cut->part != NULL ? cudaGraphLaunch(cut->part, stream) : bg__node_launch_eager(cut->node, stream);
}

/* What is before it has been queued, and what is behind it cannot be queued without it: so a launch that fails, which
 * has queued nothing, is tried once more. */
static cudaError_t insist(const struct bg__split_item *cut, cudaStream_t stream)
{
    cudaError_t error = launch_cut(cut, stream);
    if (error == cudaSuccess)
        return error;
    bg__clear_cuda_error(error);
    return launch_cut(cut, stream);
}

/* *queued: something was, so that the graph cannot be launched as a whole any more. */
static cudaError_t launch_cuts(bg__tracked_graph *a, const bg__split_graph *cuts, cudaStream_t stream, bool *queued)
{
    cudaError_t error = cudaSuccess;

    for (size_t i = 0; i < cuts->count && error == cudaSuccess; i++) {
        const struct bg__split_item *cut = &cuts->list[i];
        error = insist(cut, stream);
        *queued = *queued || error == cudaSuccess;
        a->outside += error == cudaSuccess && cut->part == NULL;
    }
    return error;
}

static bool launch(bg__tracked_graph *a, cudaStream_t stream, CUresult *result)
{
    cudaError_t error;
    const bg__split_graph *cuts;
    bool queued = false;

    if (a->kept == NULL)
        a->kept = make(a);
    cuts = a->kept;
    if (cuts == NULL || cuts->count == 0)
        return false;
    error = launch_cuts(a, cuts, stream, &queued);
    bg__clear_cuda_error(error); /* the program gets it */
    *result = (CUresult)error;
    if (error != cudaSuccess)
        bg__warn("--break: %s %s: %s", bg__graph_name(a->graph),
                 queued ? "was not launched to its end, and the launch fails" : "is launched as it is",
                 cudaGetErrorName(error));
    a->split += error == cudaSuccess;
    return queued;
}

static void drop(void *kept)
{
    bg__split_graph_free(kept);
    free(kept);
}

bg_status bg__break_begin(const bg__launcher **launcher)
{
    static const bg__launcher own = {.name = "break", .launch = launch, .drop = drop, .queues = true};
    bool wanted;
    bg_status status;

    BG__TRY(bg__node_patterns_begin("BG_ATTACH_BREAK", &wanted));
    if (!wanted)
        return BG_OK;
    if (bg__graph_table_is_stepping())
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "BG_ATTACH_BREAK and BG_DEBUG=step exclude each other; unset one");
    BG__TRY(bg__node_launch_begin());
    *launcher = &own;
done:
    return status;
}
