/* Conformance: the capture mode of a thread, and how it meets the modes of captures. */
#include "cases.h"

#include <stdio.h>

static const char *mode_name(enum cudaStreamCaptureMode mode)
{
    static const char *const names[] = {"global", "thread-local", "relaxed"};
    return (unsigned)mode < 3 ? names[mode] : "a mode that does not exist";
}

/* Sets the thread's mode and notes what it was. */
static void exchange(struct scene *s, enum cudaStreamCaptureMode mode)
{
    char text[CASE_CALL_MAX];
    snprintf(text, sizeof text, "cudaThreadExchangeStreamCaptureMode(%s), before", mode_name(mode));
    cudaError_t error = cudaThreadExchangeStreamCaptureMode(&mode);
    case_note(s, text, "%s", error ? cudaGetErrorName(error) : mode_name(mode));
}
#define EXCHANGE(mode) exchange(s, cudaStreamCaptureMode##mode)

static cudaError_t set_mode(enum cudaStreamCaptureMode mode)
{
    return cudaThreadExchangeStreamCaptureMode(&mode);
}
CALL_AS(set_relaxed, "cudaThreadExchangeStreamCaptureMode(relaxed)", set_mode(cudaStreamCaptureModeRelaxed));
CALL_AS(set_local, "cudaThreadExchangeStreamCaptureMode(thread-local)", set_mode(cudaStreamCaptureModeThreadLocal));
CALL(allocate, cudaMalloc(&s->memory, 64));
CALL(begin_global_b, cudaStreamBeginCapture(s->b, cudaStreamCaptureModeGlobal));
CALL(begin_local_b, cudaStreamBeginCapture(s->b, cudaStreamCaptureModeThreadLocal));
CALL(begin_relaxed_b, cudaStreamBeginCapture(s->b, cudaStreamCaptureModeRelaxed));
CALL(end_b, cudaStreamEndCapture(s->b, &s->other));

CASE(mode_of_thread, {
    EXCHANGE(ThreadLocal);
    EXCHANGE(Relaxed);
    EXCHANGE(Global);
    EXCHANGE(Global);
});

CASE(begin_leaves_mode, {
    BEGIN(s->a, Relaxed);
    EXCHANGE(Global);
    END(s->a);
    EXCHANGE(Global);
});

CASE(relaxed_thread_local_capture, {
    BEGIN(s->a, ThreadLocal);
    EXCHANGE(Relaxed);
    ASK(cudaMalloc(&s->memory, 64));
    ASK(cudaStreamSynchronize(s->b));
    EXCHANGE(Global);
    LAUNCH(s->a);
    END(s->a);
});

CASE(relaxed_thread_global_capture, {
    BEGIN(s->a, Global);
    EXCHANGE(Relaxed);
    ASK(cudaMalloc(&s->memory, 64));
    EXCHANGE(Global);
    END(s->a);
});

CASE(local_thread_own_local_capture, {
    BEGIN(s->a, ThreadLocal);
    EXCHANGE(ThreadLocal);
    ASK(cudaMalloc(&s->memory, 64));
    STATUS(s->a);
    END(s->a);
});

CASE(local_thread_own_global_capture, {
    BEGIN(s->a, Global);
    EXCHANGE(ThreadLocal);
    ASK(cudaMalloc(&s->memory, 64));
    STATUS(s->a);
    END(s->a);
});

CASE(relaxed_other_thread, {
    BEGIN(s->a, Global);
    case_step_thread(s, &set_relaxed);
    case_ask_thread(s, &allocate);
    STATUS(s->a);
    END(s->a);
});

CASE(local_other_thread, {
    BEGIN(s->a, Global);
    case_step_thread(s, &set_local);
    case_ask_thread(s, &allocate);
    STATUS(s->a);
    END(s->a);
});

CASE(relaxed_before_begin, {
    EXCHANGE(Relaxed);
    BEGIN(s->a, Global);
    ASK(cudaMalloc(&s->memory, 64));
    STATUS(s->a);
    END(s->a);
});

