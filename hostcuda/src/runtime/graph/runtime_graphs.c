/* Calls that create, clone and destroy graphs. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/graph/graph_copy.h"
#include "hostcuda/src/graph/graph_object.h"

cudaError_t cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
    HC_THROUGH_DRIVER(cuGraphCreate, pGraph, flags);
    cudaError_t error = hc_call_begin();
    if (!error && (!pGraph || flags))
        error = cudaErrorInvalidValue;
    if (!error && !(*pGraph = hc_graph_make()))
        error = cudaErrorMemoryAllocation;
    return hc_call_end(error);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    HC_THROUGH_DRIVER(cuGraphDestroy, graph);
    cudaError_t error = hc_call_begin_despite_errors();
    if (!error && (!hc_graph_is_handle(graph) || graph->capturing || graph->owned))
        error = cudaErrorInvalidValue;
    if (!error)
        hc_graph_destroy(graph);
    return hc_call_end(error);
}

static cudaError_t clone_graph(cudaGraph_t *copy, cudaGraph_t graph)
{
    if (!copy || !hc_graph_is_handle(graph))
        return cudaErrorInvalidValue;
    if (graph->has_memory)
        return cudaErrorNotSupported;
    cudaGraph_t made = hc_graph_make();
    if (!made)
        return cudaErrorMemoryAllocation;
    cudaError_t error = hc_graph_copy(graph, made);
    if (error)
        hc_graph_destroy(made);
    else
        *copy = made;
    return error;
}

cudaError_t cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
    HC_THROUGH_DRIVER(cuGraphClone, pGraphClone, originalGraph);
    HC_CALL(clone_graph(pGraphClone, originalGraph));
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode, cudaGraph_t clonedGraph)
{
    HC_THROUGH_DRIVER(cuGraphNodeFindInClone, pNode, originalNode, clonedGraph);
    cudaError_t error = hc_call_begin();
    if (!error && (!pNode || !hc_handle_is(HC_NODE, originalNode) || !hc_graph_is_handle(clonedGraph)))
        error = cudaErrorInvalidValue;
    if (error)
        return hc_call_end(error);
    for (size_t i = 0; i < clonedGraph->count; i++) {
        if (clonedGraph->nodes[i]->cloned_from_id == originalNode->id) {
            *pNode = clonedGraph->nodes[i];
            return hc_call_end(cudaSuccess);
        }
    }
    return hc_call_end(cudaErrorInvalidValue);
}
