/* What the calls that free memory share. */
#ifndef HOSTCUDA_RUNTIME_MEMORY_H
#define HOSTCUDA_RUNTIME_MEMORY_H

#include "hostcuda/memory/blocks.h"

/* Waits for the work that may still use the block: what is queued on its device, and on this thread's. */
cudaError_t hc_block_settle(const struct hc_block *block);

#endif
