/* Conformance: who waits for the default streams, and for whom they wait, outside captures. */
#include "case_gate.h"
#include "cases.h"

/* ---- questions of the legacy stream ------------------------------------------------------------------------------ */

CASE(query_legacy_idle, {
    ASK(cudaStreamQuery(NULL));
    ASK(cudaStreamQuery(cudaStreamLegacy));
    ASK(cudaStreamQuery(cudaStreamPerThread));
    ASK(cudaStreamSynchronize(NULL));
    ASK(cudaStreamSynchronize(cudaStreamLegacy));
    ASK(cudaStreamSynchronize(cudaStreamPerThread));
});

CASE(query_legacy_beside_blocking, {
    HOLD(s->blocking);
    ASK(cudaStreamQuery(NULL));
    ASK(cudaStreamQuery(cudaStreamLegacy));
    ASK(cudaStreamQuery(cudaStreamPerThread));
    ASK(cudaStreamQuery(s->b));
    RETURNED();
    OPEN_GATE();
    ASK(cudaStreamSynchronize(s->blocking));
    ASK(cudaStreamQuery(NULL));
});

CASE(query_legacy_beside_non_blocking, {
    HOLD(s->a);
    ASK(cudaStreamQuery(NULL));
    ASK(cudaStreamQuery(s->blocking));
    ASK(cudaStreamQuery(s->a));
    RETURNED();
    OPEN_GATE();
});

CASE(query_legacy_beside_per_thread, {
    HOLD(cudaStreamPerThread);
    ASK(cudaStreamQuery(NULL));
    ASK(cudaStreamQuery(s->blocking));
    ASK(cudaStreamQuery(cudaStreamPerThread));
    OPEN_GATE();
});

CASE(query_blocking_beside_legacy, {
    HOLD(NULL);
    ASK(cudaStreamQuery(NULL));
    ASK(cudaStreamQuery(cudaStreamLegacy));
    ASK(cudaStreamQuery(s->blocking));
    ASK(cudaStreamQuery(cudaStreamPerThread));
    ASK(cudaStreamQuery(s->a));
    RETURNED();
    OPEN_GATE();
});

/* ---- waiting for the legacy stream ------------------------------------------------------------------------------- */

CASE(synchronize_null_waits_for_blocking, {
    TAKE_LONG(s->blocking);
    ASK(cudaStreamSynchronize(NULL));
    RETURNED();
});

CASE(synchronize_legacy_waits_for_blocking, {
    TAKE_LONG(s->blocking);
    ASK(cudaStreamSynchronize(cudaStreamLegacy));
    RETURNED();
});

CASE(synchronize_null_waits_for_per_thread, {
    TAKE_LONG(cudaStreamPerThread);
    ASK(cudaStreamSynchronize(NULL));
    RETURNED();
});

CASE(synchronize_null_beside_non_blocking, {
    HOLD(s->a);
    ASK(cudaStreamSynchronize(NULL));
    RETURNED();
    OPEN_GATE();
});

CASE(synchronize_blocking_beside_legacy, {
    HOLD(NULL);
    ASK(cudaStreamSynchronize(s->blocking));
    RETURNED();
    OPEN_GATE();
});

CASE(synchronize_blocking_beside_blocking, {
    STEP(cudaStreamCreate(&s->stream));
    HOLD(s->blocking);
    LAUNCH(s->stream);
    ASK(cudaStreamSynchronize(s->stream));
    RETURNED();
    OPEN_GATE();
});

CASE(synchronize_device_waits_for_all, {
    TAKE_LONG(s->a);
    ASK(cudaDeviceSynchronize());
    RETURNED();
});

CALL(wait_for_null, cudaStreamSynchronize(NULL));

CASE(synchronize_null_beside_capture_elsewhere, {
    BEGIN(s->a, ThreadLocal);
    case_ask_thread(s, &wait_for_null);
    STATUS(s->a);
    END(s->a);
});

/* ---- work -------------------------------------------------------------------------------------------------------- */

CASE(legacy_work_waits_for_blocking, {
    HOLD(s->blocking);
    LAUNCH(NULL);
    ASK(cudaStreamQuery(NULL));
    STEP(cudaEventRecord(s->e, NULL));
    ASK(cudaEventQuery(s->e));
    OPEN_GATE();
    ASK(cudaEventSynchronize(s->e));
    RETURNED();
});

CASE(legacy_work_beside_non_blocking, {
    HOLD(s->a);
    LAUNCH(NULL);
    ASK(cudaStreamSynchronize(NULL));
    RETURNED();
    OPEN_GATE();
    VALUE("x", case_read_x(s));
});

CASE(blocking_work_waits_for_legacy, {
    HOLD(NULL);
    LAUNCH(s->blocking);
    ASK(cudaStreamQuery(s->blocking));
    LAUNCH(s->a);
    ASK(cudaStreamSynchronize(s->a));
    RETURNED();
    OPEN_GATE();
    ASK(cudaStreamSynchronize(s->blocking));
    RETURNED();
    VALUE("x", case_read_x(s));
});

CASE(per_thread_work_waits_for_legacy, {
    HOLD(cudaStreamLegacy);
    LAUNCH(cudaStreamPerThread);
    ASK(cudaStreamQuery(cudaStreamPerThread));
    OPEN_GATE();
    ASK(cudaStreamSynchronize(cudaStreamPerThread));
    RETURNED();
});

CASE(blocking_work_after_legacy_work_after_blocking, {
    STEP(cudaStreamCreate(&s->stream));
    HOLD(s->blocking);
    LAUNCH(NULL);
    LAUNCH(s->stream);
    ASK(cudaStreamQuery(s->stream));
    OPEN_GATE();
    ASK(cudaStreamSynchronize(s->stream));
    RETURNED();
    VALUE("x", case_read_x(s));
});

