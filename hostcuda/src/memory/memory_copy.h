/* Copies and fills: what CUDA checks before it queues them. */
#ifndef HOSTCUDA_COPY_H
#define HOSTCUDA_COPY_H

#include "hostcuda/src/core/core_state.h"

/* Rows of `width` bytes; one row is a plain copy. */
struct hc_copy {
    void *to;
    const void *from;
    size_t to_pitch, from_pitch, width, height;
    enum cudaMemcpyKind kind;
    size_t depth, to_slice, from_slice; /* of a three-dimensional copy: its slices, and how far apart; 0: none */
};

enum { HC_PITCH_MAX = 0x7fffffff }; /* bytes, as the properties have it */

/* A row of a box begins so far into the pitch: there is room for it. */
bool hc_row_fits(size_t pitch, size_t into, size_t width);
cudaError_t hc_copy_check(const struct hc_copy *copy);
cudaError_t hc_fill_check(const struct cudaMemsetParams *fill);
/* The same, without a look at the memory. */
cudaError_t hc_fill_check_shape(const struct cudaMemsetParams *fill);

/* A copy without arrays. */
cudaError_t hc_copy_from_3d(const struct cudaMemcpy3DParms *params, struct hc_copy *copy);
struct cudaMemcpy3DParms hc_copy_to_3d(const struct hc_copy *copy);

#endif
