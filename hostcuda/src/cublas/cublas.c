#include "hostcuda/src/cublas/cublas.h"

#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/call/fault_injection.h"
#include "hostcuda/src/op/op_kinds.h"
#include "hostcuda/src/stream/stream_capture.h"
#include "hostcuda/src/stream/submit.h"

#include <stdlib.h>

enum { MAGIC = 0x68636273 };

bool hc_cublas_is_handle(cublasHandle_t handle)
{
    return handle && handle->magic == MAGIC;
}

cublasStatus_t hc_cublas_status_of_error(cudaError_t error)
{
    switch (error) {
    case cudaSuccess: return CUBLAS_STATUS_SUCCESS;
    case cudaErrorMemoryAllocation: return CUBLAS_STATUS_ALLOC_FAILED;
    case cudaErrorInitializationError: return CUBLAS_STATUS_NOT_INITIALIZED;
    case cudaErrorInvalidResourceHandle: return CUBLAS_STATUS_INVALID_VALUE;
    default: return CUBLAS_STATUS_EXECUTION_FAILED;
    }
}

cublasStatus_t hc_cublas_begin(const char *name)
{
    cudaError_t error = hc_call_begin_uncounted();
    struct hc_fault fault = {0, false};
    if (!error && hc_fault_watching)
        fault = hc_fault_match_call(name);
    hc_unlock();
    return fault.any ? hc_cublas_status_of_error((cudaError_t)fault.code) : (cublasStatus_t)fault.code;
}

/* As hc_call_begin, inside a cuBLAS call that has begun. */
static cudaError_t begin_product_call(void)
{
    cudaError_t error = hc_call_begin_uncounted();
    return error ? error : hc_device(hc_thread()->device)->sticky;
}

/* ---- the handle ---------------------------------------------------------------------------------------------- */

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    HC_CUBLAS_BEGIN("cublasCreate");
    if (!handle)
        return CUBLAS_STATUS_INVALID_VALUE;
    *handle = NULL;
    cudaError_t error = begin_product_call();
    if (!error && hc_capture_check_unsafe_call())
        error = cudaErrorMemoryAllocation; /* cuBLAS allocates memory, which a capture refuses */
    hc_unlock();
    if (error)
        return hc_cublas_status_of_error(error);
    struct cublasContext *made = calloc(1, sizeof *made);
    if (!made)
        return CUBLAS_STATUS_ALLOC_FAILED;
    made->magic = MAGIC;
    *handle = made;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    HC_CUBLAS_BEGIN_WITH("cublasDestroy", handle);
    handle->magic = 0;
    free(handle); /* queued work does not refer to the handle */
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
    HC_CUBLAS_BEGIN("cublasGetVersion");
    (void)handle; /* may be NULL */
    if (!version)
        return CUBLAS_STATUS_INVALID_VALUE;
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t streamId)
{
    HC_CUBLAS_BEGIN_WITH("cublasSetStream", handle);
    handle->stream = streamId;
    handle->workspace = NULL; /* cuBLAS also resets it to the default workspace */
    handle->workspace_bytes = 0;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *streamId)
{
    HC_CUBLAS_BEGIN_WITH("cublasGetStream", handle);
    if (!streamId)
        return CUBLAS_STATUS_INVALID_VALUE;
    *streamId = handle->stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t workspaceSizeInBytes)
{
    HC_CUBLAS_BEGIN_WITH("cublasSetWorkspace", handle);
    if ((uintptr_t)workspace % 256 || (!workspace && workspaceSizeInBytes))
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->workspace = workspace;
    handle->workspace_bytes = workspaceSizeInBytes;
    return CUBLAS_STATUS_SUCCESS;
}

/* All modes compute in the requested precision: a reduced one would not be faster here. */
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    HC_CUBLAS_BEGIN_WITH("cublasSetMathMode", handle);
    /* CUBLAS_..._MATH values of cuBLAS 12.9 and 13.1, which older headers lack */
    enum { FP32_EMULATED_BF16X9 = 4, FP64_EMULATED_FIXEDPOINT = 8 };
    const unsigned base = (unsigned)mode & ~(unsigned)CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    if (base > FP32_EMULATED_BF16X9 && base != FP64_EMULATED_FIXEDPOINT)
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->math = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
    HC_CUBLAS_BEGIN_WITH("cublasGetMathMode", handle);
    if (!mode)
        return CUBLAS_STATUS_INVALID_VALUE;
    *mode = handle->math;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
    HC_CUBLAS_BEGIN_WITH("cublasSetPointerMode", handle);
    if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE)
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->pointers = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
    HC_CUBLAS_BEGIN_WITH("cublasGetPointerMode", handle);
    if (!mode)
        return CUBLAS_STATUS_INVALID_VALUE;
    *mode = handle->pointers;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- work ---------------------------------------------------------------------------------------------------- */

static void run_product(const void *function, void **arguments)
{
    (void)function;
    if (!hc_product_run(arguments[0]))
        hc_kernel_fail();
}

static const size_t product_offset = 0, product_size = sizeof(struct hc_product);
static const struct hostcuda_kernel_type product_type = {run_product, 1, &product_offset, &product_size};

/* Submits a kernel whose one parameter is the product: graphs show it as they show cuBLAS's own kernels. */
static cudaError_t submit_product(cudaStream_t handle, struct hc_product *product)
{
    const dim3 one = {1, 1, 1};
    cudaStream_t stream = NULL;
    cudaError_t error = hc_stream_for_work(handle, &stream);
    if (error)
        return error;
    void *arguments[] = {product};
    struct hc_kernel *kernel =
        hc_kernel_register_native((const void *)(uintptr_t)&hc_product_run, &product_type, "hostcuda_gemm");
    if (kernel && HC_GOES_THROUGH_DRIVER && stream->device == hc_thread()->device)
        return hc_through_driver_launch((CUfunction)(void *)&kernel->function_handle, handle, arguments);
    struct hc_op *op = kernel ? hc_op_make_launch(kernel, one, one, 0, arguments) : NULL;
    return op ? hc_stream_submit(stream, op) : cudaErrorMemoryAllocation;
}

static struct hc_scalar make_scalar(const struct cublasContext *handle, const void *address, cudaDataType type)
{
    if (handle->pointers == CUBLAS_POINTER_MODE_DEVICE)
        return (struct hc_scalar){0, address};
    double value = type == CUDA_R_64F ? *(const double *)address : (double)*(const float *)address;
    return (struct hc_scalar){value, NULL};
}

cublasStatus_t hc_cublas_submit(cublasHandle_t handle, struct hc_product *product, const void *alpha, const void *beta)
{
    if (!alpha || !beta)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!product->m || !product->n || !product->batch)
        return CUBLAS_STATUS_SUCCESS;
    if (!product->a.data || !product->b.data || !product->c.data)
        return CUBLAS_STATUS_INVALID_VALUE;
    product->alpha = make_scalar(handle, alpha, product->compute);
    product->beta = make_scalar(handle, beta, product->compute);
    product->workspace = handle->workspace;
    product->workspace_bytes = handle->workspace_bytes;
    cudaError_t error = begin_product_call();
    if (!error)
        error = submit_product(handle->stream, product);
    hc_unlock(); /* cuBLAS has errors of its own: the thread's last CUDA error stays */
    return hc_cublas_status_of_error(error);
}
