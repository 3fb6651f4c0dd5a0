/* Graphs built by API calls: nodes and edges are added and removed. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/call/driver_translation.h"
#include "hostcuda/src/graph/graph_copy.h"
#include "hostcuda/src/graph/graph_edges.h"
#include "hostcuda/src/op/params.h"
#include "hostcuda/src/runtime/runtime_symbols.h"
#include "hostcuda/src/stream/event.h"

/* ---- adding nodes -------------------------------------------------------------------------------------------- */

#define MORE(...) , __VA_ARGS__
#define PLACE     pGraphNode, graph, pDependencies, numDependencies
/* Defines a function that adds a node. `more`: its parameters after those of the node's place. `through`: how the call
 * is forwarded to libcuda. `make`: an expression that sets op, or gives an error. */
#define NODE_ADDER(name, more, through, has_params, make)                                                              \
    cudaError_t name(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,             \
                     size_t numDependencies more)                                                                      \
    {                                                                                                                  \
        struct hc_op *op = NULL;                                                                                       \
        through;                                                                                                       \
        cudaError_t error = hc_call_begin();                                                                           \
        if (!error)                                                                                                    \
            error = hc_graph_check_add(pGraphNode, graph, pDependencies, numDependencies, has_params);                 \
        if (!error)                                                                                                    \
            error = (make);                                                                                            \
        if (!error)                                                                                                    \
            error = hc_graph_add_node(pGraphNode, graph, pDependencies, numDependencies, op);                          \
        return hc_call_end(error);                                                                                     \
    }
NODE_ADDER(cudaGraphAddKernelNode, MORE(const struct cudaKernelNodeParams *pNodeParams), CUDA_KERNEL_NODE_PARAMS driver;
           HC_THROUGH_DRIVER_IF(hc_kernel_params_to_driver(pNodeParams, &driver), cuGraphAddKernelNode, PLACE, &driver),
           pNodeParams, hc_op_from_kernel_params(pNodeParams, &op))
NODE_ADDER(cudaGraphAddMemcpyNode, MORE(const struct cudaMemcpy3DParms *pCopyParams), CUDA_MEMCPY3D driver;
           HC_THROUGH_DRIVER_IF(hc_copy_3d_to_driver(pCopyParams, &driver), cuGraphAddMemcpyNode, PLACE, &driver,
                                hc_context_of_thread()),
           pCopyParams, hc_op_from_copy_3d(pCopyParams, &op))
NODE_ADDER(cudaGraphAddMemcpyNode1D, MORE(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind),
           CUDA_MEMCPY3D driver;
           HC_THROUGH_DRIVER_IF(hc_copy_1d_to_driver(dst, src, count, kind, &driver), cuGraphAddMemcpyNode, PLACE,
                                &driver, hc_context_of_thread()),
           count != 0, hc_op_from_copy_1d(dst, src, count, kind, &op))
NODE_ADDER(cudaGraphAddMemcpyNodeToSymbol,
           MORE(const void *symbol, const void *src, size_t count, size_t offset, enum cudaMemcpyKind kind),
           CUDA_MEMCPY3D driver;
           HC_THROUGH_DRIVER_IF(hc_copy_to_symbol_to_driver(symbol, src, count, offset, kind, &driver),
                                cuGraphAddMemcpyNode, PLACE, &driver, hc_context_of_thread()),
           true, hc_op_make_copy_to_symbol(symbol, src, count, offset, kind, &op))
NODE_ADDER(cudaGraphAddMemcpyNodeFromSymbol,
           MORE(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind),
           CUDA_MEMCPY3D driver;
           HC_THROUGH_DRIVER_IF(hc_copy_from_symbol_to_driver(dst, symbol, count, offset, kind, &driver),
                                cuGraphAddMemcpyNode, PLACE, &driver, hc_context_of_thread()),
           true, hc_op_make_copy_from_symbol(dst, symbol, count, offset, kind, &op))
NODE_ADDER(cudaGraphAddMemsetNode, MORE(const struct cudaMemsetParams *pMemsetParams), CUDA_MEMSET_NODE_PARAMS driver;
           HC_THROUGH_DRIVER_IF(hc_fill_to_driver(pMemsetParams, &driver), cuGraphAddMemsetNode, PLACE, &driver,
                                hc_context_of_thread()),
           pMemsetParams, hc_op_from_fill(pMemsetParams, &op))
