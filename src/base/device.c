/* Device memory and streams; these calls do not invalidate captures. */
#include "base/base.h"

#include <stdatomic.h>

bg_status bg__relax_begin(bg__relaxed *relaxed)
{
    bg_status status = BG_OK;
    *relaxed = (bg__relaxed){cudaStreamCaptureModeRelaxed, false};
    BG__TRY_CUDA(cudaThreadExchangeStreamCaptureMode(&relaxed->before));
    relaxed->exchanged = true;
done:
    return status;
}

bg__relaxed bg__relax_to_release(void)
{
    bg__relaxed relaxed = {cudaStreamCaptureModeRelaxed, false};
    cudaError_t error = cudaThreadExchangeStreamCaptureMode(&relaxed.before);
    relaxed.exchanged = error == cudaSuccess;
    bg__released(error, "cudaThreadExchangeStreamCaptureMode");
    return relaxed;
}

void bg__relax_end(bg__relaxed relaxed)
{
    cudaError_t error = relaxed.exchanged ? cudaThreadExchangeStreamCaptureMode(&relaxed.before) : cudaSuccess;
    bg__ignore(error);
    if (error != cudaSuccess && !bg__device_is_gone(error))
        bg__warn("cudaThreadExchangeStreamCaptureMode failed with %s; this thread stays in relaxed capture mode",
                 cudaGetErrorName(error));
}

bg_status bg__device_alloc(size_t bytes, void **ptr)
{
    bg__relaxed relaxed;
    cudaError_t error;
    bg_status status;

    *ptr = NULL;
    BG__TRY(bg__relax_begin(&relaxed));
    error = cudaMalloc(ptr, bytes);
    if (error != cudaSuccess)
        status = bg__fail_cuda(error, "cudaMalloc");
    bg__relax_end(relaxed);
done:
    if (status != BG_OK) {
        *ptr = NULL;
        bg__fail_where("%zu bytes of device memory", bytes);
    }
    return status;
}

void bg__device_free(void *ptr)
{
    bg__relaxed relaxed;
    if (ptr == NULL)
        return;
    relaxed = bg__relax_to_release();
    BG__RELEASE(cudaFree(ptr));
    bg__relax_end(relaxed);
}

bg_status bg__stream_check(cudaStream_t stream, const char *function, const char *argument)
{
    bg_status status = BG_OK;
    int current, own;
    if (stream == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: %s is NULL; create a stream and use that", function, argument);
    BG__TRY_CUDA(cudaGetDevice(&current));
    if (stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        goto done;
    BG__TRY_CUDA(cudaStreamGetDevice(stream, &own));
    if (own != current)
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT,
                          "%s: %s belongs to device %d, the current device is %d; call cudaSetDevice(%d) first",
                          function, argument, own, current, own);
done:
    return status;
}

bg_status bg__where_is(const void *ptr, bg__where *place)
{
    typedef CUresult (*get_attributes)(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr);
    static _Atomic(get_attributes) known;
    get_attributes get = atomic_load_explicit(&known, memory_order_acquire);
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED};
    unsigned type = 0, managed = 0;
    int device = -1;
    void *answers[] = {&type, &device, &managed};
    bg_status status = BG_OK;

    if (get == NULL) {
        BG__TRY(bg__driver_entry("cuPointerGetAttributes", 7000, (void *)&get));
        atomic_store_explicit(&known, get, memory_order_release);
    }
    BG__TRY_DRIVER("cuPointerGetAttributes",
                   get(sizeof asked / sizeof *asked, asked, answers, (CUdeviceptr)(uintptr_t)ptr));
    *place = (bg__where){(CUmemorytype)type, managed != 0, device};
done:
    return status;
}
