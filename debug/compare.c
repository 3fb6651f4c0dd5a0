#include "compare.h"

#include <stdio.h>

static bgk_element element_of(bg_dtype dtype)
{
    switch (dtype) {
    case BG_F32: return BGK_ELEMENT_F32;
    case BG_F64: return BGK_ELEMENT_F64;
    case BG_F16: return BGK_ELEMENT_F16;
    case BG_BF16: return BGK_ELEMENT_BF16;
    case BG_I8: return BGK_ELEMENT_I8;
    case BG_I32: return BGK_ELEMENT_I32;
    case BG_I64: return BGK_ELEMENT_I64;
    case BG_U8:
    case BG_BOOL: return BGK_ELEMENT_U8;
    }
    return BGK_ELEMENT_U8;
}

bg_status bg__compare(const bg_tensor *shape, const void *expected, const void *got, const bg_tolerance *tolerance,
                      bgk_difference *room, cudaStream_t stream, bgk_difference *found)
{
    const bgk_tolerance allowed = {tolerance->absolute, tolerance->relative, tolerance->ulp};
    const bgk_difference none = BGK_DIFFERENCE_NONE;
    cudaError_t error;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaMemcpyAsync(room, &none, sizeof none, cudaMemcpyHostToDevice, stream));
    error = bgk_compare(room, expected, got, bg_tensor_bytes(shape) / bg_dtype_bytes(shape->dtype),
                        element_of(shape->dtype), &allowed, stream);
    if (error != cudaSuccess) {
        status = bg__fail_cuda(error, "cudaLaunchKernelExC");
        bg__fail_where("the kernel that compares tensors");
        goto done;
    }
    BG__TRY_CUDA(cudaMemcpyAsync(found, room, sizeof *found, cudaMemcpyDeviceToHost, stream));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
done:
    return status;
}

const char *bg__compare_text(const bg_tensor *shape, const bgk_difference *d, char *text, size_t bytes)
{
    size_t elements = bg_tensor_bytes(shape) / bg_dtype_bytes(shape->dtype);
    char passes[160];

    if (d->lost > 0)
        snprintf(passes, sizeof passes, "no tolerance lets it pass: %llu of them are not finite on one side", d->lost);
    else
        snprintf(passes, sizeof passes,
                 "an absolute tolerance of %.6g, a relative one of %.6g or %llu ULP lets it pass", d->absolute,
                 d->relative, d->ulp);
    snprintf(
        text, bytes,
        "%llu of %zu elements (%s) differ, %llu beyond the tolerance, the first of these at index %llu; largest "
        "errors: absolute %.6g, relative %.6g, %llu ULP; NaN %llu eager and %llu replayed, infinite %llu and %llu; "
        "digests %016llx and %016llx; %s",
        d->differing, elements, bg_dtype_name(shape->dtype), d->beyond, d->first, d->absolute, d->relative, d->ulp,
        d->nan[0], d->nan[1], d->inf[0], d->inf[1], d->digest[0], d->digest[1], passes);
    return text;
}
