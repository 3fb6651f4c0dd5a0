/* The op calls that made the nodes of a graph. */
#include "graph/inspect.h"

#include <stdlib.h>

#include "graph/graph.h"

/* The calls of the nodes before rules rewrote them; those of segment i begin at first[i]. */
typedef struct captured_calls {
    const bg__call **call;
    size_t *first;
} captured_calls;

static bg_status count_nodes(bg__calls_of_nodes *owners, captured_calls *of, const bg_graph *graph)
{
    bg_status status = BG_OK;

    for (int i = 0; i < graph->segment_count; i++) {
        const bg__segment *segment = &graph->segments[i];
        size_t count = 0;
        BG__TRY_CUDA(cudaGraphGetNodes(segment->graph, NULL, &count));
        owners->first[i + 1] = owners->first[i] + count;
        of->first[i + 1] = of->first[i] + (segment->origins != NULL ? segment->nodes_at_capture : count);
    }
done:
    return status;
}

/* A call with a break in its body continues in later segments. */
static void assign_nodes(const captured_calls *of, const bg_graph *graph, const bg__call *call)
{
    int last = call->end_segment < graph->segment_count ? call->end_segment : graph->segment_count - 1;

    for (int segment = call->segment < 0 ? 0 : call->segment; segment <= last; segment++) {
        size_t count = of->first[segment + 1] - of->first[segment];
        size_t from = call->segment == segment ? (size_t)call->first_node : 0;
        size_t end = call->end_segment == segment ? (size_t)call->end_node : count;
        for (size_t i = from; i < end && i < count; i++)
            of->call[of->first[segment] + i] = call;
    }
}

static void copy_node_calls(const bg__calls_of_nodes *owners, const captured_calls *of, const bg__segment *segment,
                            int index)
{
    const bg__call **was = of->call + of->first[index], **is = owners->call + owners->first[index];

    for (size_t i = 0; i < owners->first[index + 1] - owners->first[index]; i++)
        if (segment->origins == NULL)
            is[i] = was[i];
        else if (i < segment->nodes)
            is[i] = segment->origins[i].run != NULL ? segment->origins[i].run : was[segment->origins[i].place];
}

bg_status bg__calls_of_nodes_list(bg__calls_of_nodes *owners, const bg_graph *graph)
{
    const size_t segments = (size_t)graph->segment_count;
    captured_calls of = {NULL, NULL};
    bg_status status;

    *owners = (bg__calls_of_nodes){NULL, NULL};
    owners->first = calloc(segments + 1, sizeof *owners->first);
    of.first = calloc(segments + 1, sizeof *of.first);
    if (owners->first == NULL || of.first == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu segments of %s", segments, graph->name);
    BG__TRY(count_nodes(owners, &of, graph));
    owners->call = calloc(owners->first[segments] + 1, sizeof *owners->call);
    of.call = calloc(of.first[segments] + 1, sizeof *of.call);
    if (owners->call == NULL || of.call == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu nodes of %s", of.first[segments], graph->name);
    /* In order of the pass an inner call follows the call around it, and replaces it as the owner of its nodes. */
    for (const bg__call *call = bg__call_next(&graph->root); call != NULL; call = bg__call_next(call))
        if (!call->eager && call->first_node >= 0 && call->end_node >= 0)
            assign_nodes(&of, graph, call);
    for (int i = 0; i < graph->segment_count; i++)
        copy_node_calls(owners, &of, &graph->segments[i], i);
done:
    free(of.call);
    free(of.first);
    return status;
}

void bg__calls_of_nodes_free(bg__calls_of_nodes *owners)
{
    free(owners->call);
    free(owners->first);
    *owners = (bg__calls_of_nodes){NULL, NULL};
}
