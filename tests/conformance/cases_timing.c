/* Conformance: events outside captures, and the times between them. */
#include "case_gate.h"
#include "cases.h"

/* ---- making and asking ------------------------------------------------------------------------------------------- */

CASE(event_without_place, {
    ASK(cudaEventCreate(NULL));
    ASK(cudaEventCreateWithFlags(NULL, cudaEventDisableTiming));
});

CASE(event_bad_flags, {
    ASK(cudaEventCreateWithFlags(&s->event, 8));
    ASK(cudaEventCreateWithFlags(&s->event, 256));
    ASK(cudaEventCreateWithFlags(&s->event, cudaEventInterprocess));
    ANSWERED("an event was written", s->event != NULL);
});

CASE(event_good_flags, {
    ASK(cudaEventCreateWithFlags(&s->event, cudaEventBlockingSync | cudaEventDisableTiming));
    ASK(cudaEventRecord(s->event, s->a));
    ASK(cudaEventSynchronize(s->event));
    ASK(cudaEventQuery(s->event));
});

CASE(event_null, {
    ASK(cudaEventRecord(NULL, s->a));
    ASK(cudaEventQuery(NULL));
    ASK(cudaEventSynchronize(NULL));
    ASK(cudaStreamWaitEvent(s->a, NULL, 0));
    ASK(cudaEventDestroy(NULL));
});

CASE(event_never_recorded, {
    ASK(cudaEventQuery(s->e));
    ASK(cudaEventSynchronize(s->e));
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    ASK(cudaStreamWaitEvent(NULL, s->e, 0));
    ASK(cudaStreamSynchronize(s->a));
});

CASE(record_bad_flags, {
    ASK(cudaEventRecordWithFlags(s->e, s->a, cudaEventRecordDefault));
    ASK(cudaEventRecordWithFlags(s->e, s->a, 2));
    ASK(cudaEventRecordWithFlags(s->e, s->a, 3));
    ASK(cudaEventRecordWithFlags(NULL, s->a, 0));
});

CASE(wait_bad_flags, {
    RECORD(s->e, s->a);
    ASK(cudaStreamWaitEvent(s->b, s->e, cudaEventWaitDefault));
    ASK(cudaStreamWaitEvent(s->b, s->e, 2));
    ASK(cudaStreamWaitEvent(s->b, s->e, 3));
});

/* ---- pending ----------------------------------------------------------------------------------------------------- */

CASE(event_pending, {
    HOLD(s->a);
    RECORD(s->e, s->a);
    ASK(cudaEventQuery(s->e));
    ASK(cudaPeekAtLastError());
    ASK(cudaStreamQuery(s->a));
    ASK(cudaStreamQuery(s->b));
    OPEN_GATE();
    ASK(cudaEventSynchronize(s->e));
    RETURNED();
    ASK(cudaEventQuery(s->e));
});

CASE(event_waited_for_elsewhere, {
    HOLD(s->a);
    RECORD(s->e, s->a);
    ASK(cudaStreamWaitEvent(s->b, s->e, 0));
    ASK(cudaStreamQuery(s->b));
    LAUNCH(s->c);
    ASK(cudaStreamSynchronize(s->c));
    OPEN_GATE();
    ASK(cudaStreamSynchronize(s->b));
    RETURNED();
});

CASE(wait_is_for_the_earlier_record, {
    HOLD(s->a);
    RECORD(s->e, s->a);
    WAIT(s->b, s->e);
    RECORD(s->e, s->c);
    ASK(cudaEventSynchronize(s->e));
    ASK(cudaEventQuery(s->e));
    ASK(cudaStreamQuery(s->b));
    RETURNED();
    OPEN_GATE();
});

CASE(record_moves_to_held_stream, {
    RECORD(s->e, s->c);
    STEP(cudaEventSynchronize(s->e));
    HOLD(s->a);
    RECORD(s->e, s->a);
    ASK(cudaEventQuery(s->e));
    OPEN_GATE();
});

CASE(record_again_while_pending, {
    HOLD(s->a);
    RECORD(s->e, s->a);
    LAUNCH(s->a);
    RECORD(s->e, s->a);
    ASK(cudaEventQuery(s->e));
    OPEN_GATE();
    ASK(cudaEventSynchronize(s->e));
    VALUE("x", case_read_x(s));
});

CASE(event_destroyed_while_pending, {
    STEP(cudaEventCreateWithFlags(&s->event, cudaEventDisableTiming));
    HOLD(s->a);
    RECORD(s->event, s->a);
    WAIT(s->b, s->event);
    LAUNCH(s->b);
    ASK(cudaEventDestroy(s->event));
    s->event = NULL;
    RETURNED();
    ASK(cudaStreamQuery(s->b));
    OPEN_GATE();
    ASK(cudaStreamSynchronize(s->b));
    RETURNED();
    VALUE("x", case_read_x(s));
});

