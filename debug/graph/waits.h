/* Kernels that wait for other kernels. */
#ifndef BG_DEBUG_WAITS_H
#define BG_DEBUG_WAITS_H

#include <cuda.h>

#include "nodes.h"

/* What a kernel waits for that other ranks, devices or streams run at the same time, by its name, as bg__kernel has it:
 * "NCCL's kernels of the other ranks". Such a kernel never ends alone: it must not be run before, or after, those that
 * it waits for, but beside them. NULL: no such kernel is known by that name. */
const char *bg__kernel_waits_for_others(const char *name);

/* How many blocks a kernel node launches, and how many of these the current device runs at once; fit 0: CUDA does not
 * tell. */
typedef struct bg__grid {
    unsigned long long blocks, fit;
} bg__grid;
void bg__grid_measure(const bg__node *node, bg__grid *grid);

#endif
