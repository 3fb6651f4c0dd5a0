/* Copies and fills for API calls. */
#ifndef HOSTCUDA_RUNTIME_COPY_H
#define HOSTCUDA_RUNTIME_COPY_H

#include "hostcuda/src/memory/memory_copy.h"

/* hc_copy_async copies on a stream. hc_copy_sync waits where CUDA's call waits. */
cudaError_t hc_copy_async(const struct hc_copy *copy, cudaStream_t handle);
cudaError_t hc_copy_sync(const struct hc_copy *copy);
/* Fills memory on a stream. wait: the call waits where CUDA's call waits. */
cudaError_t hc_fill_memory(const struct cudaMemsetParams *params, cudaStream_t handle, bool wait);

#endif
