/* Allocation and free nodes, and cudaGraphAddNode, which adds any. */
#include "hostcuda/call/call.h"
#include "hostcuda/call/translate.h"
#include "hostcuda/graph/edges.h"
#include "hostcuda/graph/graph.h"
#include "hostcuda/memory/backing.h"
#include "hostcuda/runtime/node_params.h"

static bool freed_in(const struct CUgraph_st *graph, const struct hc_block *block)
{
    for (size_t i = 0; i < graph->count; i++)
        if (graph->nodes[i]->op->kind == HC_OP_FREE && graph->nodes[i]->op->block == block)
            return true;
    return false;
}

/* The node refers to the block from now on; it is live once a launch of the graph has been issued. */
static cudaError_t add_allocation(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count,
                                  const struct cudaMemPoolProps *pool, size_t bytes, void **address)
{
    int device = pool->location.id;
    if (!bytes || pool->allocType != cudaMemAllocationTypePinned || pool->handleTypes ||
        pool->location.type != cudaMemLocationTypeDevice || device < 0 || device >= hc_device_count())
        return cudaErrorInvalidValue;
    struct hc_block *block = hc_block_make(HC_MEMORY_DEVICE, bytes, device);
    if (!block)
        return cudaErrorMemoryAllocation;
    block->live = false;
    block->graphs = true;
    hc_backing_set_live(block->base, false);
    void *base = block->base;
    struct hc_op *op = hc_op_memory(HC_OP_ALLOC, block);
    hc_block_release(block);
    cudaError_t error = hc_graph_add_node(node, graph, before, count, op);
    if (!error)
        *address = base;
    return error;
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                     struct cudaMemAllocNodeParams *nodeParams)
{
    HC_THROUGH(cuGraphAddMemAllocNode, pGraphNode, graph, pDependencies, numDependencies,
               HC_SAME_AS(CUDA_MEM_ALLOC_NODE_PARAMS *, nodeParams));
    HC_CHECKED_CALL(hc_graph_check_add(pGraphNode, graph, pDependencies, numDependencies, nodeParams),
                    add_allocation(pGraphNode, graph, pDependencies, numDependencies, &nodeParams->poolProps,
                                   nodeParams->bytesize, &nodeParams->dptr));
}

/* Only what an allocation node allocated, and once. */
static cudaError_t add_free(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count,
                            const void *address)
{
    struct hc_block *block = hc_block_find(address);
    if (!block || block->base != address || !block->graphs || freed_in(graph, block))
        return cudaErrorInvalidValue;
    return hc_graph_add_node(node, graph, before, count, hc_op_memory(HC_OP_FREE, block));
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                    const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dptr)
{
    HC_THROUGH(cuGraphAddMemFreeNode, pGraphNode, graph, pDependencies, numDependencies, HC_ADDRESS(dptr));
    HC_CHECKED_CALL(hc_graph_check_add(pGraphNode, graph, pDependencies, numDependencies, dptr),
                    add_free(pGraphNode, graph, pDependencies, numDependencies, dptr));
}

/* ---- any node ------------------------------------------------------------------------------------------------- */

static cudaError_t add_any(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count,
                           struct cudaGraphNodeParams *params)
{
    struct hc_op *op = NULL;
    if (params->type == cudaGraphNodeTypeMemAlloc)
        return add_allocation(node, graph, before, count, &params->alloc.poolProps, params->alloc.bytesize,
                              &params->alloc.dptr);
    if (params->type == cudaGraphNodeTypeMemFree)
        return add_free(node, graph, before, count, params->free.dptr);
    cudaError_t error = hc_op_from_node_params(params, &op);
    return error ? error : hc_graph_add_node(node, graph, before, count, op);
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
                             const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                             struct cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams driver;
    HC_THROUGH_THEN(hc_driver_node(nodeParams, &driver), hc_runtime_node_added(&driver, nodeParams), cuGraphAddNode,
                    pGraphNode, graph, pDependencies, HC_SAME_AS(const CUgraphEdgeData *, dependencyData),
                    numDependencies, &driver);
    cudaError_t error = hc_begin();
    if (!error)
        error = hc_graph_check_add(pGraphNode, graph, pDependencies, numDependencies, nodeParams);
    if (!error)
        error = hc_graph_check_edges(dependencyData, numDependencies);
    if (!error)
        error = add_any(pGraphNode, graph, pDependencies, numDependencies, nodeParams);
    return hc_end(error);
}