CASE(wait_on_own_stream, {
    HOLD(s->a);
    RECORD(s->e, s->a);
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    OPEN_GATE();
    ASK(cudaStreamSynchronize(s->a));
});

/* A loop without an end, were the answer never another. */
static cudaError_t query_until_done(cudaEvent_t event, cudaStream_t stream)
{
    cudaError_t error = cudaErrorNotReady;
    for (long i = 0; error == cudaErrorNotReady && i < 100000000; i++)
        error = event ? cudaEventQuery(event) : cudaStreamQuery(stream);
    cudaGetLastError(); /* whether it has ever been cudaErrorNotReady is chance */
    return error;
}

CASE(query_event_until_done, {
    LAUNCH(s->a);
    TAKE_LONG(s->a);
    RECORD(s->e, s->a);
    ASK_AS("while (cudaEventQuery(e) == cudaErrorNotReady)", query_until_done(s->e, NULL));
    RETURNED();
});

CASE(query_stream_until_done, {
    LAUNCH(s->a);
    TAKE_LONG(s->a);
    LAUNCH(s->a);
    ASK_AS("while (cudaStreamQuery(a) == cudaErrorNotReady)", query_until_done(NULL, s->a));
    RETURNED();
});

CASE(query_null_until_done, {
    LAUNCH(s->blocking);
    TAKE_LONG(s->blocking);
    ASK_AS("while (cudaStreamQuery(NULL) == cudaErrorNotReady)", query_until_done(NULL, NULL));
    RETURNED();
});

/* ---- times ------------------------------------------------------------------------------------------------------- */

static cudaEvent_t start, end;

static cudaError_t make_times(void)
{
    cudaError_t error = cudaEventCreate(&start);
    return error ? error : cudaEventCreate(&end);
}

static cudaError_t drop_times(void)
{
    cudaError_t error = cudaEventDestroy(start);
    return error ? error : cudaEventDestroy(end);
}
#define MAKE_TIMES() STEP_AS("/* start and end were made with cudaEventCreate */", make_times())
#define DROP_TIMES() STEP_AS("/* start and end are destroyed */", drop_times())

CASE(elapsed_never_recorded, {
    float ms = -1;
    MAKE_TIMES();
    ASK(cudaEventElapsedTime(&ms, start, end));
    RECORD(start, s->a);
    ASK(cudaEventElapsedTime(&ms, start, end));
    ASK(cudaEventElapsedTime(&ms, end, start));
    ANSWERED("a time was written", ms != -1);
    DROP_TIMES();
});

CASE(elapsed_pending, {
    float ms = -1;
    MAKE_TIMES();
    RECORD(start, s->a);
    HOLD(s->a);
    RECORD(end, s->a);
    ASK(cudaEventElapsedTime(&ms, start, end));
    ASK(cudaEventElapsedTime(&ms, end, start));
    ASK(cudaEventElapsedTime(&ms, end, end));
    ANSWERED("a time was written", ms != -1);
    OPEN_GATE();
    ASK(cudaEventSynchronize(end));
    ASK(cudaEventElapsedTime(&ms, start, end));
    DROP_TIMES();
});

CASE(elapsed_without_timing, {
    float ms = -1;
    MAKE_TIMES();
    RECORD(start, s->a);
    RECORD(s->e, s->a);
    STEP(cudaStreamSynchronize(s->a));
    ASK(cudaEventElapsedTime(&ms, start, s->e));
    ASK(cudaEventElapsedTime(&ms, s->e, start));
    ASK(cudaEventElapsedTime(&ms, s->e, s->e));
    DROP_TIMES();
});

CASE(elapsed_null, {
    float ms = -1;
    MAKE_TIMES();
    RECORD(start, s->a);
    RECORD(end, s->a);
    STEP(cudaStreamSynchronize(s->a));
    ASK(cudaEventElapsedTime(NULL, start, end));
    ASK(cudaEventElapsedTime(&ms, NULL, end));
    ASK(cudaEventElapsedTime(&ms, start, NULL));
    DROP_TIMES();
});

CASE(elapsed_same, {
    float ms = -1;
    MAKE_TIMES();
    RECORD(start, s->a);
    STEP(cudaEventSynchronize(start));
    ASK(cudaEventElapsedTime(&ms, start, start));
    ANSWERED("the time is 0", ms == 0);
    DROP_TIMES();
});

