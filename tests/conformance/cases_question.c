/* Conformance: what may be asked of a capturing stream. */
#include "cases.h"

static cudaError_t ask_id(cudaStream_t stream)
{
    unsigned long long id;
    return cudaStreamGetId(stream, &id);
}

static cudaError_t ask_device(cudaStream_t stream)
{
    int device;
    return cudaStreamGetDevice(stream, &device);
}

static cudaError_t ask_flags(cudaStream_t stream)
{
    unsigned flags;
    return cudaStreamGetFlags(stream, &flags);
}

static cudaError_t ask_priority(cudaStream_t stream)
{
    int priority;
    return cudaStreamGetPriority(stream, &priority);
}

static unsigned long long capture_id(struct scene *s, cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status;
    unsigned long long id = 0;
    case_step(s, "cudaStreamGetCaptureInfo(..., &id, ...)",
              cudaStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL, NULL));
    return id;
}

CALL_AS(ask_id_a, "cudaStreamGetId(a, &id)", ask_id(s->a));

CASE(query_self, {
    BEGIN(s->a, Relaxed);
    ASK(cudaStreamQuery(s->a));
    STATUS(s->a);
    END(s->a);
});

CASE(synchronize_self, {
    BEGIN(s->a, Relaxed);
    ASK(cudaStreamSynchronize(s->a));
    STATUS(s->a);
    END(s->a);
});

CASE(query_fork, {
    BEGIN(s->a, Relaxed);
    ORDER(s->a, s->b);
    ASK(cudaStreamQuery(s->b));
    STATUS(s->a);
    END(s->a);
});

CASE(synchronize_local, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaStreamSynchronize(s->a));
    STATUS(s->a);
});

CASE(device_wait_hits_all, {
    BEGIN(s->a, Relaxed);
    BEGIN(s->b, ThreadLocal);
    ASK(cudaDeviceSynchronize());
    STATUS(s->a);
    STATUS(s->b);
});

CASE(device_wait_beside_invalidated, {
    BEGIN(s->a, Relaxed);
    ASK(cudaStreamQuery(s->a));
    ASK(cudaDeviceSynchronize());
    END(s->a);
    ASK(cudaDeviceSynchronize());
});

CASE(id_of_stream, {
    BEGIN(s->a, Relaxed);
    ASK_AS("cudaStreamGetId(b, &id)", ask_id(s->b));
    STATUS(s->a);
    ASK_AS("cudaStreamGetId(a, &id)", ask_id(s->a));
    STATUS(s->a);
});

CASE(device_of_stream, {
    BEGIN(s->a, Relaxed);
    ASK_AS("cudaStreamGetDevice(b, &device)", ask_device(s->b));
    STATUS(s->a);
    ASK_AS("cudaStreamGetDevice(a, &device)", ask_device(s->a));
    STATUS(s->a);
});

CASE(flags_of_stream, {
    BEGIN(s->a, Relaxed);
    ASK_AS("cudaStreamGetFlags(b, &flags)", ask_flags(s->b));
    STATUS(s->a);
    ASK_AS("cudaStreamGetFlags(a, &flags)", ask_flags(s->a));
    STATUS(s->a);
});

CASE(priority_of_stream, {
    BEGIN(s->a, Relaxed);
    ASK_AS("cudaStreamGetPriority(b, &priority)", ask_priority(s->b));
    ASK_AS("cudaStreamGetPriority(a, &priority)", ask_priority(s->a));
    END(s->a);
});

CASE(id_of_fork, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    ASK_AS("cudaStreamGetId(b, &id)", ask_id(s->b));
    STATUS(s->a);
});

CASE(id_from_other_thread, {
    BEGIN(s->a, ThreadLocal);
    case_ask_thread(s, &ask_id_a);
    STATUS(s->a);
});

CASE(status_is_harmless, {
    STATUS(s->a);
    BEGIN(s->a, Global);
    STATUS(s->a);
    STATUS(s->b);
    END(s->a);
    STATUS(s->a);
});

CASE(info_of_origin, {
    INFO(s->a);
    BEGIN(s->a, Global);
    INFO(s->a);
    LAUNCH(s->a);
    INFO(s->a);
    LAUNCH(s->a);
    INFO(s->a);
    END(s->a);
    INFO(s->a);
});

CASE(info_of_fork, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    ORDER(s->a, s->b);
    INFO(s->b);
    ANSWERED("same id on a and b", capture_id(s, s->a) == capture_id(s, s->b));
    END(s->a);
});

CASE(info_after_join, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    LAUNCH(s->a);
    ORDER(s->b, s->a);
    INFO(s->a);
    INFO(s->b);
    END(s->a);
});

CASE(ids_differ, {
    BEGIN(s->a, ThreadLocal);
    unsigned long long first = capture_id(s, s->a);
    END(s->a);
    BEGIN(s->a, ThreadLocal);
    ANSWERED("another id than the capture before", capture_id(s, s->a) != first);
    END(s->a);
});

CASE(info_of_invalidated, {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    BEGIN(s->a, ThreadLocal);
    unsigned long long active = capture_id(s, s->a);
    ASK(cudaMalloc(&s->memory, 64));
    ASK(cudaStreamGetCaptureInfo(s->a, &status, &id, NULL, NULL, NULL, NULL));
    ANSWERED("status is invalidated", status == cudaStreamCaptureStatusInvalidated);
    ANSWERED("id is still told", id == active);
    END(s->a);
});

CASE(graph_asked_during_capture, {
    enum cudaStreamCaptureStatus status;
    cudaGraph_t graph = NULL;
    size_t count = 0;
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    STEP(cudaStreamGetCaptureInfo(s->a, &status, NULL, &graph, NULL, NULL, NULL));
    ASK(cudaGraphGetNodes(graph, NULL, &count));
    VALUE("count", count);
    END(s->a);
    ANSWERED("the end gives the same graph", graph == s->graph);
});

static const struct case_rule rules[] = {
    {&status_is_harmless, "cudaStreamIsCapturing may be asked at any time, in any mode."},
    {&info_of_origin,
     "cudaStreamGetCaptureInfo tells the graph so far, and what the stream's next node will depend on."},
    {&info_of_fork, "A forked stream tells the same capture, with dependencies of its own."},
    {&info_after_join, "A join adds to the dependencies of the joining stream, and leaves the other's."},
    {&ids_differ, "Every capture has an id of its own, also on the same stream."},
    {&info_of_invalidated, "Of an invalidated capture, only the status can be had, not even the id."},
    {&graph_asked_during_capture, "The graph may be looked at while it grows; it is the one that the end gives."},
    {&priority_of_stream, "The priority of a capturing stream may be asked."},
    {&id_of_stream, "Its id may not: cudaStreamGetId fails and invalidates the capture, in any mode."},
    {&device_of_stream, "Nor its device."},
    {&flags_of_stream, "Nor its flags."},
    {&id_of_fork, "The same holds for forked streams."},
    {&id_from_other_thread, "And for every thread."},
    {&query_self, "Asking whether a capturing stream is done fails and invalidates the capture, even relaxed."},
    {&synchronize_self, "So does waiting for it, relaxed."},
    {&synchronize_local, "Or thread-local."},
    {&query_fork, "Or for a forked stream."},
    {&device_wait_hits_all, "Waiting for the device invalidates every capture on it."},
    {&device_wait_beside_invalidated,
     "While an invalidated capture has not been ended, the device cannot be waited for."},
};

const struct case_topic topic_question = CASE_TOPIC(
    "Asking a capturing stream",
    "A stream that captures has no work, so it cannot be waited for. Some harmless-looking questions end a capture, "
    "too.",
    rules);
