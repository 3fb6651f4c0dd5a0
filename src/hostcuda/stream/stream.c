#include "hostcuda/stream/stream.h"

#include "hostcuda/stream/capture.h"
#include "hostcuda/core/schedule.h"

#include <stdlib.h>

enum { PRIORITY_LEAST = 0, PRIORITY_GREATEST = -5 };

cudaStream_t hc_streams;
static unsigned long long stream_ids;

cudaStream_t hc_stream_make(int device, enum hc_stream_kind kind, unsigned flags, int priority)
{
    cudaStream_t stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->kind = kind;
    stream->device = device;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = ++stream_ids;
    if (kind == HC_STREAM_CREATED && !hc_handle_add(HC_STREAM, stream)) {
        free(stream);
        return NULL;
    }
    /* at the end: seed 0 then finds streams in the order of their creation */
    cudaStream_t *last = &hc_streams;
    while (*last)
        last = &(*last)->next;
    *last = stream;
    return stream;
}

/* Once destroyed by the program, a stream ends when its work is done and nobody looks at it any more. */
static void free_if_over(cudaStream_t stream)
{
    if (!stream->retired || stream->head || stream->pins)
        return;
    cudaStream_t *link = &hc_streams;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    hc_nodes_free(&stream->frontier);
    free(stream);
}

void hc_stream_retire(cudaStream_t stream)
{
    hc_capture_stream_destroyed(stream);
    hc_handle_remove(stream);
    stream->retired = true;
    free_if_over(stream);
}

void hc_stream_retain(cudaStream_t stream)
{
    stream->pins++;
}

void hc_stream_release(cudaStream_t stream)
{
    stream->pins--;
    free_if_over(stream);
}

static cudaStream_t per_thread_stream(struct hc_thread *thread)
{
    cudaStream_t *slot = &thread->per_thread[thread->device];
    if (!*slot)
        *slot = hc_stream_make(thread->device, HC_STREAM_PER_THREAD, cudaStreamDefault, 0);
    return *slot;
}

cudaError_t hc_stream_from(cudaStream_t handle, cudaStream_t *stream)
{
    struct hc_thread *thread = hc_thread();
    if (!handle || handle == cudaStreamLegacy) {
        *stream = hc_device(thread->device)->legacy;
        return cudaSuccess;
    }
    if (handle == cudaStreamPerThread) {
        *stream = per_thread_stream(thread);
        return *stream ? cudaSuccess : cudaErrorMemoryAllocation;
    }
    *stream = handle;
    return hc_handle_is(HC_STREAM, handle) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t hc_stream_for_work(cudaStream_t handle, cudaStream_t *stream)
{
    cudaError_t error = hc_stream_from(handle, stream);
    return error ? error : hc_capture_check_work(*stream);
}

cudaError_t hc_stream_submit(cudaStream_t stream, struct hc_op *op)
{
    return stream->capture ? hc_capture_add(stream, op) : hc_queue_op(stream, op);
}

/* ---- API ----------------------------------------------------------------------------------------------------- */

static cudaError_t create(cudaStream_t *stream, unsigned flags, int priority)
{
    if (!stream || flags & ~(unsigned)cudaStreamNonBlocking)
        return cudaErrorInvalidValue;
    if (priority > PRIORITY_LEAST)
        priority = PRIORITY_LEAST;
    if (priority < PRIORITY_GREATEST)
        priority = PRIORITY_GREATEST;
    *stream = hc_stream_make(hc_thread()->device, HC_STREAM_CREATED, flags, priority);
    return *stream ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = create(pStream, flags, priority);
    return hc_end(error);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = create(pStream, flags, 0);
    return hc_end(error);
}

cudaError_t cudaStreamCreate(cudaStream_t *pStream)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = create(pStream, cudaStreamDefault, 0);
    return hc_end(error);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t error = hc_begin_quiet(); /* cleaning up works after a failed kernel, too */
    if (!error && !hc_handle_is(HC_STREAM, stream))
        error = cudaErrorInvalidResourceHandle;
    if (!error)
        hc_stream_retire(stream);
    return hc_end(error);
}

static cudaError_t synchronize(cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    cudaError_t error = hc_stream_from(handle, &stream);
    if (!error)
        error = hc_capture_check_wait(stream);
    return error ? error : hc_run_stream(stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = synchronize(stream);
    return hc_end(error);
}

static cudaError_t query(cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    cudaError_t error = hc_stream_from(handle, &stream);
    if (!error)
        error = hc_capture_check_wait(stream);
    if (error || !stream->head)
        return error ? error : hc_device_outcome(stream->device);
    int device = stream->device;
    hc_stream_retain(stream); /* another thread may destroy it meanwhile */
    hc_run_step();
    bool over = hc_schedule_seeded() && !stream->head;
    hc_stream_release(stream);
    error = hc_device_outcome(device);
    if (error)
        return error;
    return over ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = query(stream);
    return hc_end(error);
}

#define STREAM_QUESTION(name, type, expression, check)                                                                 \
    cudaError_t name(cudaStream_t hStream, type *answer)                                                               \
    {                                                                                                                  \
        cudaStream_t stream = NULL;                                                                                    \
        cudaError_t error = hc_begin();                                                                                \
        if (!error)                                                                                                    \
            error = answer ? hc_stream_from(hStream, &stream) : cudaErrorInvalidValue;                                 \
        if (!error)                                                                                                    \
            error = check(stream);                                                                                     \
        if (!error)                                                                                                    \
            *answer = stream->expression;                                                                              \
        return hc_end(error);                                                                                          \
    }
STREAM_QUESTION(cudaStreamGetId, unsigned long long, id, hc_capture_check_question)
STREAM_QUESTION(cudaStreamGetDevice, int, device, hc_capture_check_question)
STREAM_QUESTION(cudaStreamGetFlags, unsigned int, flags, hc_capture_check_question)

/* The one question that a capture does not mind, unless it is invalid (measured). */
static cudaError_t check_priority(cudaStream_t stream)
{
    return stream->capture && stream->capture->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}
STREAM_QUESTION(cudaStreamGetPriority, int, priority, check_priority)

cudaError_t cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    cudaError_t error = hc_begin();
    if (!error && leastPriority)
        *leastPriority = PRIORITY_LEAST;
    if (!error && greatestPriority)
        *greatestPriority = PRIORITY_GREATEST;
    return hc_end(error);
}
