/* Conformance: other streams enter a capture and are joined to its origin. */
#include "cases.h"

CASE(fork_and_join, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    ORDER(s->a, s->b);
    STATUS(s->b);
    LAUNCH(s->b);
    ORDER(s->b, s->a);
    LAUNCH(s->a);
    END(s->a);
    STATUS(s->b);
    VALUE("x after a launch of the graph", case_run_graph(s));
});

CASE(fork_empty_capture, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    STATUS(s->b);
    LAUNCH(s->b);
    ORDER(s->b, s->a);
    LAUNCH(s->a);
    END(s->a);
    STATUS(s->b);
    VALUE("x after a launch of the graph", case_run_graph(s));
});

CASE(fork_blocking_stream, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->blocking);
    ASK_LAUNCH(s->blocking);
    ORDER(s->blocking, s->a);
    END(s->a);
});

CASE(fork_with_queued_work, {
    LAUNCH(s->b);
    BEGIN(s->a, ThreadLocal);
    RECORD(s->e, s->a);
    ASK(cudaStreamWaitEvent(s->b, s->e, 0));
    STATUS(s->b);
    LAUNCH(s->b);
    ORDER(s->b, s->a);
    END(s->a);
    VALUE("x", case_read_x(s));
});

CASE(events_add_no_node, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    ORDER(s->a, s->b);
    ORDER(s->b, s->a);
    INFO(s->a);
    END(s->a);
});

CASE(diamond, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    RECORD(s->e, s->a);
    WAIT(s->b, s->e);
    WAIT(s->c, s->e);
    LAUNCH(s->b);
    LAUNCH(s->c);
    ORDER(s->b, s->a);
    RECORD(s->f, s->c);
    WAIT(s->a, s->f);
    INFO(s->a);
    LAUNCH(s->a);
    END(s->a);
});

CASE(unjoined_work, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    LAUNCH(s->a);
    END(s->a);
    STATUS(s->a);
    STATUS(s->b);
});

CASE(used_after_join, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    ORDER(s->b, s->a);
    LAUNCH(s->b);
    END(s->a);
    STATUS(s->b);
});

CASE(later_than_joined_event, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    RECORD(s->f, s->b);
    LAUNCH(s->b);
    WAIT(s->a, s->f);
    END(s->a);
});

CASE(joined_twice, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    ORDER(s->b, s->a);
    LAUNCH(s->b);
    ORDER(s->b, s->a);
    LAUNCH(s->a);
    END(s->a);
});

CASE(idle_fork, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    ORDER(s->a, s->b);
    STATUS(s->b);
    END(s->a);
    STATUS(s->b);
});

CASE(fork_of_fork, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    ORDER(s->a, s->b);
    ORDER(s->b, s->c);
    LAUNCH(s->c);
    ORDER(s->c, s->b);
    ORDER(s->b, s->a);
    END(s->a);
    VALUE("x after a launch of the graph", case_run_graph(s));
});

CASE(fork_of_fork_joined_directly, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    ORDER(s->b, s->c);
    LAUNCH(s->c);
    ORDER(s->c, s->a);
    END(s->a);
});

CASE(fork_of_fork_not_joined_on, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    ORDER(s->b, s->c);
    LAUNCH(s->c);
    ORDER(s->c, s->b);
    LAUNCH(s->a);
    END(s->a);
});

CASE(join_between_forks, {
    BEGIN(s->a, ThreadLocal);
    RECORD(s->e, s->a);
    WAIT(s->b, s->e);
    WAIT(s->c, s->e);
    LAUNCH(s->b);
    ORDER(s->b, s->c);
    INFO(s->c);
    LAUNCH(s->c);
    ORDER(s->c, s->a);
    END(s->a);
});

CASE(work_after_leaving, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    ORDER(s->b, s->a);
    END(s->a);
    BEGIN(s->a, ThreadLocal);
    ASK_LAUNCH(s->b);
    END(s->a);
    VALUE("x", case_read_x(s));
});

CASE(joined_fork_still_captures, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    ORDER(s->b, s->a);
    STATUS(s->b);
    ASK_LAUNCH(s->b);
    ORDER(s->b, s->a);
    END(s->a);
    VALUE("x", case_read_x(s));
});

static const struct case_rule rules[] = {
    {&fork_and_join, "A stream enters a capture by waiting on an event recorded in it, and is joined when the origin "
                     "waits on an event recorded on it."},
    {&fork_empty_capture, "A capture that has no node yet can be forked, too."},
    {&fork_blocking_stream, "Blocking and non-blocking streams can take part in one capture."},
    {&fork_with_queued_work,
     "A stream with plain work still queued can be pulled in; that work stays outside the graph."},
    {&events_add_no_node, "Recording an event and waiting on it add edges, never nodes."},
    {&diamond, "One event forks as many streams as wait on it; joining two makes the next node depend on both."},
    {&idle_fork, "A fork that did no work need not be joined."},
    {&joined_fork_still_captures, "A joined stream is still part of the capture, until that ends."},
    {&joined_twice, "Work after a join must be joined again."},
    {&work_after_leaving, "At the end every stream leaves the capture: in the next one of the same origin it is a "
                          "plain stream until it is forked again."},
    {&unjoined_work, "Work on a forked stream that is not joined to the origin makes the end fail, without a graph; "
                     "all streams leave the capture."},
    {&used_after_join, "So does work on a fork after its join."},
    {&later_than_joined_event, "An event joins what came before its record, not what came after."},
    {&fork_of_fork, "A fork of a fork may be joined to the fork, and that to the origin."},
    {&fork_of_fork_joined_directly,
     "A fork of a fork may be joined to the origin directly: what counts is that the origin reaches every node."},
    {&fork_of_fork_not_joined_on, "Joining to another fork is not enough if that is not joined, too."},
    {&join_between_forks, "Forks may wait on each other."},
};

const struct case_topic topic_fork =
    CASE_TOPIC("Forking and joining",
               "Streams take part in a capture by events: `cudaEventRecord` on a capturing stream, "
               "`cudaStreamWaitEvent` on the other. "
               "At the end, every captured node must be reachable from the origin stream's last nodes.",
               rules);
