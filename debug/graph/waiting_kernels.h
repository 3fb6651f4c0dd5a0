/* Kernels that wait for other kernels. */
#ifndef BG_DEBUG_WAITING_KERNELS_H
#define BG_DEBUG_WAITING_KERNELS_H

#include <cuda.h>

#include "nodes.h"

/* Finds which kernels on other ranks, devices or streams the kernel of that name waits for. All these kernels must run
 * at the same time: alone, or before or after the others, the kernel never ends. Returns text such as "NCCL's kernels
 * of the other ranks". NULL: no such kernel is known. name: as in bg__kernel. */
const char *bg__kernel_waits_for_others(const char *name);

/* blocks: the number of blocks that a kernel node launches. fit: the number of blocks that run at once on the current
 * device; 0: CUDA does not report it. */
typedef struct bg__grid {
    unsigned long long blocks, fit;
} bg__grid;
void bg__grid_measure(const bg__node *node, bg__grid *grid);

#endif
