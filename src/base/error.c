/* Failures and warnings. Each thread keeps the sentence of its last failure. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1024 };

static _Thread_local char last_error_text[TEXT_BYTES];
static _Thread_local bool has_location;
static _Thread_local cudaError_t foreign_error = cudaSuccess;
static _Thread_local cudaError_t cause = cudaSuccess;

const char *bg_last_error(void)
{
    return last_error_text;
}

bg_status bg__fail(bg_status status, const char *format, ...)
{
    /* A separate buffer, since the arguments may point into the old text. */
    char fresh[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fresh, sizeof fresh, format, arguments);
    va_end(arguments);
    bg__escape_unprintable(fresh, sizeof fresh);
    memcpy(last_error_text, fresh, sizeof last_error_text);
    has_location = false;
    cause = cudaSuccess;
    return status;
}

cudaError_t bg__error_cuda_cause(void)
{
    return cause;
}

void bg__error_clear_cuda_cause(void)
{
    cause = cudaSuccess;
}

bool bg__error_has_location(void)
{
    return has_location;
}

void bg__error_set_located(void)
{
    has_location = true;
}

void bg__error_add_location(const char *format, ...)
{
    char fresh[TEXT_BYTES];
    va_list arguments;
    int used;
    va_start(arguments, format);
    used = vsnprintf(fresh, sizeof fresh, format, arguments);
    va_end(arguments);
    if (used < 0)
        return;
    fresh[TEXT_BYTES / 2] = '\0'; /* what happened matters more than a long name */
    bg__escape_unprintable(fresh, TEXT_BYTES / 2 + 1);
    used = (int)strlen(fresh);
    snprintf(fresh + used, sizeof fresh - (size_t)used, ": %.*s", TEXT_BYTES - 3 - used, last_error_text);
    bg__escape_unprintable(fresh, sizeof fresh); /* a character may have been cut */
    memcpy(last_error_text, fresh, sizeof last_error_text);
}

char bg__error_set_aside(void)
{
    char hidden = last_error_text[0];
    last_error_text[0] = '\0';
    return hidden;
}

void bg__error_restore(char hidden)
{
    if (last_error_text[0] == '\0')
        last_error_text[0] = hidden;
}

void bg__error_set_text(const char *saved)
{
    snprintf(last_error_text, sizeof last_error_text, "%s", saved);
    bg__escape_unprintable(last_error_text, sizeof last_error_text);
    has_location = true;
}

void bg__clear_cuda_error(cudaError_t error)
{
    if (error != cudaSuccess && foreign_error == cudaSuccess)
        (void)cudaGetLastError();
}

bool bg__device_is_gone(cudaError_t error)
{
    switch (error) {
    case cudaErrorCudartUnloading:
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable: return true;
    default: return false;
    }
}

void bg__warn_if_not_released(cudaError_t error, const char *call)
{
    bg__clear_cuda_error(error);
    if (error != cudaSuccess && !bg__device_is_gone(error))
        bg__warn("%.*s failed with %s; the resource may have leaked", (int)strcspn(call, "("), call,
                 cudaGetErrorName(error));
}

void bg__foreign_error_note(void)
{
    foreign_error = cudaPeekAtLastError();
}

void bg__foreign_error_forget(void)
{
    foreign_error = cudaSuccess;
}

static bg_status status_from_cuda(cudaError_t error)
{
    switch (error) {
    case cudaErrorMemoryAllocation: return BG_ERROR_OUT_OF_MEMORY;
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureMerge:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorCapturedEvent: return BG_ERROR_CAPTURE_INVALID;
    case cudaErrorStreamCaptureUnjoined: return BG_ERROR_UNJOINED_STREAM;
    case cudaErrorStreamCaptureIsolation: return BG_ERROR_ISOLATION;
    case cudaErrorStreamCaptureWrongThread: return BG_ERROR_WRONG_THREAD;
    default: return BG_ERROR_CUDA;
    }
}

static const char *advice_for(cudaError_t error)
{
    switch (error) {
    case cudaErrorMemoryAllocation: return "free device memory, or capture smaller sizes";
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
        return "no usable GPU was found: check the driver (nvidia-smi), or build with DEVICE=host";
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
        return "the pass made a call that CUDA forbids during capture (an allocation, a synchronisation, a query): "
               "make the op that made it eager, or move the call before the capture";
    case cudaErrorStreamCaptureUnjoined:
        return "join every forked stream to the origin stream with bg_stream_wait_stream";
    case cudaErrorStreamCaptureIsolation:
        return "fork streams from the capture's origin stream with bg_stream_wait_stream";
    case cudaErrorStreamCaptureImplicit:
        return "do not use the legacy stream during the capture, or capture on a non-blocking stream";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert: return "the CUDA context is lost; run `breakgraph step` to find the kernel that failed";
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorNoKernelImageForDevice: return "build the kernels for this GPU's architecture";
    default: return "see CUDA's documentation of this error";
    }
}

bg_status bg__fail_cuda(cudaError_t error, const char *call)
{
    int length = (int)strcspn(call, "(");
    if (foreign_error == cudaSuccess)
        (void)cudaGetLastError(); /* our own error, which the status reports */
    bg__fail(status_from_cuda(error), "%.*s failed with %s (%s); %s", length, call, cudaGetErrorName(error),
             cudaGetErrorString(error), advice_for(error));
    cause = error;
    return status_from_cuda(error);
}

static bool ends_with(const char *whole, const char *end)
{
    size_t bytes = strlen(whole), end_bytes = strlen(end);
    return bytes >= end_bytes && strcmp(whole + bytes - end_bytes, end) == 0;
}

void bg__error_set_advice(const char *format, ...)
{
    char fresh[TEXT_BYTES] = "; ";
    const char *general = advice_for(cause);
    size_t used = strlen(last_error_text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fresh + 2, sizeof fresh - 2, format, arguments);
    va_end(arguments);
    if (ends_with(last_error_text, fresh)) /* an outer call gives the same advice */
        return;
    if (cause != cudaSuccess && used > strlen(general) + 2 && ends_with(last_error_text, general))
        used -= strlen(general) + 2;
    snprintf(last_error_text + used, sizeof last_error_text - used, "%s", fresh);
    bg__escape_unprintable(last_error_text, sizeof last_error_text);
}

bg_status bg_report_failure(bg_status status, const char *call, const char *error, const char *advice)
{
    return bg__fail(status, "%s failed: %s; %s", call, error, advice);
}

void bg__warn(const char *format, ...)
{
    char line[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    bg__escape_unprintable(line, sizeof line);
    fprintf(stderr, "breakgraph: %s\n", line);
}
