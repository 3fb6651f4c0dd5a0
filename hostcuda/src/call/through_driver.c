#include "hostcuda/src/call/through_driver.h"

#include "hostcuda/src/call/call_entry.h"

bool hc_through_driver_begin(struct hc_forward *forward, const char *runtime, const char *entry, bool condition)
{
    if (__atomic_load_n(&hc_through_driver, __ATOMIC_ACQUIRE) < 0) {
        (void)hc_call_begin_uncounted(); /* reads the environment */
        hc_unlock();
    }
    struct hc_thread *thread = hc_thread();
    if (!condition || __atomic_load_n(&hc_through_driver, __ATOMIC_ACQUIRE) <= 0 || thread->inside.door ||
        !hc_driver_library_open())
        return false;
    thread->context = true;
    hc_forward_begin(forward, runtime, entry);
    return true;
}

cudaError_t hc_through_driver_end(struct hc_forward *forward, CUresult result)
{
    cudaError_t error = hc_forward_end(forward, result);
    hc_lock();
    return hc_call_end(error);
}

cudaError_t hc_through_driver_launch(CUfunction function, cudaStream_t stream, void **arguments)
{
    struct hc_forward forward;
    cudaError_t error = cudaErrorInsufficientDriver;
    hc_unlock();
    if (hc_driver_library_open()) {
        hc_forward_begin(&forward, NULL, HC_TEXT(cuLaunchKernel));
        error = hc_forward_end(
            &forward, hc_driver_library.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
    }
    hc_lock();
    return error;
}
