/* What a kernel object compiled with kernel_shim.h calls in the host device. C and C++. */
#ifndef HOSTCUDA_KERNEL_ABI_H
#define HOSTCUDA_KERNEL_ABI_H

#include <stddef.h>
#include <vector_types.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* How to call any kernel of one parameter list. */
struct hostcuda_kernel_type {
    void (*invoke)(const void *function, void **arguments);
    size_t count;
    const size_t *offsets; /* count of each: as in the GPU's parameter buffer */
    const size_t *sizes;
};

extern __thread uint3 threadIdx, blockIdx, blockDim, gridDim;

/* `type` must outlive the program's last launch. A second registration of a function changes nothing. */
void hostcuda_register_kernel(const void *function, const struct hostcuda_kernel_type *type);

void *hostcuda_dynamic_shared(void);
/* What threads whose predicate is not zero add up to, once all threads of the block that have not exited are here. */
int hostcuda_barrier(int predicate);
unsigned long long hostcuda_shuffle(unsigned mask, unsigned long long value, int source_lane);
unsigned hostcuda_ballot(unsigned mask, int predicate);
void hostcuda_syncwarp(unsigned mask);
unsigned hostcuda_active_mask(void);
int hostcuda_lane(void);
/* Lets the block's other threads run: what a thread that spins must do here. */
void hostcuda_yield(void);
/* Ends the grid with an error. */
void hostcuda_trap(void);
long long hostcuda_clock(void);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
