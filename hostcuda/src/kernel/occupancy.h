/* How many blocks a GPU of compute capability 9.0 would run at once. Here they run one after the other: the answers
 * serve programs that shape their launches by them. */
#ifndef HOSTCUDA_OCCUPANCY_H
#define HOSTCUDA_OCCUPANCY_H

#include "hostcuda/src/kernel/kernel_table.h"

/* The registers of a thread, of which no kernel has too many here. */
enum { HC_THREAD_REGISTERS = 32 };

/* The device's. */
int hc_multiprocessors(void);
/* Of so many threads, above 0, on a multiprocessor; 0: not one fits. */
int hc_blocks_that_fit(const struct hc_kernel *kernel, int threads, size_t shared_bytes);
/* The dynamic shared memory for each of so many blocks, above 0, as CUDA counts it. */
size_t hc_bytes_for_blocks(const struct hc_kernel *kernel, int blocks);

#endif
