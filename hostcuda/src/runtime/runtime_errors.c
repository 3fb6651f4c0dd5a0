#include "hostcuda/src/call/call_entry.h"

/* Newer headers have more codes, which no function here returns. */
/* clang-format off */
const char *cudaGetErrorName(cudaError_t error)
{
    switch ((int)error) {
#define X(code, text) case code: return #code;
#include "hostcuda/src/core/errors.def"
#undef X
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch ((int)error) {
#define X(code, text) case code: return text;
#include "hostcuda/src/core/errors.def"
#undef X
    }
    return "unrecognized error code";
}
/* clang-format on */

/* The device's sticky error, or else the thread's last error. */
static cudaError_t get_last_error(bool clear)
{
    cudaError_t start = hc_call_begin_uncounted();
    struct hc_thread *thread = hc_thread();
    cudaError_t sticky = start ? cudaSuccess : hc_device(thread->device)->sticky;
    bool own = !thread->inside.forward; /* otherwise libcuda asks on behalf of a call of the program */
    cudaError_t error = sticky ? sticky : own ? thread->last_error : cudaSuccess;
    if (clear && own)
        thread->last_error = cudaSuccess;
    hc_unlock();
    return error;
}

cudaError_t cudaGetLastError(void)
{
    return get_last_error(true);
}

cudaError_t cudaPeekAtLastError(void)
{
    return get_last_error(false);
}
