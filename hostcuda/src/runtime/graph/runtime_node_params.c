/* Checks CUDA's generic struct, which has the parameters of any node, and makes ops from it. */
#include "hostcuda/src/runtime/graph/runtime_node_params.h"

#include "hostcuda/src/graph/graph_copy.h"
#include "hostcuda/src/op/params.h"
#include "hostcuda/src/stream/event.h"

#include <stdio.h>

static cudaError_t op_from_kernel(const struct cudaKernelNodeParamsV2 *params, struct hc_op **op)
{
    const struct cudaKernelNodeParams plain = {
        .func = params->func,
        .gridDim = params->gridDim,
        .blockDim = params->blockDim,
        .sharedMemBytes = params->sharedMemBytes,
        .kernelParams = params->kernelParams,
        .extra = params->extra,
    };
    return hc_op_from_kernel_params(&plain, op);
}

static cudaError_t op_from_fill(const struct cudaMemsetParamsV2 *params, struct hc_op **op)
{
    const struct cudaMemsetParams plain = {params->dst,         params->pitch, params->value,
                                           params->elementSize, params->width, params->height};
    return hc_op_from_fill(&plain, op);
}

static cudaError_t op_from_host(const struct cudaHostNodeParamsV2 *params, struct hc_op **op)
{
    const struct cudaHostNodeParams plain = {params->fn, params->userData};
    return hc_op_from_host(&plain, op);
}

static cudaError_t op_from_child_params(const struct cudaChildGraphNodeParams *params, struct hc_op **op)
{
#if CUDART_VERSION >= 12090 /* CUDA 12.9 introduced the member */
    if (params->ownership == cudaGraphChildGraphOwnershipMove) {
        fprintf(stderr, "hostcuda: child graphs that are moved to their node are not implemented; use a clone\n");
        return cudaErrorNotSupported;
    }
    if (params->ownership != cudaGraphChildGraphOwnershipClone)
        return cudaErrorInvalidValue;
#endif
    return hc_op_from_child(params->graph, op);
}

static cudaError_t op_from_empty(struct hc_op **op)
{
    *op = hc_op_make_empty();
    return *op ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t reject_node_type(enum cudaGraphNodeType type)
{
    bool known = type == cudaGraphNodeTypeExtSemaphoreSignal || type == cudaGraphNodeTypeExtSemaphoreWait ||
                 type == cudaGraphNodeTypeConditional;
    if (known)
        fprintf(stderr, "hostcuda: graph nodes of type %d are not implemented\n", (int)type);
    return known ? cudaErrorNotSupported : cudaErrorInvalidValue;
}

/* Reserved members must be 0 (measured for nodes that are added). */
cudaError_t hc_node_params_check(const struct cudaGraphNodeParams *params)
{
    if (!params || params->reserved2)
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < sizeof params->reserved0 / sizeof *params->reserved0; i++)
        if (params->reserved0[i])
            return cudaErrorInvalidValue;
    return cudaSuccess;
}

cudaError_t hc_op_from_node_params(const struct cudaGraphNodeParams *params, struct hc_op **op)
{
    cudaError_t error = hc_node_params_check(params);
    if (error)
        return error;
    switch (params->type) {
    case cudaGraphNodeTypeKernel: return op_from_kernel(&params->kernel, op);
    case cudaGraphNodeTypeMemcpy: return hc_op_from_copy_3d(&params->memcpy.copyParams, op);
    case cudaGraphNodeTypeMemset: return op_from_fill(&params->memset, op);
    case cudaGraphNodeTypeHost: return op_from_host(&params->host, op);
    case cudaGraphNodeTypeGraph: return op_from_child_params(&params->graph, op);
    case cudaGraphNodeTypeEmpty: return op_from_empty(op);
    case cudaGraphNodeTypeWaitEvent: return hc_op_from_event(HC_OP_WAIT, params->eventWait.event, op);
    case cudaGraphNodeTypeEventRecord: return hc_op_from_event(HC_OP_RECORD, params->eventRecord.event, op);
    default: return reject_node_type(params->type);
    }
}
