/* Functions for calls that allocate or free memory. */
#ifndef HOSTCUDA_RUNTIME_MEMORY_H
#define HOSTCUDA_RUNTIME_MEMORY_H

#include "hostcuda/src/memory/memory_blocks.h"

/* Allocates on the calling thread's device, as cudaMalloc. 0 bytes: NULL, and no error. */
cudaError_t hc_block_allocate(void **address, size_t bytes, enum hc_memory kind);
/* Waits for work that may still use the block: work queued on its device, and on the calling thread's device. */
cudaError_t hc_block_wait_unused(const struct hc_block *block);

#endif
