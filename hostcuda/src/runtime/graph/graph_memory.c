/* Allocation and free nodes, and cudaGraphAddNode, which adds any node. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/call/driver_translation.h"
#include "hostcuda/src/graph/graph_edges.h"
#include "hostcuda/src/graph/graph_object.h"
#include "hostcuda/src/memory/backing.h"
#include "hostcuda/src/runtime/graph/runtime_node_params.h"

static bool same_location(const struct cudaMemLocation *one, const struct cudaMemLocation *other)
{
    return one->type == other->type && (one->type != cudaMemLocationTypeDevice || one->id == other->id);
}

/* Checks that no location appears twice, and that there are no more locations than devices. CUDA does not allow
 * revoking a device's access, or granting read-only access (measured). */
static cudaError_t check_access(const struct cudaMemAccessDesc *access, size_t count)
{
    if (count && (!access || count > (size_t)hc_device_count()))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++) {
        const struct cudaMemLocation *place = &access[i].location;
        if (place->type < cudaMemLocationTypeDevice || place->type > cudaMemLocationTypeHostNumaCurrent)
            return cudaErrorInvalidValue;
        if (place->type == cudaMemLocationTypeDevice && (place->id < 0 || place->id >= hc_device_count()))
            return cudaErrorInvalidDevice;
        for (size_t k = 0; k < i; k++)
            if (same_location(&access[k].location, place))
                return cudaErrorInvalidValue;
        bool partial = access[i].flags == cudaMemAccessFlagsProtNone || access[i].flags == cudaMemAccessFlagsProtRead;
        if (access[i].flags != cudaMemAccessFlagsProtReadWrite)
            return partial ? cudaErrorNotSupported : cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

static cudaError_t check_allocation(const struct cudaMemAllocNodeParams *params)
{
    const struct cudaMemPoolProps *pool = &params->poolProps;
    const struct cudaMemLocation *place = &pool->location;
    if (!params->bytesize || pool->allocType != cudaMemAllocationTypePinned)
        return cudaErrorInvalidValue;
    if (place->type < cudaMemLocationTypeDevice || place->type > cudaMemLocationTypeHostNumaCurrent)
        return cudaErrorInvalidValue;
    if (pool->handleTypes || place->type != cudaMemLocationTypeDevice)
        return cudaErrorNotSupported;
    if (place->id < 0 || place->id >= hc_device_count())
        return cudaErrorInvalidValue;
    return check_access(params->accessDescs, params->accessDescCount);
}

/* The node refers to the block from now on. The block is live once a launch of the graph is issued. */
static cudaError_t add_allocation(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count,
                                  const struct cudaMemAllocNodeParams *params, void **address)
{
    cudaError_t error = check_allocation(params);
    if (error)
        return error;
    struct hc_block *block = hc_block_make(HC_MEMORY_DEVICE, params->bytesize, params->poolProps.location.id);
    if (!block)
        return cudaErrorMemoryAllocation;
    block->live = false;
    block->graphs = true;
    hc_backing_set_live(block->base, false);
    void *base = block->base;
    struct hc_op *op = hc_op_make_allocation(block, params->accessDescs, params->accessDescCount);
    hc_block_release(block);
    error = hc_graph_add_node(node, graph, before, count, op);
    if (!error)
        *address = base;
    return error;
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                     struct cudaMemAllocNodeParams *nodeParams)
{
    HC_THROUGH_DRIVER(cuGraphAddMemAllocNode, pGraphNode, graph, pDependencies, numDependencies,
                      HC_SAME_AS(CUDA_MEM_ALLOC_NODE_PARAMS *, nodeParams));
    HC_CHECKED_CALL(hc_graph_check_add(pGraphNode, graph, pDependencies, numDependencies, nodeParams),
                    add_allocation(pGraphNode, graph, pDependencies, numDependencies, nodeParams, &nodeParams->dptr));
}

/* The address must be an allocation node's, and may have only one free node in all graphs (measured). */
static cudaError_t add_free(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count,
                            const void *address)
{
    struct hc_block *block = hc_block_find(address);
    if (!block || block->base != address || !block->graphs || block->free_node_count)
        return cudaErrorInvalidValue;
    return hc_graph_add_node(node, graph, before, count, hc_op_make_memory(HC_OP_FREE, block));
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                    const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dptr)
{
    HC_THROUGH_DRIVER(cuGraphAddMemFreeNode, pGraphNode, graph, pDependencies, numDependencies, HC_ADDRESS(dptr));
    HC_CHECKED_CALL(hc_graph_check_add(pGraphNode, graph, pDependencies, numDependencies, dptr),
                    add_free(pGraphNode, graph, pDependencies, numDependencies, dptr));
}

/* ---- any node ------------------------------------------------------------------------------------------------- */

static cudaError_t add_node_of_any_kind(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,
                                        size_t count, struct cudaGraphNodeParams *params)
{
    struct hc_op *op = NULL;
    cudaError_t error = hc_node_params_check(params);
    if (error)
        return error;
    if (params->type == cudaGraphNodeTypeMemAlloc) {
        const struct cudaMemAllocNodeParams plain = {params->alloc.poolProps, params->alloc.accessDescs,
                                                     params->alloc.accessDescCount, params->alloc.bytesize, NULL};
        return add_allocation(node, graph, before, count, &plain, &params->alloc.dptr);
    }
    if (params->type == cudaGraphNodeTypeMemFree)
        return add_free(node, graph, before, count, params->free.dptr);
    error = hc_op_from_node_params(params, &op);
    return error ? error : hc_graph_add_node(node, graph, before, count, op);
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
                             const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                             struct cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams driver;
    HC_THROUGH_DRIVER_THEN(hc_node_params_to_driver(nodeParams, &driver),
                           hc_node_outputs_to_runtime(&driver, nodeParams), cuGraphAddNode, pGraphNode, graph,
                           pDependencies, HC_SAME_AS(const CUgraphEdgeData *, dependencyData), numDependencies,
                           &driver);
    cudaError_t error = hc_call_begin();
    if (!error)
        error = hc_graph_check_add(pGraphNode, graph, pDependencies, numDependencies, nodeParams);
    if (!error)
        error = hc_graph_check_edges(dependencyData, numDependencies);
    if (!error)
        error = add_node_of_any_kind(pGraphNode, graph, pDependencies, numDependencies, nodeParams);
    return hc_call_end(error);
}
