/* Kernels that wait for other kernels. */
#ifndef BG_DEBUG_WAITING_KERNELS_H
#define BG_DEBUG_WAITING_KERNELS_H

#include <cuda.h>

#include "nodes.h"

/* Returns the kernels on other ranks, devices or streams that the kernel of that name waits for and that must run at
 * the same time: "NCCL's kernels of the other ranks". Such a kernel never ends if it runs alone: it must not run before
 * or after these kernels. name: as in bg__kernel. NULL: no such kernel is known. */
const char *bg__kernel_waits_for_others(const char *name);

/* blocks: the blocks that a kernel node launches; fit: how many of them run at once on the current device; 0: CUDA does
 * not report it. */
typedef struct bg__grid {
    unsigned long long blocks, fit;
} bg__grid;
void bg__grid_measure(const bg__node *node, bg__grid *grid);

#endif
