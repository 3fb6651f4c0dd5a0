/* Kernels of atomic functions with a scope. */
#ifndef ATOMIC_KERNELS_H
#define ATOMIC_KERNELS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the words, which are 0 at first, by 128 threads: */
enum at_word { AT_ADD, AT_SUB, AT_MAX, AT_MIN, AT_EXCH, AT_AND, AT_OR, AT_XOR, AT_INC, AT_DEC, AT_CAS, AT_WORDS };

/* In one scope each, by each thread i: adds 3; subtracts 2; the most of i; the least of i - 100, as an int; 9; ands
 * with
 * ~(1 << i % 8); ors 1 << i % 32; xors 1 << i % 4; counts from 0 to 6 and again; counts down from 6; from 0 to i + 1.
 */
cudaError_t at_system(unsigned *words, unsigned long long *sum, float *fraction, cudaStream_t stream);
cudaError_t at_block(unsigned *words, unsigned long long *sum, float *fraction, cudaStream_t stream);
/* One block: each thread writes, passes a fence of each kind, and reads what its neighbour wrote. */
cudaError_t at_fences(int *out, cudaStream_t stream); /* 64 */

#ifdef __cplusplus
}
#endif

#endif
