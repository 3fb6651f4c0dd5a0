/* Each thread keeps the sentence of its last failure. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1024 };

static _Thread_local char text[TEXT_BYTES];
static _Thread_local bool placed;
static _Thread_local cudaError_t pending = cudaSuccess;
static _Thread_local cudaError_t cause = cudaSuccess;

const char *bg_last_error(void)
{
    return text;
}

bg_status bg__fail(bg_status status, const char *format, ...)
{
    /* A separate buffer, since the arguments may point into the old text. */
    char fresh[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fresh, sizeof fresh, format, arguments);
    va_end(arguments);
    bg__printable(fresh, sizeof fresh);
    memcpy(text, fresh, sizeof text);
    placed = false;
    cause = cudaSuccess;
    return status;
}

cudaError_t bg__fail_cause(void)
{
    return cause;
}

void bg__fail_forget_cause(void)
{
    cause = cudaSuccess;
}

bool bg__fail_is_placed(void)
{
    return placed;
}

void bg__fail_set_placed(void)
{
    placed = true;
}

void bg__fail_where(const char *format, ...)
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
    bg__printable(fresh, TEXT_BYTES / 2 + 1);
    used = (int)strlen(fresh);
    snprintf(fresh + used, sizeof fresh - (size_t)used, ": %.*s", TEXT_BYTES - 3 - used, text);
    bg__printable(fresh, sizeof fresh); /* a character may have been cut */
    memcpy(text, fresh, sizeof text);
}

char bg__fail_hide(void)
{
    char hidden = text[0];
    text[0] = '\0';
    return hidden;
}

void bg__fail_unhide(char hidden)
{
    if (text[0] == '\0')
        text[0] = hidden;
}

void bg__fail_restore(const char *saved)
{
    snprintf(text, sizeof text, "%s", saved);
    bg__printable(text, sizeof text);
    placed = true;
}

void bg__ignore(cudaError_t error)
{
    if (error != cudaSuccess && pending == cudaSuccess)
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

void bg__released(cudaError_t error, const char *call)
{
    bg__ignore(error);
    if (error != cudaSuccess && !bg__device_is_gone(error))
        bg__warn("%.*s failed with %s; the resource may have leaked", (int)strcspn(call, "("), call,
                 cudaGetErrorName(error));
}

void bg__pending_note(void)
{
    pending = cudaPeekAtLastError();
}

void bg__pending_forget(void)
{
    pending = cudaSuccess;
}

static bg_status status_of(cudaError_t error)
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
        return "a call that CUDA forbids during capture was made (an allocation, a synchronisation, a query): make "
               "the op that made it eager, or move the call before the capture";
    case cudaErrorStreamCaptureUnjoined:
        return "join every forked stream to the origin stream with bg_stream_wait_stream";
    case cudaErrorStreamCaptureIsolation:
        return "fork streams from the capture's origin stream with bg_stream_wait_stream";
    case cudaErrorStreamCaptureImplicit:
        return "do not use the legacy stream during the capture, or capture on a non-blocking stream";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert: return "the CUDA context is lost: breakgraph step finds the kernel that failed";
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorNoKernelImageForDevice: return "build the kernels for this GPU's architecture";
    default: return "see CUDA's documentation of this error";
    }
}

bg_status bg__fail_cuda(cudaError_t error, const char *call)
{
    int length = (int)strcspn(call, "(");
    if (pending == cudaSuccess)
        (void)cudaGetLastError(); /* our own error, which the status reports */
    bg__fail(status_of(error), "%.*s failed with %s (%s); %s", length, call, cudaGetErrorName(error),
             cudaGetErrorString(error), advice_for(error));
    cause = error;
    return status_of(error);
}

static bool ends_with(const char *whole, const char *end)
{
    size_t bytes = strlen(whole), end_bytes = strlen(end);
    return bytes >= end_bytes && strcmp(whole + bytes - end_bytes, end) == 0;
}

void bg__fail_advise(const char *format, ...)
{
    char fresh[TEXT_BYTES] = "; ";
    const char *general = advice_for(cause);
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fresh + 2, sizeof fresh - 2, format, arguments);
    va_end(arguments);
    if (ends_with(text, fresh)) /* an outer call gives the same advice */
        return;
    if (cause != cudaSuccess && used > strlen(general) + 2 && ends_with(text, general))
        used -= strlen(general) + 2;
    snprintf(text + used, sizeof text - used, "%s", fresh);
    bg__printable(text, sizeof text);
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
    bg__printable(line, sizeof line);
    fprintf(stderr, "breakgraph: %s\n", line);
}