CASE(new_stream_after_legacy_work, {
    HOLD(NULL);
    STEP(cudaStreamCreate(&s->stream));
    LAUNCH(s->stream);
    ASK(cudaStreamQuery(s->stream));
    RETURNED();
    OPEN_GATE();
});

CASE(event_of_blocking_beside_legacy, {
    HOLD(NULL);
    RECORD(s->e, s->blocking);
    RECORD(s->f, s->a);
    ASK(cudaEventQuery(s->e));
    ASK(cudaEventSynchronize(s->f));
    RETURNED();
    OPEN_GATE();
});

CASE(event_of_legacy_beside_blocking, {
    HOLD(s->blocking);
    ASK(cudaEventRecord(s->e, NULL));
    ASK(cudaEventQuery(s->e));
    OPEN_GATE();
    ASK(cudaEventSynchronize(s->e));
    RETURNED();
});

CASE(legacy_waits_for_event, {
    HOLD(s->a);
    RECORD(s->e, s->a);
    ASK(cudaStreamWaitEvent(NULL, s->e, 0));
    ASK(cudaStreamQuery(NULL));
    LAUNCH(s->blocking);
    ASK(cudaStreamQuery(s->blocking));
    OPEN_GATE();
});

CASE(copy_waits_for_blocking, {
    LAUNCH(s->blocking);
    TAKE_LONG(s->blocking);
    ASK(cudaMemcpy(s->y, s->x, sizeof *s->y, cudaMemcpyDeviceToHost));
    RETURNED();
    VALUE("y", *s->y);
});

CASE(copy_beside_non_blocking, {
    HOLD(s->a);
    ASK(cudaMemcpy(s->y, s->x, sizeof *s->y, cudaMemcpyDeviceToHost));
    RETURNED();
    OPEN_GATE();
});

CASE(fill_does_not_wait, {
    HOLD(s->blocking);
    ASK(cudaMemset(s->x, 1, sizeof *s->x));
    RETURNED();
    ASK(cudaStreamQuery(NULL));
    OPEN_GATE();
    VALUE("x", case_read_x(s));
});

CASE(copy_on_device_does_not_wait, {
    STEP(cudaMalloc(&s->memory, sizeof *s->x));
    STEP(cudaMemset(s->memory, 1, sizeof *s->x));
    HOLD(s->blocking);
    ASK(cudaMemcpy(s->x, s->memory, sizeof *s->x, cudaMemcpyDeviceToDevice));
    RETURNED();
    ASK(cudaStreamQuery(NULL));
    OPEN_GATE();
    VALUE("x", case_read_x(s));
});

static const struct case_rule question_rules[] = {
    {&query_legacy_idle, "An idle device has idle default streams."},
    {&query_legacy_beside_blocking,
     "The legacy stream is not done while a blocking stream has work, though it has none itself."},
    {&query_legacy_beside_non_blocking, "Non-blocking streams do not count."},
    {&query_legacy_beside_per_thread, "The per-thread default stream counts."},
    {&query_blocking_beside_legacy,
     "A blocking stream without work is done, also while the legacy stream is not: it waits only once it has work."},
    {&synchronize_null_waits_for_blocking, "Waiting for the legacy stream waits for the blocking streams."},
    {&synchronize_legacy_waits_for_blocking, "By either of its names."},
    {&synchronize_null_waits_for_per_thread, "And for the per-thread default stream."},
    {&synchronize_null_beside_non_blocking, "Not for non-blocking streams."},
    {&synchronize_blocking_beside_legacy, "A blocking stream without work is not waited for."},
    {&synchronize_blocking_beside_blocking, "Blocking streams do not wait for each other."},
    {&synchronize_device_waits_for_all, "Waiting for the device waits for all streams."},
    {&synchronize_null_beside_capture_elsewhere,
     "Waiting for the legacy stream is allowed while another thread captures on a non-blocking one."},
};

const struct case_topic topic_default_wait = CASE_TOPIC(
    "Waiting for default streams",
    "A stream is held back here by a host function that waits until the program opens a gate: it is the stream's work, "
    "and not done before. `take_long` is a host function that ends by itself, after a while.",
    question_rules);

static const struct case_rule work_rules[] = {
    {&legacy_work_waits_for_blocking, "Work on the legacy stream waits for the work of blocking streams before it."},
    {&legacy_work_beside_non_blocking, "It does not wait for non-blocking streams."},
    {&blocking_work_waits_for_legacy, "Work on a blocking stream waits for the legacy stream's work before it."},
    {&per_thread_work_waits_for_legacy, "So does work on the per-thread default stream."},
    {&blocking_work_after_legacy_work_after_blocking,
     "Through the legacy stream, one blocking stream waits for another."},
    {&new_stream_after_legacy_work, "A blocking stream made after the legacy stream's work waits for it, too."},
    {&event_of_blocking_beside_legacy, "An event counts as work: on a blocking stream it waits for the legacy stream."},
    {&event_of_legacy_beside_blocking, "And on the legacy stream it waits for the blocking streams."},
    {&legacy_waits_for_event, "What the legacy stream waits for, the blocking streams wait for after it."},
    {&copy_waits_for_blocking, "A copy to the host is work on the legacy stream, and the program waits for it."},
    {&copy_beside_non_blocking, "It does not wait for non-blocking streams."},
    {&fill_does_not_wait, "A fill of device memory is work on the legacy stream, and the program does not wait."},
    {&copy_on_device_does_not_wait, "Nor does it for a copy within the device."},
};

const struct case_topic topic_default_work = CASE_TOPIC(
    "Work on default streams", "The order of work on the legacy stream and on blocking streams.", work_rules);
