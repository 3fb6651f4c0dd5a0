/* Graphs made by hand: nodes and edges added and taken away. */
#include "hostcuda/call/call.h"
#include "hostcuda/graph/copy.h"
#include "hostcuda/graph/edges.h"
#include "hostcuda/op/params.h"
#include "hostcuda/stream/event.h"

/* ---- adding nodes -------------------------------------------------------------------------------------------- */

#define MORE(...) , __VA_ARGS__
/* What a call takes beyond the place of the node is `more`; `make` gives an error, or sets op. */
#define NODE_ADDER(name, more, has_params, make)                                                                       \
    cudaError_t name(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,             \
                     size_t numDependencies more)                                                                      \
    {                                                                                                                  \
        struct hc_op *op = NULL;                                                                                       \
        cudaError_t error = hc_begin();                                                                                \
        if (!error)                                                                                                    \
            error = hc_graph_check_add(pGraphNode, graph, pDependencies, numDependencies, has_params);                 \
        if (!error)                                                                                                    \
            error = (make);                                                                                            \
        if (!error)                                                                                                    \
            error = hc_graph_add_node(pGraphNode, graph, pDependencies, numDependencies, op);                          \
        return hc_end(error);                                                                                          \
    }
NODE_ADDER(cudaGraphAddKernelNode, MORE(const struct cudaKernelNodeParams *pNodeParams), pNodeParams,
           hc_op_from_kernel_params(pNodeParams, &op))
NODE_ADDER(cudaGraphAddMemcpyNode, MORE(const struct cudaMemcpy3DParms *pCopyParams), pCopyParams,
           hc_op_from_3d(pCopyParams, &op))
NODE_ADDER(cudaGraphAddMemcpyNode1D, MORE(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind),
           count != 0, hc_op_from_1d(dst, src, count, kind, &op))
NODE_ADDER(cudaGraphAddMemsetNode, MORE(const struct cudaMemsetParams *pMemsetParams), pMemsetParams,
           hc_op_from_fill(pMemsetParams, &op))
NODE_ADDER(cudaGraphAddHostNode, MORE(const struct cudaHostNodeParams *pNodeParams), pNodeParams,
           hc_op_from_host(pNodeParams, &op))
NODE_ADDER(cudaGraphAddEventRecordNode, MORE(cudaEvent_t event), true, hc_op_from_event(HC_OP_RECORD, event, &op))
NODE_ADDER(cudaGraphAddEventWaitNode, MORE(cudaEvent_t event), true, hc_op_from_event(HC_OP_WAIT, event, &op))
NODE_ADDER(cudaGraphAddChildGraphNode, MORE(cudaGraph_t childGraph), true, hc_op_from_child(childGraph, &op))
NODE_ADDER(cudaGraphAddEmptyNode, , true, (op = hc_op_empty(), cudaSuccess))

/* ---- edges --------------------------------------------------------------------------------------------------- */

static cudaError_t add_edge(cudaGraphNode_t from, cudaGraphNode_t to)
{
    if (from == to || hc_nodes_has(&to->before, from))
        return cudaErrorInvalidValue;
    return hc_nodes_add(&to->before, from) ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t check_edges(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                               const cudaGraphEdgeData *data, size_t count)
{
    if (!hc_graph_is(graph) || (count && (!from || !to)))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++) {
        cudaError_t error = hc_graph_check_nodes(graph, &from[i], 1);
        if (!error)
            error = hc_graph_check_nodes(graph, &to[i], 1);
        if (error)
            return error;
    }
    return hc_graph_check_edges(data, count);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     const cudaGraphEdgeData *edgeData, size_t numDependencies)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = check_edges(graph, from, to, edgeData, numDependencies);
    for (size_t i = 0; !error && i < numDependencies; i++)
        error = add_edge(from[i], to[i]);
    return hc_end(error);
}

/* A graph with allocations keeps its nodes and edges. */
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                        const cudaGraphEdgeData *edgeData, size_t numDependencies)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = check_edges(graph, from, to, edgeData, numDependencies);
    if (!error && numDependencies && graph->has_memory)
        error = cudaErrorNotSupported;
    for (size_t i = 0; !error && i < numDependencies; i++)
        if (!hc_nodes_remove(&to[i]->before, from[i]))
            error = cudaErrorInvalidValue;
    return hc_end(error);
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
    cudaError_t error = hc_begin();
    if (!error && (!hc_handle_is(HC_NODE, node) || node->graph->capturing))
        error = cudaErrorInvalidValue;
    if (!error && node->graph->has_memory)
        error = cudaErrorNotSupported;
    if (!error)
        hc_graph_remove(node);
    return hc_end(error);
}
