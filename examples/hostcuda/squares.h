/* Launchers of the kernels in squares.cu. All pointers are device memory. */
#ifndef SQUARES_H
#define SQUARES_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* square[i] = number[i] * number[i], for `count` elements. */
cudaError_t launch_square(long long *square, const int *number, int count, cudaStream_t stream);
/* *total = the sum of `count` values. */
cudaError_t launch_sum(long long *total, const long long *value, int count, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
