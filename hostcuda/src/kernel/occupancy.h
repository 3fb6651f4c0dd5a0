/* Occupancy of a GPU of compute capability 9.0. Here, blocks run one after the other; the numbers are for programs that
 * choose their launches by them. */
#ifndef HOSTCUDA_OCCUPANCY_H
#define HOSTCUDA_OCCUPANCY_H

#include "hostcuda/src/kernel/kernel_table.h"

/* Registers of a thread. No kernel has too many here. */
enum { HC_THREAD_REGISTERS = 32 };

/* Returns the number of the device's multiprocessors. */
int hc_multiprocessor_count(void);
/* Returns how many blocks of so many threads (above 0) run on a multiprocessor at once; 0: not even one. */
int hc_occupancy_blocks(const struct hc_kernel *kernel, int threads, size_t shared_bytes);
/* Returns the dynamic shared memory available to each of so many blocks (above 0), as CUDA computes it. */
size_t hc_occupancy_shared_bytes(const struct hc_kernel *kernel, int blocks);

#endif
