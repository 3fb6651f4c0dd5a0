/* Conformance: events inside, across and outside captures. */
#include "cases.h"

/* ---- ordinary events ------------------------------------------------------------------------------------------- */

CASE(wait_never_recorded, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    STATUS(s->a);
    LAUNCH(s->a);
    END(s->a);
});

CASE(event_stands_for_last_record, {
    BEGIN(s->a, ThreadLocal);
    RECORD(s->e, s->a);
    LAUNCH(s->a);
    RECORD(s->e, s->a);
    WAIT(s->b, s->e);
    INFO(s->b);
    LAUNCH(s->b);
    ORDER(s->b, s->a);
    END(s->a);
});

CASE(wait_on_own_event, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    RECORD(s->e, s->a);
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    INFO(s->a);
    LAUNCH(s->a);
    END(s->a);
});

CASE(wait_on_own_earlier_event, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    RECORD(s->e, s->a);
    LAUNCH(s->a);
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    INFO(s->a);
    LAUNCH(s->a);
    END(s->a);
});

CASE(event_destroyed_after_record, {
    STEP(cudaEventCreateWithFlags(&s->event, cudaEventDisableTiming));
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    RECORD(s->event, s->a);
    WAIT(s->b, s->event);
    ASK(cudaEventDestroy(s->event));
    s->event = NULL;
    LAUNCH(s->b);
    ORDER(s->b, s->a);
    END(s->a);
});

CASE(timed_event, {
    STEP(cudaEventCreate(&s->event));
    BEGIN(s->a, ThreadLocal);
    ASK(cudaEventRecord(s->event, s->a));
    ASK(cudaStreamWaitEvent(s->b, s->event, 0));
    END(s->a);
});

CASE(elapsed_of_captured_events, {
    float milliseconds = 0;
    STEP(cudaEventCreate(&s->event));
    BEGIN(s->a, ThreadLocal);
    RECORD(s->event, s->a);
    ASK(cudaEventElapsedTime(&milliseconds, s->event, s->event));
    STATUS(s->a);
});

CASE(elapsed_of_ended_event, {
    float milliseconds = 0;
    STEP(cudaEventCreate(&s->event));
    BEGIN(s->a, ThreadLocal);
    RECORD(s->event, s->a);
    END(s->a);
    ASK(cudaEventElapsedTime(&milliseconds, s->event, s->event));
});

CASE(query_captured_event, {
    BEGIN(s->a, Relaxed);
    RECORD(s->e, s->a);
    ASK(cudaEventQuery(s->e));
    STATUS(s->a);
    END(s->a);
});

CASE(synchronize_captured_event, {
    BEGIN(s->a, ThreadLocal);
    RECORD(s->e, s->a);
    ASK(cudaEventSynchronize(s->e));
    STATUS(s->a);
    END(s->a);
});

CALL(query_event, cudaEventQuery(s->e));

CASE(query_captured_event_elsewhere, {
    BEGIN(s->a, ThreadLocal);
    RECORD(s->e, s->a);
    case_ask_thread(s, &query_event);
    STATUS(s->a);
    END(s->a);
});

CASE(query_event_of_empty_capture, {
    BEGIN(s->a, Relaxed);
    RECORD(s->e, s->a);
    RECORD(s->e, s->b);
    ASK(cudaEventQuery(s->f));
    ASK(cudaEventSynchronize(s->e));
    STATUS(s->a);
    END(s->a);
});

CASE(isolation, {
    LAUNCH(s->b);
    RECORD(s->e, s->b);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    STATUS(s->a);
    END(s->a);
});

CASE(isolation_completed, {
    RECORD(s->e, s->b);
    STEP(cudaEventSynchronize(s->e));
    BEGIN(s->a, Relaxed);
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    STATUS(s->a);
    END(s->a);
});

CASE(isolation_own_earlier, {
    RECORD(s->e, s->a);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    STATUS(s->a);
    END(s->a);
});

CASE(isolation_recorded_during, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaEventRecord(s->e, s->b));
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    STATUS(s->a);
    END(s->a);
});

CASE(isolation_on_fork, {
    RECORD(s->f, s->c);
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    ASK(cudaStreamWaitEvent(s->b, s->f, 0));
    STATUS(s->a);
    STATUS(s->b);
    END(s->a);
});

