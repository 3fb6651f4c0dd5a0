#include "hostcuda/op/params.h"

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
