/* Calls for streams. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/core/core_schedule.h"
#include "hostcuda/src/stream/stream_capture.h"
#include "hostcuda/src/stream/queue_run.h"
#include "hostcuda/src/stream/submit.h"

static cudaError_t create_stream(cudaStream_t *stream, unsigned flags, int priority)
{
    if (!stream || flags & ~(unsigned)cudaStreamNonBlocking)
        return cudaErrorInvalidValue;
    *stream = hc_stream_make(hc_thread()->device, HC_STREAM_CREATED, flags, hc_device_priority(priority));
    return *stream ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority)
{
    HC_THROUGH_DRIVER(cuStreamCreateWithPriority, pStream, flags, priority);
    HC_CALL(create_stream(pStream, flags, priority));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    HC_THROUGH_DRIVER(cuStreamCreate, pStream, flags);
    HC_CALL(create_stream(pStream, flags, 0));
}

cudaError_t cudaStreamCreate(cudaStream_t *pStream)
{
    HC_THROUGH_DRIVER(cuStreamCreate, pStream, CU_STREAM_DEFAULT);
    HC_CALL(create_stream(pStream, cudaStreamDefault, 0));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    HC_THROUGH_DRIVER(cuStreamDestroy, stream);
    cudaError_t error = hc_call_begin_despite_errors(); /* destroying streams works after a failed kernel, too */
    if (!error && !hc_handle_is(HC_STREAM, stream))
        error = cudaErrorInvalidResourceHandle;
    if (!error)
        hc_stream_destroy(stream);
    return hc_call_end(error);
}

static cudaError_t synchronize_stream(cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    cudaError_t error = hc_stream_from_handle(handle, &stream);
    if (!error)
        error = hc_capture_check_wait(stream);
    return error ? error : hc_run_stream(stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    HC_THROUGH_DRIVER(cuStreamSynchronize, stream);
    HC_CALL(synchronize_stream(stream));
}

static cudaError_t query_stream(cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    cudaError_t error = hc_stream_from_handle(handle, &stream);
    if (!error)
        error = hc_capture_check_wait(stream);
    if (error || hc_run_is_done(stream))
        return error ? error : hc_device_error_after_wait(stream->device);
    int device = stream->device;
    hc_stream_retain(stream); /* another thread may destroy the stream during the query */
    hc_run_at_query();
    bool over = hc_schedule_seeded() && hc_run_is_done(stream);
    hc_stream_release(stream);
    error = hc_device_error_after_wait(device);
    if (error)
        return error;
    return over ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    HC_THROUGH_DRIVER(cuStreamQuery, stream);
    HC_CALL(query_stream(stream));
}

#define STREAM_QUERY(name, type, expression, check, entry)                                                             \
    cudaError_t name(cudaStream_t hStream, type *answer)                                                               \
    {                                                                                                                  \
        cudaStream_t stream = NULL;                                                                                    \
        HC_THROUGH_DRIVER(entry, hStream, answer);                                                                     \
        cudaError_t error = hc_call_begin();                                                                           \
        if (!error)                                                                                                    \
            error = answer ? hc_stream_from_handle(hStream, &stream) : cudaErrorInvalidValue;                          \
        if (!error)                                                                                                    \
            error = check(stream);                                                                                     \
        if (!error)                                                                                                    \
            *answer = stream->expression;                                                                              \
        return hc_call_end(error);                                                                                     \
    }
STREAM_QUERY(cudaStreamGetId, unsigned long long, id, hc_capture_check_query, cuStreamGetId)
STREAM_QUERY(cudaStreamGetDevice, int, device, hc_capture_check_query, cuStreamGetDevice)
STREAM_QUERY(cudaStreamGetFlags, unsigned int, flags, hc_capture_check_query, cuStreamGetFlags)

/* Whether the stream's priority may be queried. This is the only query that is allowed during a capture, unless the
 * capture is invalid (measured). */
static cudaError_t check_priority(cudaStream_t stream)
{
    return stream->capture && stream->capture->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}
STREAM_QUERY(cudaStreamGetPriority, int, priority, check_priority, cuStreamGetPriority)

cudaError_t cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    HC_THROUGH_DRIVER(cuCtxGetStreamPriorityRange, leastPriority, greatestPriority);
    cudaError_t error = hc_call_begin();
    if (!error && leastPriority)
        *leastPriority = HC_PRIORITY_LEAST;
    if (!error && greatestPriority)
        *greatestPriority = HC_PRIORITY_GREATEST;
    return hc_call_end(error);
}
