#include "hostcuda/src/op/params.h"

static cudaError_t store_op(struct hc_op *made, struct hc_op **op)
{
    *op = made;
    return made ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t hc_op_from_copy_1d(void *to, const void *from, size_t count, enum cudaMemcpyKind kind, struct hc_op **op)
{
    const struct hc_copy copy = {
        .to = to, .from = from, .to_pitch = count, .from_pitch = count, .width = count, .height = 1, .kind = kind};
    cudaError_t error = count ? hc_copy_check(&copy) : cudaErrorInvalidValue;
    return error ? error : store_op(hc_op_make_copy(&copy, false), op);
}

/* A node's rows must fit into the slice, even if there is only one slice. A copy on a stream does not require it
 * (measured). */
static bool has_rows(const struct cudaPitchedPtr *side, const struct cudaPos *position, const struct cudaExtent *extent)
{
    bool plain = extent->height <= 1 && extent->depth <= 1;
    return plain || (position->y <= side->ysize && extent->height <= side->ysize - position->y);
}

cudaError_t hc_op_from_copy_3d(const struct cudaMemcpy3DParms *params, struct hc_op **op)
{
    struct hc_copy copy;
    cudaError_t error = hc_copy_from_3d(params, &copy);
    if (!error && (!copy.width || !copy.height || !copy.depth))
        error = cudaErrorInvalidValue;
    if (!error)
        error = hc_copy_check(&copy);
    if (!error && (!has_rows(&params->srcPtr, &params->srcPos, &params->extent) ||
                   !has_rows(&params->dstPtr, &params->dstPos, &params->extent)))
        error = cudaErrorInvalidValue;
    return error ? error : store_op(hc_op_make_copy(&copy, false), op);
}

cudaError_t hc_op_from_fill(const struct cudaMemsetParams *params, struct hc_op **op)
{
    cudaError_t error = params ? hc_fill_check(params) : cudaErrorInvalidValue;
    return error ? error : store_op(hc_op_make_fill(params), op);
}

cudaError_t hc_op_from_host(const struct cudaHostNodeParams *params, struct hc_op **op)
{
    if (!params || !params->fn)
        return cudaErrorInvalidValue;
    return store_op(hc_op_make_host(params->fn, params->userData), op);
}
