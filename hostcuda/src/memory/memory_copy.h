/* Copies and fills, and CUDA's checks before they are queued. */
#ifndef HOSTCUDA_COPY_H
#define HOSTCUDA_COPY_H

#include "hostcuda/src/core/core_state.h"

/* Rows of `width` bytes; one row is a plain copy. */
struct hc_copy {
    void *to;
    const void *from;
    size_t to_pitch, from_pitch, width, height;
    enum cudaMemcpyKind kind;
    size_t depth, to_slice, from_slice; /* number of slices of a 3D copy, and the distance between them; 0: a 2D copy */
};

enum { HC_PITCH_MAX = 0x7fffffff }; /* in bytes, as the device properties report it */

/* Whether a row of `width` bytes fits into a pitch of `pitch` bytes if the row begins at byte `into` of the pitch. */
bool hc_row_fits(size_t pitch, size_t into, size_t width);
cudaError_t hc_copy_check(const struct hc_copy *copy);
cudaError_t hc_fill_check(const struct cudaMemsetParams *fill);
/* The same without checking the memory. */
cudaError_t hc_fill_check_shape(const struct cudaMemsetParams *fill);

/* Reads a copy that has no arrays. */
cudaError_t hc_copy_from_3d(const struct cudaMemcpy3DParms *params, struct hc_copy *copy);
struct cudaMemcpy3DParms hc_copy_to_3d(const struct hc_copy *copy);

#endif
