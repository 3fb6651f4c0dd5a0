#include "hostcuda/stream/stream.h"

#include <stdlib.h>

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
