/* bg_graph_wrap: wraps CUDA graphs that breakgraph did not capture. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

bg_status bg_graph_wrap(bg_graph **result, cudaGraph_t source, cudaGraphExec_t exec, const char *name)
{
    bg__segment segment = {.graph = source, .exec = exec};
    bg_graph *graph = NULL;
    bg_status status;

    BG__NEED(result);
    *result = NULL;
    BG__NEED(source);
    bg__foreign_error_note();
    BG__TRY_CUDA(cudaGraphGetNodes(source, NULL, &segment.nodes));
    BG__TRY(bg__graph_create(&graph, name, NULL));
    graph->wrapped = true;
    BG__TRY(bg__graph_add_segment(graph, segment));
    BG__TRY(bg__graph_add_step(graph, (bg__step){.kind = BG__STEP_LAUNCH, .place = 0, .of.exec = exec}));
    *result = graph;
    graph = NULL;
done:
    bg_graph_destroy(graph);
    return status;
}

bg_status bg__wrapped_instantiate(bg_graph *graph)
{
    bg__segment *segment = &graph->segments[0];
    double began = bg__now_ms();
    bg__relaxed_mode relaxed;
    bg_status status;
    cudaError_t error;

    BG__TRY(bg__relaxed_mode_begin(&relaxed)); /* other captures may be running */
    error = bg__instantiate_graph(segment->graph, &segment->exec);
    bg__relaxed_mode_end(relaxed);
    if (error != cudaSuccess) {
        segment->exec = NULL;
        status = bg__fail_cuda(error, "cudaGraphInstantiate");
        bg__error_add_location("graph %s, wrapped without a cudaGraphExec_t", graph->name);
        goto done;
    }
    graph->instantiated = true;
    graph->steps[0].of.exec = segment->exec;
    graph->instantiate_ms += bg__now_ms() - began;
done:
    return status;
}

bg_status bg__wrapped_set_source(bg_graph *graph, cudaGraph_t source)
{
    bg__segment *segment = &graph->segments[0];
    bg_status status = BG_OK;

    segment->graph = source; /* the old one may be destroyed, whatever follows */
    BG__TRY_CUDA(cudaGraphGetNodes(source, NULL, &segment->nodes));
done:
    return status;
}

bg_status bg__wrapped_add_call(bg_graph *graph, const bg_op *op, const bg_site *site, long node)
{
    bg__call *call;
    bg_status status;

    BG__TRY(bg__call_find_or_add(&graph->root, op, site, &call));
    call->recorded = true;
    call->segment = call->end_segment = 0;
    call->first_node = node;
    call->end_node = node + 1;
done:
    return status;
}

void bg__wrapped_clear_calls(bg_graph *graph)
{
    bg__call_clear(&graph->root);
}

void bg__wrapped_set_mirrored(bg_graph *graph, bool mirrored)
{
    graph->mirrored = mirrored;
}

bg_status bg__wrapped_set_name(bg_graph *graph, const char *name)
{
    char *copy = strdup(name);
    if (copy == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the name of a graph");
    free(graph->name);
    graph->name = copy;
    return BG_OK;
}

size_t bg__wrapped_count_nodes(const bg_graph *graph)
{
    return graph->segments[0].nodes;
}
