/* The parameters of a graph's nodes, asked for and set. Operations never change: a node gets another. */
#include "hostcuda/call/call.h"
#include "hostcuda/graph/graph.h"
#include "hostcuda/memory/copy.h"
#include "hostcuda/op/params.h"
#include "hostcuda/runtime/node_params.h"
#include "hostcuda/stream/event.h"

#include <string.h>

/* ---- asked for ------------------------------------------------------------------------------------------------ */

static cudaError_t check_kind(cudaGraphNode_t node, enum hc_op_kind kind, bool has_params)
{
    return hc_handle_is(HC_NODE, node) && has_params && node->op->kind == kind ? cudaSuccess : cudaErrorInvalidValue;
}

/* The parameters' values belong to the node and live as long as it. */
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *pNodeParams)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = check_kind(node, HC_OP_KERNEL, pNodeParams);
    if (!error) {
        const struct hc_op *op = node->op;
        *pNodeParams = (struct cudaKernelNodeParams){
            .func = (void *)(uintptr_t)op->launch.kernel->function,
            .gridDim = op->launch.grid,
            .blockDim = op->launch.block,
            .sharedMemBytes = (unsigned)op->launch.shared_bytes,
            .kernelParams = op->launch.packed ? NULL : op->launch.arguments,
            .extra = op->launch.packed ? (void **)(uintptr_t)op->launch.extra : NULL,
        };
    }
    return hc_end(error);
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *pNodeParams)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = check_kind(node, HC_OP_FILL, pNodeParams);
    if (!error)
        *pNodeParams = node->op->fill;
    return hc_end(error);
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *pNodeParams)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = check_kind(node, HC_OP_HOST, pNodeParams);
    if (!error)
        *pNodeParams = node->op->host;
    return hc_end(error);
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *pNodeParams)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = check_kind(node, HC_OP_COPY, pNodeParams);
    if (!error)
        *pNodeParams = hc_copy_to_3d(&node->op->copy);
    return hc_end(error);
}

static cudaError_t get_event(cudaGraphNode_t node, enum hc_op_kind kind, cudaEvent_t *event)
{
    cudaError_t error = check_kind(node, kind, event);
    if (!error)
        *event = node->op->event;
    return error;
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = get_event(node, HC_OP_RECORD, event_out);
    return hc_end(error);
}

cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = get_event(node, HC_OP_WAIT, event_out);
    return hc_end(error);
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = check_kind(node, HC_OP_CHILD, pGraph);
    if (!error)
        *pGraph = node->op->child;
    return hc_end(error);
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params_out)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = check_kind(node, HC_OP_ALLOC, params_out);
    if (!error) {
        const struct hc_block *block = node->op->block;
        memset(params_out, 0, sizeof *params_out);
        params_out->poolProps.allocType = cudaMemAllocationTypePinned;
        params_out->poolProps.location.type = cudaMemLocationTypeDevice;
        params_out->poolProps.location.id = block->device;
        params_out->bytesize = block->bytes;
        params_out->dptr = block->base;
    }
    return hc_end(error);
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = check_kind(node, HC_OP_FREE, dptr_out);
    if (!error)
        memcpy(dptr_out, &node->op->block->base, sizeof node->op->block->base);
    return hc_end(error);
}

/* Nothing but parameters is kept with a kernel's node. */
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = check_kind(hDst, HC_OP_KERNEL, true);
    if (!error)
        error = check_kind(hSrc, HC_OP_KERNEL, true);
    return hc_end(error);
}

/* ---- set ------------------------------------------------------------------------------------------------------ */

#define SETTER(name, sign, make)                                                                                       \
    cudaError_t name sign                                                                                              \
    {                                                                                                                  \
        struct hc_op *op = NULL;                                                                                       \
        cudaError_t error = hc_begin();                                                                                \
        if (!error)                                                                                                    \
            error = make;                                                                                              \
        if (!error)                                                                                                    \
            error = hc_node_set(node, op);                                                                             \
        return hc_end(error);                                                                                          \
    }

SETTER(cudaGraphKernelNodeSetParams, (cudaGraphNode_t node, const struct cudaKernelNodeParams *pNodeParams),
       pNodeParams ? hc_op_from_kernel_params(pNodeParams, &op) : cudaErrorInvalidValue)
SETTER(cudaGraphMemcpyNodeSetParams, (cudaGraphNode_t node, const struct cudaMemcpy3DParms *pNodeParams),
       hc_op_from_3d(pNodeParams, &op))
SETTER(cudaGraphMemcpyNodeSetParams1D,
       (cudaGraphNode_t node, void *dst, const void *src, size_t count, enum cudaMemcpyKind kind),
       hc_op_from_1d(dst, src, count, kind, &op))
SETTER(cudaGraphMemsetNodeSetParams, (cudaGraphNode_t node, const struct cudaMemsetParams *pNodeParams),
       hc_op_from_fill(pNodeParams, &op))
SETTER(cudaGraphHostNodeSetParams, (cudaGraphNode_t node, const struct cudaHostNodeParams *pNodeParams),
       hc_op_from_host(pNodeParams, &op))
SETTER(cudaGraphEventRecordNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event),
       hc_op_from_event(HC_OP_RECORD, event, &op))
SETTER(cudaGraphEventWaitNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event),
       hc_op_from_event(HC_OP_WAIT, event, &op))
SETTER(cudaGraphNodeSetParams, (cudaGraphNode_t node, struct cudaGraphNodeParams *nodeParams),
       hc_op_from_node_params(nodeParams, &op))
