#include "hostcuda/src/stream/stream.h"

#include "hostcuda/src/core/core_grow.h"

#include <stdlib.h>

cudaStream_t hc_streams;
cudaStream_t *hc_busy_streams;
size_t hc_busy_count;
static cudaStream_t last_stream;
static size_t busy_capacity;
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
    /* appended, so that seed 0 visits streams in order of creation */
    stream->previous = last_stream;
    *(last_stream ? &last_stream->next : &hc_streams) = stream;
    last_stream = stream;
    return stream;
}

/* A stream that the program has destroyed is freed when its work is done and no thread uses it. */
static void free_if_unused(cudaStream_t stream)
{
    if (!stream->retired || stream->head || stream->pins)
        return;
    *(stream->previous ? &stream->previous->next : &hc_streams) = stream->next;
    *(stream->next ? &stream->next->previous : &last_stream) = stream->previous;
    hc_nodes_free(&stream->frontier);
    free(stream);
}

void hc_stream_free_when_done(cudaStream_t stream)
{
    hc_handle_remove(stream);
    stream->retired = true;
    free_if_unused(stream);
}

void hc_stream_retain(cudaStream_t stream)
{
    stream->pins++;
}

void hc_stream_release(cudaStream_t stream)
{
    stream->pins--;
    free_if_unused(stream);
}

/* ---- streams with queued work -------------------------------------------------------------------------------- */

static void place_busy(size_t rank, cudaStream_t stream)
{
    hc_busy_streams[rank] = stream;
    stream->rank = rank;
}

/* Moves the stream, whose place is free, up or down to where its sequence number belongs. */
static void sift_busy(size_t rank, cudaStream_t stream)
{
    for (; rank && hc_busy_streams[(rank - 1) / 2]->oldest > stream->oldest; rank = (rank - 1) / 2)
        place_busy(rank, hc_busy_streams[(rank - 1) / 2]);
    for (size_t child; (child = 2 * rank + 1) < hc_busy_count; rank = child) {
        if (child + 1 < hc_busy_count && hc_busy_streams[child + 1]->oldest < hc_busy_streams[child]->oldest)
            child++;
        if (hc_busy_streams[child]->oldest > stream->oldest)
            break;
        place_busy(rank, hc_busy_streams[child]);
    }
    place_busy(rank, stream);
}

bool hc_stream_reserve_busy(void)
{
    return hc_array_reserve(&hc_busy_streams, &busy_capacity, hc_busy_count + 1, sizeof(*hc_busy_streams));
}

void hc_stream_begin_busy(cudaStream_t stream, uint64_t sequence)
{
    stream->oldest = sequence;
    place_busy(hc_busy_count++, stream);
}

void hc_stream_move_busy(cudaStream_t stream, uint64_t sequence)
{
    stream->oldest = sequence;
    sift_busy(stream->rank, stream);
}

void hc_stream_end_busy(cudaStream_t stream)
{
    cudaStream_t last = hc_busy_streams[--hc_busy_count];
    if (last != stream)
        sift_busy(stream->rank, last);
}

/* ---- handles ------------------------------------------------------------------------------------------------- */

static cudaStream_t per_thread_stream(struct hc_thread *thread)
{
    cudaStream_t *slot = &thread->per_thread[thread->device];
    if (!*slot)
        *slot = hc_stream_make(thread->device, HC_STREAM_PER_THREAD, cudaStreamDefault, 0);
    return *slot;
}

cudaError_t hc_stream_from_handle(cudaStream_t handle, cudaStream_t *stream)
{
    struct hc_thread *thread = hc_thread();
    bool of_context = !handle || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
    if (of_context && thread->inside.door && !thread->context)
        return cudaErrorDeviceUninitialized; /* called by the driver */
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
