/* Random numbers in memory. */
#ifndef BG_KERNELS_RANDOM_H
#define BG_KERNELS_RANDOM_H
#include "compare.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Fills x with n numbers in [-1, 1), which depend only on the seed and their index. element: one of the four
 * floating-point formats. cudaErrorInvalidValue for n = 0 and for another element. */
cudaError_t bgk_fill_random(void *x, size_t n, bgk_element element, unsigned long long seed, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
