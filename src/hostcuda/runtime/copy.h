/* Copies and fills: what CUDA checks before it queues them. */
#ifndef HOSTCUDA_COPY_H
#define HOSTCUDA_COPY_H

#include "hostcuda/stream/ops.h"

cudaError_t hc_copy_check(const struct hc_copy *copy);
cudaError_t hc_fill_check(const struct cudaMemsetParams *fill);
/* The same, without a look at the memory. */
cudaError_t hc_fill_check_shape(const struct cudaMemsetParams *fill);

/* A copy on a stream, and one that the program waits for where CUDA does. */
cudaError_t hc_copy_async(const struct hc_copy *copy, cudaStream_t handle);
cudaError_t hc_copy_sync(const struct hc_copy *copy);
/* A copy without arrays. */
cudaError_t hc_copy_from_3d(const struct cudaMemcpy3DParms *params, struct hc_copy *copy);
struct cudaMemcpy3DParms hc_copy_to_3d(const struct hc_copy *copy);

#endif
