/* What the calls that free memory share. */
#ifndef HOSTCUDA_RUNTIME_MEMORY_H
#define HOSTCUDA_RUNTIME_MEMORY_H

#include "hostcuda/src/memory/memory_blocks.h"

/* Of the calling thread's device, as cudaMalloc; NULL, and no error, for 0 bytes. */
cudaError_t hc_allocate(void **address, size_t bytes, enum hc_memory kind);
/* Waits for the work that may still use the block: what is queued on its device, and on this thread's. */
cudaError_t hc_block_settle(const struct hc_block *block);

#endif
