/* cuBLAS's handle, and how its calls become work on a stream. */
#ifndef HOSTCUDA_CUBLAS_H
#define HOSTCUDA_CUBLAS_H

#include "hostcuda/core/state.h"
#include "hostcuda/cublas/gemm.h"

#pragma GCC visibility push(default)
#include <cublas_v2.h>
#pragma GCC visibility pop

struct cublasContext {
    uint32_t magic; /* tells a handle from a stray pointer */
    cudaStream_t stream;
    cublasMath_t math;
    cublasPointerMode_t pointers;
    void *workspace; /* kept, never needed */
    size_t workspace_bytes;
};

/* Begins every call: a status that HOSTCUDA_FAIL asks for. The name as programs write it, without _v2. */
cublasStatus_t hc_cublas_enter(const char *name);
cublasStatus_t hc_cublas_status(cudaError_t error);
bool hc_cublas_is_handle(cublasHandle_t handle);
/* Checks the product, queues or captures it. The scalars are read now, unless they lie in device memory. */
cublasStatus_t hc_cublas_submit(cublasHandle_t handle, struct hc_product *product, const void *alpha, const void *beta);

#endif
