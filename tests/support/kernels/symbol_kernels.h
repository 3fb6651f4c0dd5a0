/* Variables of kernels, and kernels that read and write them. */
#ifndef SYMBOL_KERNELS_H
#define SYMBOL_KERNELS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SK_COUNT = 6 };

/* As calls of the C API name them. */
const void *sk_scalar(void); /* __device__ int, 5 at first */
const void *sk_table(void);  /* __constant__ int[SK_COUNT], 0 at first */

/* out[i] = table[i] * scalar; then scalar += 1 */
cudaError_t sk_scale(int *out, cudaStream_t stream);
/* The C++ forms, which take the variable itself: sets the scalar, and gets it back. */
cudaError_t sk_set_and_get(int value, int *back);

#ifdef __cplusplus
}
#endif

#endif
