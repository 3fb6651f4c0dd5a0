/* Conformance: the legacy default stream and the per-thread default stream. */
#include "cases.h"

CALL_AS(launch_legacy, LAUNCHED(NULL), kernel(s, NULL));
CALL_AS(launch_per_thread, "kernel<<<1, 1, 0, cudaStreamPerThread>>>(x)", kernel(s, cudaStreamPerThread));
CALL(query_legacy, cudaStreamQuery(NULL));

/* ---- legacy -------------------------------------------------------------------------------------------------------
 */

CASE(begin_legacy, {
    ASK_BEGIN(NULL, ThreadLocal);
    ASK_BEGIN(cudaStreamLegacy, Relaxed);
    STATUS(NULL);
});

CASE(legacy_launch_beside_non_blocking, {
    BEGIN(s->a, ThreadLocal);
    ASK_LAUNCH(NULL);
    END(s->a);
    VALUE("x", case_read_x(s));
});

CASE(legacy_launch_beside_blocking, {
    BEGIN(s->blocking, ThreadLocal);
    ASK_LAUNCH(NULL);
    STATUS(s->blocking);
    END(s->blocking);
    VALUE("x", case_read_x(s));
});

CASE(legacy_launch_beside_blocking_relaxed, {
    BEGIN(s->blocking, Relaxed);
    ASK_LAUNCH(NULL);
    STATUS(s->blocking);
    END(s->blocking);
});

CASE(legacy_launch_in_other_thread, {
    BEGIN(s->blocking, ThreadLocal);
    case_ask_thread(s, &launch_legacy);
    STATUS(s->blocking);
    END(s->blocking);
});

CASE(legacy_launch_beside_blocking_fork, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->blocking);
    ASK_LAUNCH(NULL);
    STATUS(s->a);
    END(s->a);
});

CASE(legacy_launch_after_blocking, {
    BEGIN(s->blocking, ThreadLocal);
    LAUNCH(s->blocking);
    END(s->blocking);
    ASK_LAUNCH(NULL);
    VALUE("x", case_read_x(s));
});

CASE(legacy_launch_beside_invalidated, {
    BEGIN(s->blocking, ThreadLocal);
    ASK(cudaMalloc(&s->memory, 64));
    ASK_LAUNCH(NULL);
    END(s->blocking);
});

CASE(legacy_hits_all_captures, {
    STEP(cudaStreamCreate(&s->stream));
    BEGIN(s->blocking, ThreadLocal);
    BEGIN(s->stream, ThreadLocal);
    BEGIN(s->a, ThreadLocal);
    ASK_LAUNCH(NULL);
    STATUS(s->blocking);
    STATUS(s->stream);
    STATUS(s->a);
});

CASE(legacy_copy_beside_blocking, {
    BEGIN(s->blocking, ThreadLocal);
    ASK(cudaMemcpy(s->y, s->x, sizeof *s->y, cudaMemcpyDeviceToHost));
    STATUS(s->blocking);
    END(s->blocking);
});

CASE(legacy_copy_beside_blocking_relaxed, {
    BEGIN(s->blocking, Relaxed);
    ASK(cudaMemcpy(s->y, s->x, sizeof *s->y, cudaMemcpyDeviceToHost));
    STATUS(s->blocking);
    END(s->blocking);
});

CASE(legacy_fill_beside_blocking, {
    BEGIN(s->blocking, ThreadLocal);
    ASK(cudaMemset(s->x, 0, sizeof *s->x));
    STATUS(s->blocking);
    END(s->blocking);
});

CASE(malloc_beside_blocking_relaxed, {
    BEGIN(s->blocking, Relaxed);
    ASK(cudaMalloc(&s->memory, 64));
    ASK(cudaFree(s->memory));
    s->memory = NULL;
    STATUS(s->blocking);
    END(s->blocking);
});

CASE(legacy_status_beside_blocking, {
    BEGIN(s->blocking, ThreadLocal);
    STATUS(NULL);
    INFO(NULL);
    STATUS(s->blocking);
    LAUNCH(s->blocking);
    END(s->blocking);
});

CASE(legacy_status_beside_non_blocking, {
    BEGIN(s->a, ThreadLocal);
    STATUS(NULL);
    INFO(NULL);
    END(s->a);
});

CASE(legacy_status_beside_invalidated, {
    BEGIN(s->blocking, ThreadLocal);
    ASK(cudaMalloc(&s->memory, 64));
    STATUS(NULL);
    END(s->blocking);
});

CASE(legacy_synchronize_beside_blocking, {
    BEGIN(s->blocking, Relaxed);
    ASK(cudaStreamSynchronize(NULL));
    STATUS(s->blocking);
    END(s->blocking);
});

CASE(legacy_synchronize_beside_non_blocking, {
    BEGIN(s->a, Relaxed);
    ASK(cudaStreamSynchronize(NULL));
    STATUS(s->a);
    END(s->a);
});

CASE(legacy_synchronize_beside_local, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaStreamSynchronize(NULL));
    STATUS(s->a);
    END(s->a);
});

CASE(legacy_query_in_other_thread, {
    BEGIN(s->blocking, ThreadLocal);
    case_ask_thread(s, &query_legacy);
    STATUS(s->blocking);
    END(s->blocking);
});

CASE(legacy_record_beside_blocking, {
    BEGIN(s->blocking, ThreadLocal);
    ASK(cudaEventRecord(s->e, NULL));
    STATUS(s->blocking);
    END(s->blocking);
});

