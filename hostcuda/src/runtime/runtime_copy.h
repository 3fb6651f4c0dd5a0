/* Copies as calls ask for them. */
#ifndef HOSTCUDA_RUNTIME_COPY_H
#define HOSTCUDA_RUNTIME_COPY_H

#include "hostcuda/src/memory/memory_copy.h"

/* A copy on a stream, and one that the program waits for where CUDA does. */
cudaError_t hc_copy_async(const struct hc_copy *copy, cudaStream_t handle);
cudaError_t hc_copy_sync(const struct hc_copy *copy);
/* A fill on a stream; the program waits where CUDA does, or not at all. */
cudaError_t hc_fill_memory(const struct cudaMemsetParams *params, cudaStream_t handle, bool wait);

#endif
