/* The op calls that made the nodes of a graph. */
#include "capture/inspect.h"

#include <stdlib.h>

#include "capture/capture.h"

static bg_status count_nodes(bg__owners *owners, const bg_graph *graph)
{
    bg_status status = BG_OK;

    for (int i = 0; i < graph->segment_count; i++) {
        size_t count = 0;
        BG__TRY_CUDA(cudaGraphGetNodes(graph->segments[i].graph, NULL, &count));
        owners->first[i + 1] = owners->first[i] + count;
    }
done:
    return status;
}

/* A call with a break in its body continues in later segments. */
static void own_range(bg__owners *owners, const bg_graph *graph, const bg__call *call)
{
    int last = call->end_segment < graph->segment_count ? call->end_segment : graph->segment_count - 1;

    for (int segment = call->segment < 0 ? 0 : call->segment; segment <= last; segment++) {
        size_t count = owners->first[segment + 1] - owners->first[segment];
        size_t from = call->segment == segment ? (size_t)call->first_node : 0;
        size_t end = call->end_segment == segment ? (size_t)call->end_node : count;
        if (graph->segments[segment].owners == NULL)
            for (size_t i = from; i < end && i < count; i++)
                owners->call[owners->first[segment] + i] = call;
    }
}

bg_status bg__owners_list(bg__owners *owners, const bg_graph *graph)
{
    bg_status status = BG_OK;

    *owners = (bg__owners){NULL, NULL};
    owners->first = calloc((size_t)graph->segment_count + 1, sizeof *owners->first);
    if (owners->first == NULL)
        goto out_of_memory;
    BG__TRY(count_nodes(owners, graph));
    owners->call = calloc(owners->first[graph->segment_count] + 1, sizeof *owners->call);
    if (owners->call == NULL)
        goto out_of_memory;
    /* In order of the pass an inner call comes after the call around it, and takes over its nodes. */
    for (const bg__call *call = bg__call_next(&graph->root); call != NULL; call = bg__call_next(call))
        if (!call->eager && call->first_node >= 0 && call->end_node >= 0)
            own_range(owners, graph, call);
    for (int i = 0; i < graph->segment_count; i++) {
        size_t count = owners->first[i + 1] - owners->first[i];
        for (size_t k = 0; graph->segments[i].owners != NULL && k < graph->segments[i].nodes && k < count; k++)
            owners->call[owners->first[i] + k] = graph->segments[i].owners[k];
    }
done:
    return status;
out_of_memory:
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the calls of the nodes of %s", graph->name);
}

void bg__owners_free(bg__owners *owners)
{
    free(owners->call);
    free(owners->first);
    *owners = (bg__owners){NULL, NULL};
}
