/* Functions of the host device for kernels: kernels that are compiled with kernel_shim.h call them. For C and C++. */
#ifndef HOSTCUDA_KERNEL_ABI_H
#define HOSTCUDA_KERNEL_ABI_H

#include <stddef.h>
#include <vector_types.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Describes the parameters of a kernel, and how to call it. */
struct hostcuda_kernel_type {
    void (*invoke)(const void *function, void **arguments);
    size_t count;
    const size_t *offsets; /* the parameters' offsets in a GPU's parameter buffer, in bytes; `count` elements */
    const size_t *sizes;   /* the parameters' sizes in bytes; `count` elements */
};

/* CUDA's built-in variables of the current thread. */
extern __thread uint3 threadIdx, blockIdx, blockDim, gridDim;

/* Registers a kernel and its type. `type` must stay valid until the program's last launch. A second registration of a
 * function only replaces a type that was read from the function's name; otherwise it has no effect. */
void hostcuda_register_kernel(const void *function, const struct hostcuda_kernel_type *type);

/* Returns the address of the block's dynamic shared memory. */
void *hostcuda_dynamic_shared(void);

/* Waits until each thread of the block has called this function or has exited. Returns the number of threads whose
 * predicate is not 0. */
int hostcuda_barrier(int predicate);

/* Warp functions with the semantics of __shfl_sync, __ballot_sync, __syncwarp and __activemask. hostcuda_lane returns
 * the calling thread's lane. */
unsigned long long hostcuda_shuffle(unsigned mask, unsigned long long value, int source_lane);
unsigned hostcuda_ballot(unsigned mask, int predicate);
void hostcuda_syncwarp(unsigned mask);
unsigned hostcuda_active_mask(void);
int hostcuda_lane(void);

/* Waits until no other thread of the block can go on. Returns the mask of the warp's lanes that wait at the same place
 * of the program. */
unsigned hostcuda_coalesced(void);

/* Lets the block's other threads run. A thread that spins must call it in its loop. */
void hostcuda_yield(void);

/* Ends the grid with an error. Does not return. */
void hostcuda_trap(void);

/* Returns the time in nanoseconds since an unspecified start. */
long long hostcuda_clock(void);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
