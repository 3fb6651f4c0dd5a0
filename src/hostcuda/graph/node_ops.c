/* Operations of the parameters that the API takes for a node, whether it is added, set, or set in an executable graph.
 */
#include "hostcuda/memory/copy.h"
#include "hostcuda/graph/graph.h"

#include <stdio.h>

static cudaError_t given(struct hc_op *made, struct hc_op **op)
{
    *op = made;
    return made ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t hc_op_from_1d(void *to, const void *from, size_t count, enum cudaMemcpyKind kind, struct hc_op **op)
{
    const struct hc_copy copy = {
        .to = to, .from = from, .to_pitch = count, .from_pitch = count, .width = count, .height = 1, .kind = kind};
    cudaError_t error = count ? hc_copy_check(&copy) : cudaErrorInvalidValue;
    return error ? error : given(hc_op_copy(&copy, false), op);
}

cudaError_t hc_op_from_3d(const struct cudaMemcpy3DParms *params, struct hc_op **op)
{
    struct hc_copy copy;
    cudaError_t error = hc_copy_from_3d(params, &copy);
    if (!error && (!copy.width || !copy.height || !copy.depth))
        error = cudaErrorInvalidValue;
    if (!error)
        error = hc_copy_check(&copy);
    return error ? error : given(hc_op_copy(&copy, false), op);
}

cudaError_t hc_op_from_fill(const struct cudaMemsetParams *params, struct hc_op **op)
{
    cudaError_t error = params ? hc_fill_check(params) : cudaErrorInvalidValue;
    return error ? error : given(hc_op_fill(params), op);
}

cudaError_t hc_op_from_host(const struct cudaHostNodeParams *params, struct hc_op **op)
{
    if (!params || !params->fn)
        return cudaErrorInvalidValue;
    return given(hc_op_host(params->fn, params->userData), op);
}

cudaError_t hc_op_from_event(enum hc_op_kind kind, cudaEvent_t event, struct hc_op **op)
{
    if (!hc_handle_is(HC_EVENT, event))
        return event ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
    return given(hc_op_event(kind, event), op);
}

/* The node gets a copy. */
cudaError_t hc_op_from_child(cudaGraph_t child, struct hc_op **op)
{
    if (!hc_graph_is(child) || child->capturing)
        return cudaErrorInvalidValue;
    if (child->has_memory)
        return cudaErrorNotSupported;
    cudaGraph_t copy = hc_graph_make();
    if (!copy)
        return cudaErrorMemoryAllocation;
    cudaError_t error = hc_graph_copy(child, copy);
    if (!error)
        error = given(hc_op_child(copy), op);
    if (error)
        hc_graph_destroy(copy);
    return error;
}

static cudaError_t from_kernel(const struct cudaKernelNodeParamsV2 *params, struct hc_op **op)
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

static cudaError_t from_fill(const struct cudaMemsetParamsV2 *params, struct hc_op **op)
{
    const struct cudaMemsetParams plain = {params->dst,         params->pitch, params->value,
                                           params->elementSize, params->width, params->height};
    return hc_op_from_fill(&plain, op);
}

static cudaError_t from_host(const struct cudaHostNodeParamsV2 *params, struct hc_op **op)
{
    const struct cudaHostNodeParams plain = {params->fn, params->userData};
    return hc_op_from_host(&plain, op);
}

static cudaError_t from_other(enum cudaGraphNodeType type)
{
    bool known = type == cudaGraphNodeTypeExtSemaphoreSignal || type == cudaGraphNodeTypeExtSemaphoreWait ||
                 type == cudaGraphNodeTypeConditional;
    if (known)
        fprintf(stderr, "hostcuda: graph nodes of type %d are not implemented\n", (int)type);
    return known ? cudaErrorNotSupported : cudaErrorInvalidValue;
}

cudaError_t hc_op_from_node_params(const struct cudaGraphNodeParams *params, struct hc_op **op)
{
    if (!params)
        return cudaErrorInvalidValue;
    switch (params->type) {
    case cudaGraphNodeTypeKernel: return from_kernel(&params->kernel, op);
    case cudaGraphNodeTypeMemcpy: return hc_op_from_3d(&params->memcpy.copyParams, op);
    case cudaGraphNodeTypeMemset: return from_fill(&params->memset, op);
    case cudaGraphNodeTypeHost: return from_host(&params->host, op);
    case cudaGraphNodeTypeGraph: return hc_op_from_child(params->graph.graph, op);
    case cudaGraphNodeTypeEmpty: return given(hc_op_empty(), op);
    case cudaGraphNodeTypeWaitEvent: return hc_op_from_event(HC_OP_WAIT, params->eventWait.event, op);
    case cudaGraphNodeTypeEventRecord: return hc_op_from_event(HC_OP_RECORD, params->eventRecord.event, op);
    default: return from_other(params->type);
    }
}