CASE(event_recorded_again_outside, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    RECORD(s->e, s->a);
    ASK(cudaEventRecord(s->e, s->b));
    ASK(cudaStreamWaitEvent(s->c, s->e, 0));
    STATUS(s->c);
    END(s->a);
});

CASE(event_recorded_again_inside, {
    RECORD(s->e, s->b);
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    ASK(cudaEventRecord(s->e, s->a));
    ASK(cudaStreamWaitEvent(s->b, s->e, 0));
    INFO(s->b);
    END(s->a);
});

CASE(ended_event_waited_in_capture, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    RECORD(s->e, s->a);
    END(s->a);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    STATUS(s->a);
    END(s->a);
});

CASE(ended_event_waited_outside, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    RECORD(s->e, s->a);
    END(s->a);
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    ASK(cudaStreamWaitEvent(s->b, s->e, 0));
    STATUS(s->b);
});

CASE(ended_event_asked, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    RECORD(s->e, s->a);
    END(s->a);
    ASK(cudaEventQuery(s->e));
    ASK(cudaEventSynchronize(s->e));
});

CASE(ended_event_of_failed_capture, {
    BEGIN(s->a, ThreadLocal);
    RECORD(s->e, s->a);
    ASK(cudaMalloc(&s->memory, 64));
    END(s->a);
    ASK(cudaStreamWaitEvent(s->b, s->e, 0));
    ASK(cudaEventQuery(s->e));
});

CASE(ended_event_recorded_again, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    RECORD(s->e, s->a);
    END(s->a);
    ASK(cudaEventRecord(s->e, s->a));
    ASK(cudaEventSynchronize(s->e));
    ASK(cudaEventQuery(s->e));
    ASK(cudaStreamWaitEvent(s->b, s->e, 0));
});

CASE(wait_on_invalidated_capture, {
    BEGIN(s->a, ThreadLocal);
    RECORD(s->e, s->a);
    ASK(cudaMalloc(&s->memory, 64));
    ASK(cudaStreamWaitEvent(s->b, s->e, 0));
    STATUS(s->b);
    END(s->a);
});

CASE(query_event_of_invalidated_capture, {
    BEGIN(s->a, Relaxed);
    RECORD(s->e, s->a);
    ASK(cudaStreamQuery(s->a));
    ASK(cudaEventQuery(s->e));
    ASK(cudaEventSynchronize(s->e));
    END(s->a);
});

static const struct case_rule rules[] = {
    {&event_stands_for_last_record, "An event stands for what its stream had captured at the last record."},
    {&wait_never_recorded, "Waiting on an event that was never recorded is allowed, and does nothing."},
    {&wait_on_own_event, "A stream may wait on its own event: that adds nothing."},
    {&wait_on_own_earlier_event, "A wait on an older event of the same stream adds a dependency, although the later "
                                 "node implies it: the next node gets both edges."},
    {&timed_event, "Events with timing can fork and join, like those without."},
    {&event_destroyed_after_record, "An event may be destroyed as soon as it has been waited on."},
    {&event_recorded_again_inside,
     "Recording an event in a capture makes a captured event of one that was recorded outside before."},
    {&event_recorded_again_outside, "Recording it outside makes a plain event of it again, which forks nothing."},
    {&query_captured_event,
     "Asking a captured event whether it is complete fails and invalidates the capture, in any mode."},
    {&synchronize_captured_event, "So does waiting for it in the host."},
    {&query_captured_event_elsewhere, "It makes no difference which thread asks."},
    {&query_event_of_empty_capture,
     "In relaxed mode, events that were not recorded in the capture may be asked and waited for."},
    {&elapsed_of_captured_events, "A captured event has no time; asking for it does no harm."},
    {&isolation,
     "A capturing stream cannot wait on an event recorded outside the capture: the wait fails and invalidates it."},
    {&isolation_completed, "That the event has long been complete makes no difference, nor does the mode."},
    {&isolation_own_earlier, "Nor that it was recorded on the same stream, before the begin."},
    {&isolation_recorded_during,
     "Recording on a stream outside is allowed while another captures; waiting on that event in the capture is not."},
    {&isolation_on_fork, "The rule holds on forked streams, too, and the whole capture is invalidated."},
    {&ended_event_waited_in_capture, "An event last recorded in a capture that has ended is no event of the next: "
                                     "waiting on it there fails and invalidates the new capture."},
    {&ended_event_waited_outside, "Outside a capture, waiting on such an event fails, too."},
    {&ended_event_asked, "It can be neither asked nor waited for."},
    {&elapsed_of_ended_event, "Nor has it a time."},
    {&ended_event_of_failed_capture, "The same holds if the capture failed."},
    {&ended_event_recorded_again, "Recording it again makes it good."},
    {&wait_on_invalidated_capture, "An event of an invalidated capture pulls no stream in."},
    {&query_event_of_invalidated_capture,
     "It can be neither asked nor waited for, as if the capture had ended already."},
};

