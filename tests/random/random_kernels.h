/* The kernels of random programs. */
#ifndef RANDOM_KERNELS_H
#define RANDOM_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y[i] = 3 a[i] + 2654435761 b[i] + k + i, modulo 2^32, for n elements, n at most 1024; y may be a or b. Odd factors
 * lose nothing: inputs that differ give outputs that differ. */
cudaError_t rk_mix(uint32_t *y, const uint32_t *a, const uint32_t *b, uint32_t k, int n, cudaStream_t stream);
/* y[i] = a[i] / 2 + b[i] / 4 + c, else alike: where |c| <= 1 no program's numbers grow, so that a NaN has a cause. */
cudaError_t rk_blend(float *y, const float *a, const float *b, float c, int n, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
