#include "hostcuda/src/nccl/nccl_comm.h"

#ifdef HC_HAVE_NCCL
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/fault_injection.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last_error[HC_FAILURE_BYTES];

ncclResult_t hc_nccl_set_error(ncclResult_t code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    return code;
}

const char *hc_nccl_last_error(void)
{
    return last_error;
}

ncclResult_t hc_nccl_begin(const char *call)
{
    cudaError_t error = hc_call_begin_uncounted();
    if (error)
        return hc_nccl_set_error(ncclUnhandledCudaError, "%s: %s", call, cudaGetErrorString(error));
    if (!hc_fault_watching)
        return ncclSuccess;
    struct hc_fault fault = hc_fault_match_call(call);
    ncclResult_t injected = fault.any ? ncclUnhandledCudaError : (ncclResult_t)fault.code;
    return injected ? hc_nccl_set_error(injected, "%s fails as HOSTCUDA_FAIL asks", call) : ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError: return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    default: return "unknown result code";
    }
}

ncclResult_t ncclGetVersion(int *version)
{
    if (!version)
        return hc_nccl_set_error(ncclInvalidArgument, "ncclGetVersion: version is NULL");
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}
#endif
