/* 3D copies as CUDA describes them. Arrays are not supported: there is no texture memory. */
#include "hostcuda/src/memory/memory_copy.h"

#include <string.h>

/* Returns where a side's box begins. */
static char *box_start(const struct cudaPitchedPtr *side, const struct cudaPos *position)
{
    size_t row = position->z * side->ysize + position->y;
    return side->ptr ? (char *)side->ptr + row * side->pitch + position->x : NULL;
}

cudaError_t hc_copy_from_3d(const struct cudaMemcpy3DParms *params, struct hc_copy *copy)
{
    if (!params || params->srcArray || params->dstArray)
        return cudaErrorInvalidValue;
    bool plain = params->extent.height <= 1 && params->extent.depth <= 1; /* the pitches are ignored */
    size_t width = params->extent.width;
    if (!plain && (!hc_row_fits(params->srcPtr.pitch, params->srcPos.x, width) ||
                   !hc_row_fits(params->dstPtr.pitch, params->dstPos.x, width)))
        return cudaErrorInvalidValue;
    if (params->extent.depth > 1 &&
        (params->srcPtr.ysize < params->extent.height || params->dstPtr.ysize < params->extent.height))
        return cudaErrorInvalidPitchValue;
    if (params->extent.depth > 1 && (params->srcPos.y > params->srcPtr.ysize - params->extent.height ||
                                     params->dstPos.y > params->dstPtr.ysize - params->extent.height))
        return cudaErrorInvalidValue;
    *copy = (struct hc_copy){
        .to = box_start(&params->dstPtr, &params->dstPos),
        .from = box_start(&params->srcPtr, &params->srcPos),
        .to_pitch = plain ? width : params->dstPtr.pitch,
        .from_pitch = plain ? width : params->srcPtr.pitch,
        .width = width,
        .height = params->extent.height,
        .kind = params->kind,
        .depth = params->extent.depth,
        .to_slice = params->dstPtr.pitch * params->dstPtr.ysize,
        .from_slice = params->srcPtr.pitch * params->srcPtr.ysize,
    };
    return cudaSuccess;
}

struct cudaMemcpy3DParms hc_copy_to_3d(const struct hc_copy *copy)
{
    struct cudaMemcpy3DParms params;
    size_t depth = copy->depth ? copy->depth : 1;
    memset(&params, 0, sizeof params);
    params.srcPtr = (struct cudaPitchedPtr){(void *)(uintptr_t)copy->from, copy->from_pitch, copy->width, copy->height};
    params.dstPtr = (struct cudaPitchedPtr){copy->to, copy->to_pitch, copy->width, copy->height};
    if (depth > 1 && copy->from_pitch)
        params.srcPtr.ysize = copy->from_slice / copy->from_pitch;
    if (depth > 1 && copy->to_pitch)
        params.dstPtr.ysize = copy->to_slice / copy->to_pitch;
    params.extent = (struct cudaExtent){copy->width, copy->height, depth};
    params.kind = copy->kind;
    return params;
}
