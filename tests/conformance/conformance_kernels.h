#ifndef CONFORMANCE_KERNELS_H
#define CONFORMANCE_KERNELS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* *x += value */
cudaError_t ck_add(int *x, int value, cudaStream_t stream);
const void *ck_add_function(void); /* parameters: int *x, int value */
/* *y = *x * factor */
cudaError_t ck_scale(int *y, const int *x, int factor, cudaStream_t stream);
const void *ck_scale_function(void); /* parameters: int *y, const int *x, int factor */

#ifdef __cplusplus
}
#endif

#endif
