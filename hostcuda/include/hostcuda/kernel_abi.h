/* The functions of the host device that kernels compiled with kernel_shim.h call. For C and C++. */
#ifndef HOSTCUDA_KERNEL_ABI_H
#define HOSTCUDA_KERNEL_ABI_H

#include <stddef.h>
#include <vector_types.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* How to call any kernel with one list of parameter types. */
struct hostcuda_kernel_type {
    void (*invoke)(const void *function, void **arguments);
    size_t count;
    const size_t *offsets; /* bytes, count of them: the parameters' offsets in the GPU's parameter buffer */
    const size_t *sizes;   /* bytes, count of them */
};

/* CUDA's built-in variables of the current thread. */
extern __thread uint3 threadIdx, blockIdx, blockDim, gridDim;

/* Registers a kernel and its type. `type` must outlive the program's last launch. A second registration of a function
 * does nothing, but that it replaces a type that was read from the function's name. */
void hostcuda_register_kernel(const void *function, const struct hostcuda_kernel_type *type);

/* Returns the block's dynamic shared memory. */
void *hostcuda_dynamic_shared(void);

/* Waits until all threads of the block that have not exited are here. Returns the number of threads whose predicate is
 * not 0. */
int hostcuda_barrier(int predicate);

/* Warp functions, as __shfl_sync, __ballot_sync, __syncwarp and __activemask; hostcuda_lane returns the thread's lane.
 */
unsigned long long hostcuda_shuffle(unsigned mask, unsigned long long value, int source_lane);
unsigned hostcuda_ballot(unsigned mask, int predicate);
void hostcuda_syncwarp(unsigned mask);
unsigned hostcuda_active_mask(void);
int hostcuda_lane(void);

/* Waits until no other thread of the block can go on. Returns the lanes of the warp that wait at the same place of the
 * program. */
unsigned hostcuda_coalesced(void);

/* Lets the block's other threads run. A thread that spins must call it. */
void hostcuda_yield(void);

/* Ends the grid with an error. */
void hostcuda_trap(void);

/* Returns the time in nanoseconds since an unspecified start. */
long long hostcuda_clock(void);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