CASE(elapsed_of_long_function, {
    float ms = -1;
    MAKE_TIMES();
    RECORD(start, s->a);
    TAKE_LONG(s->a);
    RECORD(end, s->a);
    ASK(cudaEventSynchronize(end));
    ASK(cudaEventElapsedTime(&ms, start, end));
    ANSWERED("it is as long as the function takes", ms >= GATE_LONG_MS / 2 && ms < 60000);
    ASK(cudaEventElapsedTime(&ms, end, start));
    ANSWERED("the other way round it is below 0", ms < 0);
    DROP_TIMES();
});

CASE(elapsed_across_streams, {
    float ms = -1;
    MAKE_TIMES();
    RECORD(start, s->a);
    TAKE_LONG(s->a);
    ORDER(s->a, s->blocking);
    RECORD(end, s->blocking);
    STEP(cudaEventSynchronize(end));
    ASK(cudaEventElapsedTime(&ms, start, end));
    ANSWERED("it is as long as the function takes", ms >= GATE_LONG_MS / 2 && ms < 60000);
    DROP_TIMES();
});

CASE(elapsed_of_last_record, {
    float ms = -1;
    MAKE_TIMES();
    RECORD(start, s->a);
    RECORD(end, s->a);
    TAKE_LONG(s->a);
    RECORD(end, s->a);
    STEP(cudaEventSynchronize(end));
    ASK(cudaEventElapsedTime(&ms, start, end));
    ANSWERED("it is as long as the function takes", ms >= GATE_LONG_MS / 2 && ms < 60000);
    DROP_TIMES();
});

CASE(elapsed_while_recorded_again, {
    float ms = -1;
    MAKE_TIMES();
    RECORD(start, s->a);
    RECORD(end, s->a);
    STEP(cudaStreamSynchronize(s->a));
    HOLD(s->a);
    RECORD(start, s->a);
    ASK(cudaEventElapsedTime(&ms, start, end));
    OPEN_GATE();
    STEP(cudaStreamSynchronize(s->a));
    ASK(cudaEventElapsedTime(&ms, start, end));
    ANSWERED("the time is below 0", ms < 0);
    DROP_TIMES();
});

static const struct case_rule record_rules[] = {
    {&event_without_place, "An event needs a place for its handle."},
    {&event_bad_flags, "A flag that does not exist is refused, and so is `cudaEventInterprocess` for an event with "
                       "timing."},
    {&event_good_flags, "Flags can be combined."},
    {&event_null, "NULL is no event."},
    {&event_never_recorded, "An event that was never recorded is complete: nobody waits for it."},
    {&record_bad_flags, "A flag of a record that does not exist is refused."},
    {&wait_bad_flags, "So is a flag of a wait."},
    {&event_pending, "An event is not ready while its stream has earlier work to do. That is an answer, which is "
                     "not kept as an error."},
    {&event_waited_for_elsewhere, "A stream that waits for an event is not done before; others go on."},
    {&wait_is_for_the_earlier_record, "A wait is for the last record before it; a later record changes the event, "
                                      "but not the wait."},
    {&record_moves_to_held_stream, "An event that was complete is pending again once it is recorded again."},
    {&record_again_while_pending, "It stands for its last record."},
    {&event_destroyed_while_pending, "An event may be destroyed at once; who waits for it waits on."},
    {&wait_on_own_stream, "A stream may wait for itself."},
    {&query_event_until_done, "A loop that asks an event ends."},
    {&query_stream_until_done, "So does one that asks a stream."},
    {&query_null_until_done, "And one that asks the legacy stream, while a blocking stream works."},
};

const struct case_topic topic_record =
    CASE_TOPIC("Events", "Events outside captures. `e` and `f` were made with `cudaEventDisableTiming`.", record_rules);

static const struct case_rule elapsed_rules[] = {
    {&elapsed_never_recorded, "There is no time to or from an event that was never recorded."},
    {&elapsed_pending, "There is none yet while one of the events is pending."},
    {&elapsed_without_timing, "There is none if one of them was made without timing."},
    {&elapsed_null, "NULL is neither a place nor an event."},
    {&elapsed_same, "From an event to itself the time is 0."},
    {&elapsed_of_long_function, "The time includes host functions; from a later event to an earlier one it is "
                                "negative."},
    {&elapsed_across_streams, "The events may lie on different streams."},
    {&elapsed_of_last_record, "The time is between the last records."},
    {&elapsed_while_recorded_again, "While an event is recorded again, its earlier record has no time any more."},
};

const struct case_topic topic_elapsed =
    CASE_TOPIC("Times between events", "What `cudaEventElapsedTime` gives.", elapsed_rules);
