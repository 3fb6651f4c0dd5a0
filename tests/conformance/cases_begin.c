/* Conformance: beginning and ending a capture. */
#include "cases.h"

CASE(capture_one_kernel, {
    BEGIN(s->a, ThreadLocal);
    STATUS(s->a);
    ASK_LAUNCH(s->a);
    END(s->a);
    STATUS(s->a);
    VALUE("x after a launch of the graph", case_run_graph(s));
});

CASE(capture_runs_nothing, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    LAUNCH(s->a);
    END(s->a);
    VALUE("x", case_read_x(s));
    VALUE("x after a launch of the graph", case_run_graph(s));
});

CASE(capture_nothing, {
    BEGIN(s->a, ThreadLocal);
    END(s->a);
    VALUE("x after a launch of the graph", case_run_graph(s));
});

CASE(begin_with_queued_work, {
    LAUNCH(s->a);
    ASK_BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    END(s->a);
    VALUE("x", case_read_x(s));
});

CASE(begin_while_capturing, {
    BEGIN(s->a, ThreadLocal);
    ASK_BEGIN(s->a, ThreadLocal);
    STATUS(s->a);
    LAUNCH(s->a);
    END(s->a);
});

CASE(begin_forked, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    ASK_BEGIN(s->b, ThreadLocal);
    STATUS(s->b);
    LAUNCH(s->a);
    END(s->a);
});

CASE(begin_invalidated, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMalloc(&s->memory, 64));
    ASK_BEGIN(s->a, ThreadLocal);
    STATUS(s->a);
    END(s->a);
    ASK_BEGIN(s->a, ThreadLocal);
    END(s->a);
});

CASE(begin_blocking, {
    ASK_BEGIN(s->blocking, ThreadLocal);
    LAUNCH(s->blocking);
    END(s->blocking);
});

CASE(begin_again, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    END(s->a);
    ASK_BEGIN(s->a, Global);
    LAUNCH(s->a);
    LAUNCH(s->a);
    END(s->a);
});

CASE(end_without_begin, {
    END(s->a);
    STATUS(s->a);
});

CASE(end_twice, {
    BEGIN(s->a, ThreadLocal);
    END(s->a);
    END(s->a);
});

CASE(end_on_fork, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    END(s->b);
    STATUS(s->a);
    STATUS(s->b);
    END(s->a);
    STATUS(s->b);
});

CASE(end_invalidated, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMalloc(&s->memory, 64));
    STATUS(s->a);
    END(s->a);
    STATUS(s->a);
    ASK_LAUNCH(s->a);
    VALUE("x", case_read_x(s));
});

CASE(destroy_origin, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    ASK(cudaStreamDestroy(s->a));
    s->a = NULL;
    STATUS(s->b);
    ASK_LAUNCH(s->b);
});

CASE(destroy_origin_alone, {
    STEP(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    BEGIN(s->stream, ThreadLocal);
    LAUNCH(s->stream);
    ASK(cudaStreamDestroy(s->stream));
    s->stream = NULL;
    ASK(cudaMalloc(&s->memory, 64));
    VALUE("x", case_read_x(s));
});

CASE(destroy_fork, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    ASK(cudaStreamDestroy(s->b));
    s->b = NULL;
    STATUS(s->a);
    END(s->a);
});

CASE(destroy_fork_joined, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->c);
    LAUNCH(s->c);
    ORDER(s->c, s->a);
    ASK(cudaStreamDestroy(s->c));
    s->c = NULL;
    END(s->a);
});

CASE(destroy_fork_idle, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->c);
    ASK(cudaStreamDestroy(s->c));
    s->c = NULL;
    LAUNCH(s->a);
    END(s->a);
});

CASE(order_after_capture, {
    LAUNCH(s->a);
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    END(s->a);
    LAUNCH(s->a);
    ASK(cudaStreamSynchronize(s->a));
    VALUE("x", case_read_x(s));
});

CASE(graph_outlives_stream, {
    STEP(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    BEGIN(s->stream, ThreadLocal);
    LAUNCH(s->stream);
    END(s->stream);
    ASK(cudaStreamDestroy(s->stream));
    s->stream = NULL;
    VALUE("x after a launch of the graph", case_run_graph(s));
});

static const struct case_rule rules[] = {
    {&capture_one_kernel, "A captured launch becomes a node; the end gives the graph, and the stream is free again."},
    {&capture_runs_nothing, "Nothing that is captured runs before its graph is launched."},
    {&capture_nothing, "A capture may be empty: its graph has no node, and can be launched."},
    {&begin_with_queued_work,
     "A stream may have work queued when its capture begins: that work runs, and is in no graph."},
    {&begin_blocking, "A blocking stream (cudaStreamDefault) can capture, too."},
    {&begin_again, "After an end the stream can begin again at once, in any mode."},
    {&order_after_capture,
     "Work issued after the end follows the work issued before the begin; the graph is not part of that order."},
    {&graph_outlives_stream, "The graph does not need the stream that it was captured on."},
    {&begin_while_capturing, "Begin on a stream that captures is refused; the running capture is unharmed."},
    {&begin_forked, "Begin on a stream that has been forked into a capture is refused; that capture is unharmed."},
    {&begin_invalidated,
     "Begin on a stream whose capture is invalidated is refused until that capture has been ended."},
    {&end_without_begin, "End on a stream that does not capture is refused."},
    {&end_twice, "A capture can be ended once."},
    {&end_on_fork, "End belongs on the origin stream: on a forked one it fails and invalidates the capture, which must "
                   "still be ended on its origin."},
    {&end_invalidated, "The end of an invalidated capture fails, gives no graph, and makes the stream usable again."},
    {&destroy_origin, "Destroying the origin stream drops the capture; streams that were forked from it leave it."},
    {&destroy_origin_alone, "With its origin destroyed, a capture forbids nothing any more."},
    {&destroy_fork, "Destroying a forked stream with unjoined work succeeds; the end then finds the work unjoined."},
    {&destroy_fork_joined, "A forked stream may be destroyed in the capture once its work is joined."},
    {&destroy_fork_idle, "A forked stream that did no work may be destroyed unjoined."},
};

const struct case_topic topic_begin = CASE_TOPIC(
    "Beginning and ending",
    "A capture belongs to the stream that it began on, its *origin*. It is ended there, exactly once, whatever "
    "happened to it in between.",
    rules);
