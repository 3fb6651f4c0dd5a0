/* Copies and fills: what CUDA checks before it queues them. */
#ifndef HOSTCUDA_COPY_H
#define HOSTCUDA_COPY_H

#include "hostcuda/ops.h"

cudaError_t hc_copy_check(const struct hc_copy *copy);
cudaError_t hc_fill_check(const struct cudaMemsetParams *fill);

#endif