const struct case_topic topic_event = CASE_TOPIC(
    "Events",
    "Inside a capture an event is no moment in time but a set of nodes: those that its stream's next node would have "
    "depended on when it was recorded.",
    rules);

/* ---- external events ------------------------------------------------------------------------------------------- */

CASE(external_wait, {
    RECORD(s->e, s->b);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaStreamWaitEvent(s->a, s->e, cudaEventWaitExternal));
    END(s->a);
    NODE_TYPE();
    VALUE("x after a launch of the graph", case_run_graph(s));
});

CASE(external_wait_never_recorded, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaStreamWaitEvent(s->a, s->e, cudaEventWaitExternal));
    END(s->a);
    NODE_TYPE();
});

CASE(external_wait_outside, {
    RECORD(s->e, s->b);
    ASK(cudaStreamWaitEvent(s->a, s->e, cudaEventWaitExternal));
});

CASE(external_record, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaEventRecordWithFlags(s->e, s->a, cudaEventRecordExternal));
    END(s->a);
    NODE_TYPE();
    VALUE("x after a launch of the graph", case_run_graph(s));
    ASK(cudaEventQuery(s->e));
});

CASE(external_record_outside, { ASK(cudaEventRecordWithFlags(s->e, s->a, cudaEventRecordExternal)); });

CASE(external_record_is_no_fork, {
    BEGIN(s->a, ThreadLocal);
    STEP(cudaEventRecordWithFlags(s->e, s->a, cudaEventRecordExternal));
    ASK(cudaStreamWaitEvent(s->b, s->e, 0));
    STATUS(s->b);
    END(s->a);
});

CASE(external_record_waited_inside, {
    RECORD(s->e, s->b);
    BEGIN(s->a, ThreadLocal);
    STEP(cudaEventRecordWithFlags(s->e, s->a, cudaEventRecordExternal));
    ASK(cudaStreamWaitEvent(s->a, s->e, cudaEventWaitExternal));
    END(s->a);
});

CASE(external_wait_on_captured_event, {
    BEGIN(s->a, ThreadLocal);
    RECORD(s->e, s->a);
    ASK(cudaStreamWaitEvent(s->a, s->e, cudaEventWaitExternal));
    STATUS(s->a);
    END(s->a);
});

CASE(external_wait_across_captures, {
    BEGIN(s->a, ThreadLocal);
    RECORD(s->e, s->a);
    BEGIN(s->b, ThreadLocal);
    ASK(cudaStreamWaitEvent(s->b, s->e, cudaEventWaitExternal));
    STATUS(s->a);
    STATUS(s->b);
    END(s->b);
    END(s->a);
});

static const struct case_rule external_rules[] = {
    {&external_wait, "With cudaEventWaitExternal, a capturing stream may wait on an event from outside: that becomes a "
                     "node, which waits at each launch."},
    {&external_wait_never_recorded, "The event need not have been recorded yet."},
    {&external_record, "With cudaEventRecordExternal, the record becomes a node: the event is recorded for real at "
                       "each launch, and can then be asked."},
    {&external_record_is_no_fork,
     "An external record does not make a captured event: who waits on it joins no capture."},
    {&external_record_waited_inside, "Record and wait nodes for one event may lie in one graph."},
    {&external_wait_on_captured_event,
     "Waiting externally on an event of the same capture is allowed, and becomes a wait node."},
    {&external_wait_across_captures,
     "So is waiting externally on an event of another live capture: it merges nothing, and harms neither."},
    {&external_wait_outside, "The flag for waiting is refused outside a capture."},
    {&external_record_outside, "So is the flag for recording."},
};

const struct case_topic topic_external = CASE_TOPIC(
    "External events", "Two flags make nodes of record and wait, so that a graph can be ordered with work outside it.",
    external_rules);
