/* Calls for events. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/core/core_schedule.h"
#include "hostcuda/src/stream/stream_capture.h"
#include "hostcuda/src/stream/event.h"
#include "hostcuda/src/stream/queue.h"
#include "hostcuda/src/stream/queue_run.h"
#include "hostcuda/src/stream/submit.h"

#include <stdlib.h>

static cudaError_t create_event(cudaEvent_t *event, unsigned flags)
{
    const unsigned allowed = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    if (!event || flags & ~allowed)
        return cudaErrorInvalidValue;
    if (flags & cudaEventInterprocess)
        return flags & cudaEventDisableTiming ? cudaErrorNotSupported : cudaErrorInvalidValue;
    struct CUevent_st *made = hc_event_make(flags, hc_thread()->device);
    if (!made || !hc_handle_add(HC_EVENT, made)) {
        free(made);
        return cudaErrorMemoryAllocation;
    }
    *event = made;
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    HC_THROUGH_DRIVER(cuEventCreate, event, flags);
    HC_CALL(create_event(event, flags));
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    HC_THROUGH_DRIVER(cuEventCreate, event, CU_EVENT_DEFAULT);
    HC_CALL(create_event(event, cudaEventDefault));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    HC_THROUGH_DRIVER(cuEventDestroy, event);
    cudaError_t error = hc_call_begin_despite_errors();
    if (!error && !hc_handle_is(HC_EVENT, event))
        error = cudaErrorInvalidResourceHandle;
    if (!error) {
        hc_handle_remove(event);
        hc_event_release(event);
    }
    return hc_call_end(error);
}

/* ---- record -------------------------------------------------------------------------------------------------- */

static cudaError_t record_in_capture(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    if (flags & cudaEventRecordExternal) {
        struct hc_op *op = hc_op_make_event(HC_OP_RECORD, event);
        return op ? hc_capture_add_op(stream, op) : cudaErrorMemoryAllocation;
    }
    if (!hc_nodes_assign(&event->nodes, &stream->frontier))
        return cudaErrorMemoryAllocation;
    hc_token_release(event->token);
    event->token = NULL;
    event->capture_id = stream->capture->id;
    return cudaSuccess;
}

/* A wait that names no event invalidates its stream's capture; a record does not (measured). */
static cudaError_t reject_wait(cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    if (!hc_stream_from_handle(handle, &stream))
        hc_capture_invalidate(stream->capture);
    return cudaErrorInvalidResourceHandle;
}

static cudaError_t record_event(cudaEvent_t event, cudaStream_t handle, unsigned flags)
{
    cudaStream_t stream = NULL;
    if (!hc_handle_is(HC_EVENT, event))
        return cudaErrorInvalidResourceHandle;
    if (flags & ~(unsigned)cudaEventRecordExternal)
        return cudaErrorInvalidValue;
    cudaError_t error = hc_stream_for_work(handle, &stream);
    if (error)
        return error;
    if (event->device != stream->device)
        return cudaErrorInvalidResourceHandle;
    if (stream->capture)
        return record_in_capture(event, stream, flags);
    if (flags & cudaEventRecordExternal)
        return cudaErrorIllegalState;
    struct hc_token *token = hc_token_make();
    if (!token)
        return cudaErrorMemoryAllocation;
    error = hc_queue_token(stream, HC_ITEM_RECORD, hc_token_retain(token));
    if (error)
        hc_token_release(token);
    else
        hc_event_set_token(event, token);
    return error;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
    HC_THROUGH_DRIVER(cuEventRecordWithFlags, event, stream, flags);
    HC_CALL(record_event(event, stream, flags));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    HC_THROUGH_DRIVER(cuEventRecord, event, stream);
    HC_CALL(record_event(event, stream, cudaEventRecordDefault));
}

/* ---- wait ---------------------------------------------------------------------------------------------------- */