CASE(two_captures_of_thread, {
    BEGIN(s->a, ThreadLocal);
    BEGIN(s->b, Relaxed);
    ASK(cudaMalloc(&s->memory, 64));
    STATUS(s->a);
    STATUS(s->b);
    END(s->b);
    END(s->a);
});

CASE(two_local_captures, {
    BEGIN(s->a, ThreadLocal);
    BEGIN(s->b, ThreadLocal);
    ASK(cudaMalloc(&s->memory, 64));
    STATUS(s->a);
    STATUS(s->b);
    END(s->b);
    END(s->a);
});

CASE(own_relaxed_other_global, {
    case_step_thread(s, &begin_global_b);
    BEGIN(s->a, Relaxed);
    ASK(cudaMalloc(&s->memory, 64));
    STATUS(s->a);
    STATUS(s->b);
    END(s->a);
});

CASE(own_local_other_global, {
    case_step_thread(s, &begin_global_b);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMalloc(&s->memory, 64));
    STATUS(s->a);
    STATUS(s->b);
    END(s->a);
});

CASE(own_local_other_local, {
    case_step_thread(s, &begin_local_b);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMalloc(&s->memory, 64));
    STATUS(s->a);
    STATUS(s->b);
    END(s->a);
    case_ask_thread(s, &end_b);
});

CASE(own_none_other_relaxed, {
    case_step_thread(s, &begin_relaxed_b);
    ASK(cudaMalloc(&s->memory, 64));
    STATUS(s->b);
    case_ask_thread(s, &end_b);
});

CASE(forked_only_in_thread, {
    BEGIN(s->a, Global);
    EXCHANGE(ThreadLocal);
    ORDER(s->a, s->b);
    EXCHANGE(Global);
    ASK(cudaMalloc(&s->memory, 64));
    STATUS(s->b);
    END(s->a);
});

static const struct case_rule rules[] = {
    {&mode_of_thread, "A thread starts in global mode, and exchanging gives the mode that it had."},
    {&begin_leaves_mode, "Beginning a capture does not change the thread's mode."},
    {&relaxed_thread_local_capture,
     "A thread that makes itself relaxed may make unsafe calls although it captures thread-locally."},
    {&relaxed_thread_global_capture, "Or globally."},
    {&relaxed_before_begin, "The order makes no difference: relaxed first, then begin."},
    {&local_thread_own_local_capture, "A thread-local thread is still refused by its own thread-local capture."},
    {&local_thread_own_global_capture, "And by its own global capture."},
    {&forked_only_in_thread, "Forking under another mode changes nothing: what counts is the mode at the unsafe call."},
    {&relaxed_other_thread, "A relaxed thread does not disturb another thread's global capture."},
    {&local_other_thread, "Nor does a thread-local one."},
    {&two_captures_of_thread, "Of two captures of one thread, an unsafe call invalidates the one that is not relaxed."},
    {&two_local_captures, "If both are thread-local, it invalidates both."},
    {&own_relaxed_other_global, "A thread's own relaxed capture does not excuse it from another thread's global one."},
    {&own_local_other_global,
     "An unsafe call of a thread that captures invalidates its own capture and the global one of another thread."},
    {&own_local_other_local,
     "Two thread-local captures in two threads do not meet: an unsafe call concerns the caller's."},
    {&own_none_other_relaxed, "A relaxed capture forbids nothing to anybody."},
};

const struct case_topic topic_mode = CASE_TOPIC("Capture modes",
                                                "The mode of a capture says whom it protects itself from. A call that "
                                                "is *unsafe* while a capture runs (cudaMalloc stands "
                                                "for all of them here) is refused if the calling thread has a capture "
                                                "that is not relaxed, or if any thread has a global "
                                                "one; a thread can opt out with `cudaThreadExchangeStreamCaptureMode`. "
                                                "A refused call invalidates the captures in its way.",
                                                rules);
