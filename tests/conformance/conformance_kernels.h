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
/* *x += 7, through dynamic shared memory. Cases set what this kernel may have of it. */
cudaError_t ck_use_shared(int *x, size_t bytes, cudaStream_t stream);
const void *ck_use_shared_function(void); /* parameters: int *x, int index */
/* A kernel that no case sets an attribute of. */
const void *ck_untouched_function(void); /* parameters: int *x, char small, double large */

#ifdef __cplusplus
}
#endif

#endif
