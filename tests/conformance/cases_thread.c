/* Conformance: one capture, several threads. */
#include "cases.h"

CALL(begin_a_global, cudaStreamBeginCapture(s->a, cudaStreamCaptureModeGlobal));
CALL(begin_a_local, cudaStreamBeginCapture(s->a, cudaStreamCaptureModeThreadLocal));
CALL(begin_a_relaxed, cudaStreamBeginCapture(s->a, cudaStreamCaptureModeRelaxed));
CALL(end_a, cudaStreamEndCapture(s->a, &s->other));
CALL_AS(launch_a, LAUNCHED(s->a), kernel(s, s->a));
CALL_AS(launch_b, LAUNCHED(s->b), kernel(s, s->b));
CALL(record_a, cudaEventRecord(s->e, s->a));
CALL(wait_b, cudaStreamWaitEvent(s->b, s->e, 0));
CALL(synchronize_a, cudaStreamSynchronize(s->a));
CALL(query_a, cudaStreamQuery(s->a));
CALL(destroy_a, cudaStreamDestroy(s->a));
CALL(begin_b_local, cudaStreamBeginCapture(s->b, cudaStreamCaptureModeThreadLocal));
CALL(end_b, cudaStreamEndCapture(s->b, &s->other));

CASE(work_from_other_thread, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    case_ask_thread(s, &launch_a);
    INFO(s->a);
    END(s->a);
});

CASE(fork_from_other_thread, {
    BEGIN(s->a, ThreadLocal);
    case_ask_thread(s, &record_a);
    case_ask_thread(s, &wait_b);
    case_ask_thread(s, &launch_b);
    STATUS(s->b);
    ORDER(s->b, s->a);
    END(s->a);
});

CASE(end_in_other_thread_global, {
    BEGIN(s->a, Global);
    case_ask_thread(s, &end_a);
    STATUS(s->a);
    END(s->a);
});

CASE(end_in_other_thread_local, {
    BEGIN(s->a, ThreadLocal);
    case_ask_thread(s, &end_a);
    STATUS(s->a);
    END(s->a);
});

CASE(end_in_other_thread_relaxed, {
    BEGIN(s->a, Relaxed);
    LAUNCH(s->a);
    case_ask_thread(s, &end_a);
    STATUS(s->a);
});

CASE(end_in_other_thread_frees_forks, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    case_ask_thread(s, &end_a);
    STATUS(s->b);
    ASK_LAUNCH(s->b);
});

CASE(begun_in_other_thread, {
    case_step_thread(s, &begin_a_global);
    ASK_LAUNCH(s->a);
    END(s->a);
    STATUS(s->a);
});

CASE(begun_relaxed_in_other_thread, {
    case_step_thread(s, &begin_a_relaxed);
    ASK_LAUNCH(s->a);
    END(s->a);
});

CASE(invalidated_ended_elsewhere, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMalloc(&s->memory, 64));
    case_ask_thread(s, &end_a);
    STATUS(s->a);
});

CASE(unsafe_calls_of_beginner, {
    case_step_thread(s, &begin_a_local);
    LAUNCH(s->a);
    ASK(cudaMalloc(&s->memory, 64));
    STATUS(s->a);
    case_ask_thread(s, &end_a);
});

CASE(synchronize_from_other_thread, {
    BEGIN(s->a, Relaxed);
    case_ask_thread(s, &synchronize_a);
    STATUS(s->a);
    END(s->a);
});

CASE(query_from_other_thread, {
    BEGIN(s->a, ThreadLocal);
    case_ask_thread(s, &query_a);
    STATUS(s->a);
    END(s->a);
});

CASE(destroy_from_other_thread, {
    BEGIN(s->a, ThreadLocal);
    case_ask_thread(s, &destroy_a);
    s->a = NULL;
    ASK(cudaMalloc(&s->memory, 64));
});

CASE(captures_of_two_threads, {
    BEGIN(s->a, ThreadLocal);
    case_ask_thread(s, &begin_b_local);
    LAUNCH(s->a);
    case_ask_thread(s, &launch_b);
    END(s->a);
    case_ask_thread(s, &end_b);
});

static const struct case_rule rules[] = {
    {&work_from_other_thread, "Any thread may issue work into a capture: capturing is a property of the stream."},
    {&fork_from_other_thread, "Any thread may fork it, too."},
    {&captures_of_two_threads, "Two threads may capture at the same time, each on its own stream."},
    {&unsafe_calls_of_beginner,
     "A thread-local capture protects itself from the thread that began it, not from the one that issues its work."},
    {&end_in_other_thread_global,
     "A global capture must be ended by the thread that began it; an end elsewhere fails, and the capture is over."},
    {&end_in_other_thread_local, "So must a thread-local one."},
    {&end_in_other_thread_relaxed, "A relaxed capture may be ended by any thread."},
    {&end_in_other_thread_frees_forks,
     "With an end in the wrong thread, forked streams leave the capture as well; work "
     "that was not joined is the first thing it finds."},
    {&begun_in_other_thread, "The rule holds for the program's main thread, too."},
    {&begun_relaxed_in_other_thread, "And so does the exception."},
    {&invalidated_ended_elsewhere, "An invalidated capture says just that, when the wrong thread ends it."},
    {&synchronize_from_other_thread, "No thread may wait for a capturing stream, in any mode."},
    {&query_from_other_thread, "Nor ask whether it is done."},
    {&destroy_from_other_thread, "Any thread may destroy the origin, which drops the capture."},
};

const struct case_topic topic_share = CASE_TOPIC("Several threads",
                                                 "Threads may share a capture. Only its end is bound to the thread "
                                                 "that began it, and unsafe calls are judged by thread.",
                                                 rules);
