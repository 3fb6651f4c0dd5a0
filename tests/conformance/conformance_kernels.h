#ifndef CONFORMANCE_KERNELS_H
#define CONFORMANCE_KERNELS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* *x += value */
cudaError_t ck_add(int *x, int value, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
