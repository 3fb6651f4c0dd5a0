/* cuBLAS's handle, and how its calls become work on a stream. */
#ifndef HOSTCUDA_CUBLAS_H
#define HOSTCUDA_CUBLAS_H

#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/cublas/gemm.h"

#pragma GCC visibility push(default)
#include <cublas_v2.h>
#pragma GCC visibility pop

struct cublasContext {
    uint32_t magic; /* distinguishes a handle from a stray pointer */
    cudaStream_t stream;
    cublasMath_t math;
    cublasPointerMode_t pointers;
    void *workspace; /* never used */
    size_t workspace_bytes;
};

cublasStatus_t hc_cublas_status_of_error(cudaError_t error);
bool hc_cublas_is_handle(cublasHandle_t handle);
/* Begins every call. Returns the status that HOSTCUDA_FAIL asks for. `name` is the function's name as programs write
 * it, without _v2. */
cublasStatus_t hc_cublas_begin(const char *name);
#define HC_CUBLAS_BEGIN(name)                                                                                          \
    do {                                                                                                               \
        cublasStatus_t status_ = hc_cublas_begin(name);                                                                \
        if (status_)                                                                                                   \
            return status_;                                                                                            \
    } while (0)
/* The same for a call that needs a handle. */
#define HC_CUBLAS_BEGIN_WITH(name, handle)                                                                             \
    do {                                                                                                               \
        HC_CUBLAS_BEGIN(name);                                                                                         \
        if (!hc_cublas_is_handle(handle))                                                                              \
            return CUBLAS_STATUS_NOT_INITIALIZED;                                                                      \
    } while (0)
/* Checks the product and queues or captures it. The scalars are read now, unless they are in device memory. */
cublasStatus_t hc_cublas_submit(cublasHandle_t handle, struct hc_product *product, const void *alpha, const void *beta);

#endif