NODE_ADDER(cudaGraphAddHostNode, MORE(const struct cudaHostNodeParams *pNodeParams),
           HC_THROUGH_DRIVER(cuGraphAddHostNode, PLACE, HC_SAME_AS(const CUDA_HOST_NODE_PARAMS *, pNodeParams)),
           pNodeParams, hc_op_from_host(pNodeParams, &op))
NODE_ADDER(cudaGraphAddEventRecordNode, MORE(cudaEvent_t event),
           HC_THROUGH_DRIVER(cuGraphAddEventRecordNode, PLACE, event), true, hc_op_from_event(HC_OP_RECORD, event, &op))
NODE_ADDER(cudaGraphAddEventWaitNode, MORE(cudaEvent_t event), HC_THROUGH_DRIVER(cuGraphAddEventWaitNode, PLACE, event),
           true, hc_op_from_event(HC_OP_WAIT, event, &op))
NODE_ADDER(cudaGraphAddChildGraphNode, MORE(cudaGraph_t childGraph),
           HC_THROUGH_DRIVER(cuGraphAddChildGraphNode, PLACE, childGraph), true, hc_op_from_child(childGraph, &op))
NODE_ADDER(cudaGraphAddEmptyNode, , HC_THROUGH_DRIVER(cuGraphAddEmptyNode, PLACE), true,
           (op = hc_op_make_empty(), cudaSuccess))

/* ---- edges --------------------------------------------------------------------------------------------------- */

static cudaError_t add_edge(cudaGraphNode_t from, cudaGraphNode_t to)
{
    if (hc_nodes_has(&to->before, from))
        return cudaErrorInvalidValue;
    return hc_nodes_add(&to->before, from) ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* If any argument is wrong, no edge changes. The call stops at an edge that already exists (when adding) or does not
 * exist (when removing), and keeps the changes before it (measured). */
static cudaError_t check_edges(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                               const cudaGraphEdgeData *data, size_t count)
{
    if (!hc_graph_is_handle(graph) || (count && (!from || !to)))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++) {
        cudaError_t error = hc_graph_check_nodes(graph, &from[i], 1);
        if (!error)
            error = hc_graph_check_nodes(graph, &to[i], 1);
        if (!error && from[i] == to[i])
            error = cudaErrorInvalidValue;
        if (error)
            return error;
    }
    return hc_graph_check_edges(data, count);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     const cudaGraphEdgeData *edgeData, size_t numDependencies)
{
    HC_THROUGH_DRIVER(cuGraphAddDependencies, graph, from, to, HC_SAME_AS(const CUgraphEdgeData *, edgeData),
                      numDependencies);
    cudaError_t error = hc_call_begin();
    if (!error)
        error = check_edges(graph, from, to, edgeData, numDependencies);
    for (size_t i = 0; !error && i < numDependencies; i++)
        error = add_edge(from[i], to[i]);
    return hc_call_end(error);
}

/* The nodes and edges of a graph with allocations cannot be removed. */
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                        const cudaGraphEdgeData *edgeData, size_t numDependencies)
{
    HC_THROUGH_DRIVER(cuGraphRemoveDependencies, graph, from, to, HC_SAME_AS(const CUgraphEdgeData *, edgeData),
                      numDependencies);
    cudaError_t error = hc_call_begin();
    if (!error)
        error = check_edges(graph, from, to, edgeData, numDependencies);
    if (!error && numDependencies && graph->has_memory)
        error = cudaErrorNotSupported;
    for (size_t i = 0; !error && i < numDependencies; i++)
        if (!hc_nodes_remove(&to[i]->before, from[i]))
            error = cudaErrorInvalidValue;
    return hc_call_end(error);
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
    HC_THROUGH_DRIVER(cuGraphDestroyNode, node);
    cudaError_t error = hc_call_begin();
    if (!error && (!hc_handle_is(HC_NODE, node) || node->graph->capturing))
        error = cudaErrorInvalidValue;
    if (!error && node->graph->has_memory)
        error = cudaErrorNotSupported;
    if (!error)
        hc_graph_destroy_node(node);
    return hc_call_end(error);
}
