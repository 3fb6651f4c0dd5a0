/* The functions that breakgraph/hooks.h calls under CUDA's names. They call those of stream.h, and return CUDA's
 * errors. */
#include "capture/capture.h"
#include "capture/replay.h"

#include <breakgraph/hooks.h>

#undef cudaEventRecord
#undef cudaEventRecordWithFlags
#undef cudaStreamWaitEvent
#undef cudaEventDestroy

/* Whether the call can affect neither a capture nor an eager pass. */
static bool is_plain(void)
{
    return bg_current_phase() == BG_PHASE_PLAIN && bg__thread_self()->pass == NULL && !bg__capturing_streams_any();
}

static cudaError_t nearest_cuda_error(bg_status status)
{
    switch (status) {
    case BG_ERROR_INVALID_ARGUMENT: return cudaErrorInvalidValue;
    case BG_ERROR_OUT_OF_MEMORY: return cudaErrorMemoryAllocation;
    case BG_ERROR_ISOLATION: return cudaErrorStreamCaptureIsolation;
    case BG_ERROR_WRONG_THREAD: return cudaErrorStreamCaptureWrongThread;
    case BG_ERROR_FOREIGN_CAPTURE: return cudaErrorStreamCaptureMerge;
    case BG_ERROR_UNJOINED_STREAM:
    case BG_ERROR_UNTRACKED_STREAM: return cudaErrorStreamCaptureUnjoined;
    default: return cudaErrorStreamCaptureInvalidated; /* the capture has failed before */
    }
}

static cudaError_t cuda_error_of(bg_status status)
{
    if (status == BG_OK)
        return cudaSuccess;
    return bg__error_cuda_cause() != cudaSuccess ? bg__error_cuda_cause() : nearest_cuda_error(status);
}

cudaError_t bg_hook_event_record(cudaEvent_t event, cudaStream_t stream, unsigned flags, const bg_site *site)
{
    if (is_plain())
        return cudaEventRecordWithFlags(event, stream, flags);
    bg__error_clear_cuda_cause();
    return cuda_error_of(bg_event_record_at(event, stream, flags, site));
}

cudaError_t bg_hook_stream_wait_event(cudaStream_t stream, cudaEvent_t event, unsigned flags, const bg_site *site)
{
    if (is_plain())
        return cudaStreamWaitEvent(stream, event, flags);
    bg__error_clear_cuda_cause();
    return cuda_error_of(bg_stream_wait_event_at(stream, event, flags, site));
}

cudaError_t bg_hook_event_destroy(cudaEvent_t event)
{
    if (is_plain())
        return cudaEventDestroy(event);
    bg__error_clear_cuda_cause();
    return cuda_error_of(bg_event_destroy(event));
}