CASE(legacy_waits_on_captured_event, {
    BEGIN(s->a, ThreadLocal);
    RECORD(s->e, s->a);
    ASK(cudaStreamWaitEvent(NULL, s->e, 0));
    STATUS(s->a);
    END(s->a);
});

CASE(capture_waits_on_legacy_event, {
    RECORD(s->e, NULL);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    STATUS(s->a);
    END(s->a);
});

/* ---- per thread ------------------------------------------------------------------------------------------------- */

CASE(begin_per_thread, {
    ASK_BEGIN(cudaStreamPerThread, ThreadLocal);
    LAUNCH(cudaStreamPerThread);
    END(cudaStreamPerThread);
});

CASE(fork_per_thread, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, cudaStreamPerThread);
    STATUS(cudaStreamPerThread);
    LAUNCH(cudaStreamPerThread);
    ORDER(cudaStreamPerThread, s->a);
    END(s->a);
});

CASE(per_thread_blocks_legacy, {
    BEGIN(cudaStreamPerThread, ThreadLocal);
    ASK_LAUNCH(NULL);
    STATUS(cudaStreamPerThread);
    END(cudaStreamPerThread);
});

CASE(per_thread_of_other_thread, {
    BEGIN(cudaStreamPerThread, ThreadLocal);
    case_ask_thread(s, &launch_per_thread);
    INFO(cudaStreamPerThread);
    END(cudaStreamPerThread);
    VALUE("x", case_read_x(s));
});

CASE(per_thread_beside_legacy_status, {
    STATUS(cudaStreamPerThread);
    BEGIN(s->blocking, ThreadLocal);
    STATUS(cudaStreamPerThread);
    ASK_LAUNCH(cudaStreamPerThread);
    END(s->blocking);
});

static const struct case_rule rules[] = {
    {&begin_legacy, "The legacy default stream cannot capture, in any mode."},
    {&legacy_launch_beside_non_blocking, "Work on the legacy stream while a non-blocking stream captures simply runs."},
    {&legacy_launch_beside_blocking, "Work on the legacy stream would have to wait for a blocking stream that "
                                     "captures: it fails and invalidates that capture."},
    {&legacy_launch_beside_blocking_relaxed, "Relaxed mode makes no difference."},
    {&legacy_launch_in_other_thread, "Nor does the thread."},
    {&legacy_launch_beside_blocking_fork, "A blocking stream that was forked into a capture counts, too."},
    {&legacy_launch_beside_invalidated, "A capture that is invalidated already still stands in the way."},
    {&legacy_launch_after_blocking, "After the end, the legacy stream works at once."},
    {&legacy_hits_all_captures,
     "One launch on the legacy stream invalidates the captures of all blocking streams, and no other."},
    {&legacy_copy_beside_blocking, "A synchronous copy is work on the legacy stream."},
    {&legacy_copy_beside_blocking_relaxed, "In relaxed mode as well."},
    {&legacy_fill_beside_blocking, "So is cudaMemset."},
    {&malloc_beside_blocking_relaxed, "Allocating and freeing memory is not."},
    {&legacy_record_beside_blocking, "Recording an event on the legacy stream is work, too."},
    {&legacy_status_beside_blocking,
     "Asking the legacy stream whether it captures fails while a blocking stream does, but invalidates nothing."},
    {&legacy_status_beside_non_blocking, "Beside a non-blocking stream it gives the plain answer."},
    {&legacy_status_beside_invalidated,
     "A blocking stream whose capture is invalidated counts as capturing here, too."},
    {&legacy_synchronize_beside_blocking, "Waiting for the legacy stream while a blocking stream captures fails and "
                                          "invalidates that capture, even relaxed."},
    {&legacy_synchronize_beside_non_blocking, "While a non-blocking stream captures, relaxed, it is allowed."},
    {&legacy_synchronize_beside_local,
     "While that captures thread-locally, waiting for any stream is an unsafe call, for this one, too."},
    {&legacy_query_in_other_thread,
     "Asking the legacy stream whether it is done fails as waiting does, from any thread."},
    {&legacy_waits_on_captured_event, "The legacy stream cannot be forked into a capture."},
    {&capture_waits_on_legacy_event, "An event of the legacy stream is an event from outside."},
};

static const struct case_rule per_thread_rules[] = {
    {&begin_per_thread, "The per-thread default stream can capture."},
    {&fork_per_thread, "It can be forked into a capture."},
    {&per_thread_blocks_legacy, "It is a blocking stream: work on the legacy stream invalidates its capture."},
    {&per_thread_of_other_thread,
     "One handle, but a stream for each thread: only that of the capturing thread captures."},
    {&per_thread_beside_legacy_status, "It works as any other stream while a blocking one captures."},
};

const struct case_topic topic_legacy = CASE_TOPIC(
    "The legacy default stream",
    "The legacy stream (stream 0, NULL, `cudaStreamLegacy`) waits for all blocking streams, and they for it. Streams "
    "made with `cudaStreamNonBlocking` stay out of that. Here `a` is such a stream, and `blocking` was made with "
    "`cudaStreamCreate`.",
    rules);

const struct case_topic topic_per_thread =
    CASE_TOPIC("The per-thread default stream", "`cudaStreamPerThread` names a stream of the calling thread's own.",
               per_thread_rules);