/* Waits for an event that was recorded in a capture. */
static cudaError_t wait_for_captured_event(cudaStream_t stream, const struct CUevent_st *event)
{
    struct hc_capture *capture = hc_capture_find_valid(event->capture_id);
    if (!capture) {
        hc_capture_invalidate(stream->capture);
        return cudaErrorInvalidValue;
    }
    if (stream->capture && stream->capture != capture) {
        hc_capture_invalidate(stream->capture);
        hc_capture_invalidate(capture);
        return cudaErrorStreamCaptureMerge;
    }
    if (!stream->capture)
        return hc_capture_join(capture, stream, &event->nodes);
    return hc_nodes_add_all(&stream->frontier, &event->nodes) ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* Waits on a capturing stream for an event that was recorded outside of captures, or never. */
static cudaError_t wait_in_capture(cudaStream_t stream, cudaEvent_t event, bool external)
{
    if (external) {
        struct hc_op *op = hc_op_make_event(HC_OP_WAIT, event);
        return op ? hc_capture_add_op(stream, op) : cudaErrorMemoryAllocation;
    }
    if (!event->token)
        return cudaSuccess; /* never recorded: there is nothing to wait for */
    hc_capture_invalidate(stream->capture);
    return cudaErrorStreamCaptureIsolation;
}

static cudaError_t wait_for_event(cudaStream_t handle, cudaEvent_t event, unsigned flags)
{
    cudaStream_t stream = NULL;
    if (!hc_handle_is(HC_EVENT, event))
        return reject_wait(handle);
    if (flags & ~(unsigned)cudaEventWaitExternal)
        return cudaErrorInvalidValue;
    cudaError_t error = hc_stream_for_work(handle, &stream);
    if (error)
        return error;
    bool external = flags & cudaEventWaitExternal;
    if (external && !stream->capture)
        return cudaErrorIllegalState;
    if (event->capture_id && !external)
        return wait_for_captured_event(stream, event);
    if (stream->capture)
        return wait_in_capture(stream, event, external);
    if (!event->token || event->token->done)
        return cudaSuccess;
    return hc_queue_token(stream, HC_ITEM_WAIT, hc_token_retain(event->token));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    HC_THROUGH_DRIVER(cuStreamWaitEvent, stream, event, flags);
    HC_CALL(wait_for_event(stream, event, flags));
}

/* ---- queries by the host ------------------------------------------------------------------------------------- */

static cudaError_t check_host_wait(cudaEvent_t event)
{
    if (!hc_handle_is(HC_EVENT, event))
        return cudaErrorInvalidResourceHandle;
    if (!event->capture_id)
        return hc_capture_check_unsafe_call();
    struct hc_capture *capture = hc_capture_find_valid(event->capture_id);
    hc_capture_invalidate(capture);
    return capture ? cudaErrorCapturedEvent : cudaErrorInvalidValue;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    HC_THROUGH_DRIVER(cuEventSynchronize, event);
    cudaError_t error = hc_call_begin();
    if (!error)
        error = check_host_wait(event);
    if (!error && event->token)
        error = hc_run_token(event->token, event->device);
    return hc_call_end(error);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    HC_THROUGH_DRIVER(cuEventQuery, event);
    cudaError_t error = hc_call_begin_in_host_function();
    if (!error)
        error = check_host_wait(event);
    if (!error && (!event->token || event->token->done)) {
        error = hc_device_error_after_wait(event->device);
    } else if (!error) {
        int device = event->device;
        struct hc_token *token = hc_token_retain(event->token); /* another thread may destroy the event meanwhile */
        if (!hc_thread()->inside.host_function)
            hc_run_at_query();
        bool over = hc_schedule_seeded() && token->done;
        hc_token_release(token);
        error = hc_device_error_after_wait(device);
        if (!error && !over)
            error = cudaErrorNotReady;
    }
    return hc_call_end(error);
}

static cudaError_t get_elapsed_time(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    if (!milliseconds)
        return cudaErrorInvalidValue;
    if (!hc_handle_is(HC_EVENT, start) || !hc_handle_is(HC_EVENT, end))
        return cudaErrorInvalidResourceHandle;
    if (hc_capture_find_valid(start->capture_id) || hc_capture_find_valid(end->capture_id))
        return cudaErrorCapturedEvent;
    if (start->capture_id || end->capture_id)
        return cudaErrorInvalidValue;
    if ((start->flags | end->flags) & cudaEventDisableTiming || !start->token || !end->token)
        return cudaErrorInvalidResourceHandle;
    if (start->device != end->device)
        return cudaErrorInvalidResourceHandle; /* as CUDA's programming guide says */
    if (!start->token->done || !end->token->done)
        return cudaErrorNotReady;
    *milliseconds = (float)(end->token->milliseconds - start->token->milliseconds);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    HC_THROUGH_DRIVER(cuEventElapsedTime, ms, start, end);
    HC_CALL(get_elapsed_time(ms, start, end));
}
