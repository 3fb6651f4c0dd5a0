/* Device memory and streams; these calls do not invalidate captures. */
#include "base/base.h"

#include <stdatomic.h>

bg_status bg__relaxed_mode_begin(bg__relaxed_mode *relaxed)
{
    bg_status status = BG_OK;
    *relaxed = (bg__relaxed_mode){cudaStreamCaptureModeRelaxed, false};
    BG__TRY_CUDA(cudaThreadExchangeStreamCaptureMode(&relaxed->before));
    relaxed->exchanged = true;
done:
    return status;
}

bg__relaxed_mode bg__relaxed_mode_try_begin(void)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    cudaError_t error = cudaThreadExchangeStreamCaptureMode(&relaxed.before);
    relaxed.exchanged = error == cudaSuccess;
    bg__warn_if_not_released(error, "cudaThreadExchangeStreamCaptureMode");
    return relaxed;
}

void bg__relaxed_mode_end(bg__relaxed_mode relaxed)
{
    cudaError_t error = relaxed.exchanged ? cudaThreadExchangeStreamCaptureMode(&relaxed.before) : cudaSuccess;
    bg__clear_cuda_error(error);
    if (error != cudaSuccess && !bg__device_is_gone(error))
        bg__warn("cudaThreadExchangeStreamCaptureMode failed with %s; this thread stays in relaxed capture mode",
                 cudaGetErrorName(error));
}

bg_status bg__device_alloc(size_t bytes, void **ptr)
{
    bg__relaxed_mode relaxed;
    cudaError_t error;
    bg_status status;

    *ptr = NULL;
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    error = cudaMalloc(ptr, bytes);
    if (error != cudaSuccess)
        status = bg__fail_cuda(error, "cudaMalloc");
    bg__relaxed_mode_end(relaxed);
done:
    if (status != BG_OK) {
        *ptr = NULL;
        bg__error_add_location("%zu bytes of device memory", bytes);
    }
    return status;
}

void bg__device_free(void *ptr)
{
    bg__relaxed_mode relaxed;
    if (ptr == NULL)
        return;
    relaxed = bg__relaxed_mode_try_begin();
    BG__RELEASE(cudaFree(ptr));
    bg__relaxed_mode_end(relaxed);
}

bg_status bg__stream_check_device(cudaStream_t stream, const char *function, const char *argument)
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

bg_status bg__pointer_get_attributes(const void *ptr, bg__pointer_attributes *place)
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
        BG__TRY(bg__driver_get_entry_point("cuPointerGetAttributes", 7000, (void *)&get));
        atomic_store_explicit(&known, get, memory_order_release);
    }
    BG__TRY_DRIVER("cuPointerGetAttributes",
                   get(sizeof asked / sizeof *asked, asked, answers, (CUdeviceptr)(uintptr_t)ptr));
    *place = (bg__pointer_attributes){(CUmemorytype)type, managed != 0, device};
done:
    return status;
}
