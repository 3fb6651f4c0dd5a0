/* Random numbers in memory. */
#ifndef BG_KERNELS_RANDOM_H
#define BG_KERNELS_RANDOM_H
#include "compare.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Fills x with n numbers of [-1, 1), of one of the four formats of floating point, which depend on the seed and their
 * place alone. cudaErrorInvalidValue for n = 0 and for another element. */
cudaError_t bgk_fill_random(void *x, size_t n, bgk_element element, unsigned long long seed, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
