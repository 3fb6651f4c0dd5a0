#include "hostcuda/src/driver/driver_calls.h"

#include "hostcuda/src/graph/user_object.h"

/* The first runtime call, or cuInit, sets the number of devices. */
bool hc_driver_lock_if_uninitialized(void)
{
    hc_lock();
    if (!hc_device_count())
        return true;
    hc_unlock();
    return false;
}

/* Returns false before cuInit and in host functions, since the call fails with another error there. */
bool hc_driver_lacks_context(void)
{
    const struct hc_thread *thread = hc_thread();
    bool refuses = hc_driver_lock_if_uninitialized();
    if (refuses)
        hc_unlock();
    return !refuses && !thread->context && !thread->inside.host_function;
}

CUresult hc_driver_end(cudaError_t error)
{
    hc_forward_leave_driver(hc_thread(), error);
    cudaUserObject_t due = hc_objects_pop_unreferenced();
    hc_unlock();
    hc_objects_destroy_unreferenced(due);
    return hc_driver_error_of(error);
}

bool hc_driver_enter_runtime(const char *name)
{
    if (hc_driver_lock_if_uninitialized()) {
        hc_unlock();
        return false;
    }
    if (!HC_DRIVER_USED)
        __atomic_store_n(&hc_driver_used, true, __ATOMIC_RELAXED);
    hc_thread()->inside.door = name;
    return true;
}

/* Clears the name that hc_driver_enter_runtime has set. The name is still set if no runtime function was called. */
CUresult hc_driver_leave_runtime(cudaError_t error)
{
    hc_thread()->inside.door = NULL;
    return hc_driver_error_of(error);
}

CUresult cuInit(unsigned int Flags)
{
    cudaError_t error = hc_call_begin_driver_as(__func__, true);
    if (!error && Flags)
        error = cudaErrorInvalidValue;
    return hc_driver_end(error);
}

CUresult cuDriverGetVersion(int *driverVersion)
{
    if (!driverVersion)
        return CUDA_ERROR_INVALID_VALUE;
    *driverVersion = HC_DRIVER_VERSION;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    cudaError_t error = hc_driver_begin_quiet();
    if (!error && !count)
        error = cudaErrorInvalidValue;
    if (!error)
        *count = hc_device_count();
    return hc_driver_end(error);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    cudaError_t error = hc_driver_begin_quiet();
    if (!error && !device)
        error = cudaErrorInvalidValue;
    if (!error && (ordinal < 0 || ordinal >= hc_device_count()))
        error = cudaErrorInvalidDevice;
    if (!error)
        *device = ordinal;
    return hc_driver_end(error);
}

/* ---- errors -------------------------------------------------------------------------------------------------- */

/* clang-format off */
static const char *driver_error_name(CUresult error)
{
    switch ((int)error) { /* older headers lack some */
#define X(code) case code: return #code;
#include "hostcuda/src/core/driver_errors.def"
#undef X
    }
    return NULL;
}
/* clang-format on */

CUresult cuGetErrorName(CUresult error, const char **pStr)
{
    if (!pStr)
        return CUDA_ERROR_INVALID_VALUE;
    *pStr = driver_error_name(error);
    return *pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The sentences are the runtime's, except for two codes that the runtime does not have. */
CUresult cuGetErrorString(CUresult error, const char **pStr)
{
    if (!pStr)
        return CUDA_ERROR_INVALID_VALUE;
    *pStr = NULL;
    if (!driver_error_name(error))
        return CUDA_ERROR_INVALID_VALUE;
    switch (error) {
    case CUDA_ERROR_CONTEXT_ALREADY_CURRENT: *pStr = "context already current"; break;
    case CUDA_ERROR_KEY_ROTATION: *pStr = "error in the key rotation sequence"; break;
    default: *pStr = cudaGetErrorString((cudaError_t)error);
    }
    return CUDA_SUCCESS;
}
