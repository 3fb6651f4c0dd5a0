/* Conformance: what invalidates a capture and what does not, and life after that; captures that meet. */
#include "cases.h"

#include "conformance_kernels.h"

/* ---- what invalidates -------------------------------------------------------------------------------------------- */

CASE(bad_launch, {
    void *arguments[2] = {&s->x, s->y};
    BEGIN(s->a, ThreadLocal);
    ASK_AS("kernel<<<1, 4096, 0, a>>>(x)",
           cudaLaunchKernel(ck_add_function(), (dim3){1, 1, 1}, (dim3){4096, 1, 1}, arguments, 0, s->a));
    STATUS(s->a);
    ASK_LAUNCH(s->a);
    END(s->a);
});

CASE(no_kernel, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaLaunchKernel(NULL, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, s->a));
    STATUS(s->a);
    END(s->a);
});

CASE(bad_copy, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyAsync(s->x, s->y, sizeof *s->x, (enum cudaMemcpyKind)9, s->a));
    STATUS(s->a);
    LAUNCH(s->a);
    END(s->a);
});

CASE(bad_fill, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemsetAsync(NULL, 0, 64, s->a));
    STATUS(s->a);
    END(s->a);
});

CASE(bad_fill_instantiated, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemsetAsync(NULL, 0, 64, s->a));
    END(s->a);
    ASK(cudaGraphInstantiate(&s->exec, s->graph, 0));
});

CASE(bad_host_function, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaLaunchHostFunc(s->a, NULL, NULL));
    STATUS(s->a);
    END(s->a);
});

CASE(bad_event, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaEventRecord(NULL, s->a));
    STATUS(s->a);
    END(s->a);
});

CASE(bad_event_waited, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaStreamWaitEvent(s->a, NULL, 0));
    STATUS(s->a);
    END(s->a);
});

CASE(bad_event_flags, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaEventRecordWithFlags(s->e, s->a, 0x40));
    STATUS(s->a);
    ASK(cudaStreamWaitEvent(s->a, s->e, 0x40));
    STATUS(s->a);
    END(s->a);
});

CASE(bad_malloc_async, {
    void *memory = NULL;
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMallocAsync(&memory, (size_t)1 << 60, s->a));
    STATUS(s->a);
    END(s->a);
});

CASE(bad_free_async, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaFreeAsync(s->y, s->a));
    STATUS(s->a);
    END(s->a);
});

CASE(bad_malloc, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMalloc(NULL, 64));
    STATUS(s->a);
    END(s->a);
});

CASE(error_elsewhere, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemsetAsync(NULL, 0, 64, s->b));
    STATUS(s->a);
    END(s->a);
});

CASE(pending_error, {
    ASK(cudaMalloc(NULL, 64));
    ASK_BEGIN(s->a, ThreadLocal);
    ASK_LAUNCH(s->a);
    END(s->a);
});

static const struct case_rule rules[] = {
    {&bad_launch, "A launch with a configuration that cannot be invalidates the capture."},
    {&no_kernel, "A launch of no kernel at all does no harm."},
    {&bad_copy, "Nor does a copy in a direction that does not exist."},
    {&bad_fill, "A fill of memory that does not exist is captured: nobody looks at the address."},
    {&bad_fill_instantiated, "Instantiating the graph is what finds the mistake."},
    {&bad_host_function, "A host function that is NULL does no harm."},
    {&bad_event, "Nor does recording an event that is NULL."},
    {&bad_event_waited, "But waiting on an event that is NULL invalidates the capture."},
    {&bad_event_flags, "Event flags that do not exist do no harm, in a record or in a wait."},
    {&bad_malloc_async, "Nor does an allocation that is too large."},
    {&bad_free_async, "Nor does a free of memory that was not allocated in a capture."},
    {&bad_malloc,
     "An unsafe call with bad arguments is refused for these, before anybody looks at captures: it does no harm."},
    {&error_elsewhere, "A failed call on a stream outside the capture leaves it unharmed."},
    {&pending_error, "An error that a call before the capture returned does not touch it."},
};

const struct case_topic topic_failure = CASE_TOPIC("Calls that fail in a capture",
                                                   "Does a call with a mistake of its own invalidate the capture that "
                                                   "it was meant for? Each answer is followed by the "
                                                   "stream's status.",
                                                   rules);

/* ---- after ------------------------------------------------------------------------------------------------------- */

#define INVALIDATE                                                                                                     \
    do {                                                                                                               \
        BEGIN(s->a, Relaxed);                                                                                          \
        ASK(cudaStreamQuery(s->a));                                                                                    \
    } while (0)

CASE(invalidated_work, {
    INVALIDATE;
    ASK_LAUNCH(s->a);
    ASK(cudaMemsetAsync(s->x, 0, sizeof *s->x, s->a));
    ASK(cudaMemcpyAsync(s->x, s->y, sizeof *s->x, cudaMemcpyHostToDevice, s->a));
    ASK(cudaMallocAsync(&s->memory, 64, s->a));
    ASK(cudaFreeAsync(s->x, s->a));
    END(s->a);
});

CASE(invalidated_events, {
    INVALIDATE;
    ASK(cudaEventRecord(s->e, s->a));
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    ASK(cudaStreamWaitEvent(s->b, s->e, 0));
    STATUS(s->b);
    END(s->a);
});

CASE(invalidated_waits, {
    INVALIDATE;
    ASK(cudaStreamQuery(s->a));
    ASK(cudaStreamSynchronize(s->a));
    END(s->a);
});

CASE(invalidated_still_protects, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMalloc(&s->memory, 64));
    ASK(cudaMalloc(&s->memory, 64));
    END(s->a);
    ASK(cudaMalloc(&s->memory, 64));
});

CASE(invalidated_forks, {
    BEGIN(s->a, Relaxed);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    ASK(cudaStreamQuery(s->a));
    STATUS(s->b);
    ASK_LAUNCH(s->b);
    END(s->a);
    STATUS(s->b);
    ASK_LAUNCH(s->b);
});

CASE(invalidated_ended_on_fork, {
    BEGIN(s->a, Relaxed);
    ORDER(s->a, s->b);
    ASK(cudaStreamQuery(s->a));
    END(s->b);
    STATUS(s->a);
    END(s->a);
});

CASE(invalidated_priority, {
    int priority = 0;
    INVALIDATE;
    ASK(cudaStreamGetPriority(s->a, &priority));
    END(s->a);
});

CASE(invalidated_flags, {
    unsigned flags = 0;
    INVALIDATE;
    ASK(cudaStreamGetFlags(s->a, &flags));
    END(s->a);
});

CASE(invalidated_destroyed, {
    INVALIDATE;
    ASK(cudaStreamDestroy(s->a));
    s->a = NULL;
    ASK(cudaDeviceSynchronize());
});

CASE(invalidated_others_work, {
    INVALIDATE;
    ASK_LAUNCH(s->b);
    ASK(cudaStreamSynchronize(s->b));
    END(s->a);
    VALUE("x", case_read_x(s));
});

CASE(invalidated_fork_destroyed, {
    BEGIN(s->a, Relaxed);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    ASK(cudaStreamQuery(s->a));
    ASK(cudaStreamDestroy(s->b));
    s->b = NULL;
    END(s->a);
});

static const struct case_rule after_rules[] = {
    {&invalidated_work, "Work on the stream is refused until the end."},
    {&invalidated_events, "So are records and waits. An event keeps what it was before: this one was never recorded, "
                          "so that another stream need not wait for it."},
    {&invalidated_waits, "It can be neither asked nor waited for, as in any capture."},
    {&invalidated_forks, "Forked streams are invalidated with their origin, and free after its end."},
    {&invalidated_still_protects, "It still stands in the way of unsafe calls; the end sets them free."},
    {&invalidated_others_work, "Other streams go on as before."},
    {&invalidated_priority, "The priority may be asked no more."},
    {&invalidated_flags, "Nor may the flags, as in any capture."},
    {&invalidated_ended_on_fork, "It cannot be ended on a forked stream."},
    {&invalidated_destroyed, "Destroying the stream is as good as the end."},
    {&invalidated_fork_destroyed, "Forked streams may be destroyed."},
};

const struct case_topic topic_invalid =
    CASE_TOPIC("After a capture is invalidated",
               "An invalidated capture gives no graph any more, but lives on until it is ended.", after_rules);

/* ---- captures that meet ------------------------------------------------------------------------------------------ */

CASE(two_captures, {
    BEGIN(s->a, ThreadLocal);
    BEGIN(s->b, ThreadLocal);
    LAUNCH(s->a);
    LAUNCH(s->b);
    END(s->a);
    STATUS(s->b);
    END(s->b);
});

CASE(merge, {
    BEGIN(s->a, ThreadLocal);
    BEGIN(s->b, ThreadLocal);
    RECORD(s->e, s->b);
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    STATUS(s->a);
    STATUS(s->b);
    END(s->b);
    END(s->a);
});

CASE(merge_of_forks, {
    BEGIN(s->a, ThreadLocal);
    BEGIN(s->b, ThreadLocal);
    ORDER(s->a, s->c);
    RECORD(s->f, s->b);
    ASK(cudaStreamWaitEvent(s->c, s->f, 0));
    STATUS(s->a);
    STATUS(s->b);
    STATUS(s->c);
});

CASE(merge_with_invalidated, {
    BEGIN(s->a, Relaxed);
    BEGIN(s->b, Relaxed);
    RECORD(s->e, s->b);
    ASK(cudaStreamQuery(s->b));
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    STATUS(s->a);
    END(s->b);
    END(s->a);
});

CASE(merge_into_invalidated, {
    BEGIN(s->a, Relaxed);
    BEGIN(s->b, Relaxed);
    RECORD(s->e, s->b);
    ASK(cudaStreamQuery(s->a));
    ASK(cudaStreamWaitEvent(s->a, s->e, 0));
    STATUS(s->b);
    END(s->b);
    END(s->a);
});

CASE(invalid_stays_apart, {
    BEGIN(s->a, Relaxed);
    BEGIN(s->b, Relaxed);
    ASK(cudaStreamQuery(s->a));
    STATUS(s->b);
    LAUNCH(s->b);
    END(s->b);
    END(s->a);
});

CASE(event_moves_between_captures, {
    BEGIN(s->a, ThreadLocal);
    BEGIN(s->b, ThreadLocal);
    RECORD(s->e, s->a);
    ASK(cudaEventRecord(s->e, s->b));
    ASK(cudaStreamWaitEvent(s->c, s->e, 0));
    LAUNCH(s->c);
    END(s->a);
    STATUS(s->c);
    ORDER(s->c, s->b);
    END(s->b);
});

static const struct case_rule nested_rules[] = {
    {&two_captures, "A thread may run several captures at once, on several streams, and end them in any order."},
    {&invalid_stays_apart, "Invalidating one does not touch the other."},
    {&merge, "Two captures cannot be joined: waiting on an event of another capture fails and invalidates both."},
    {&merge_of_forks, "Forked streams carry that rule to their captures."},
    {&merge_with_invalidated,
     "Waiting on an event of a capture that is invalidated already is no merge: the event means "
     "nothing any more, as after an end."},
    {&merge_into_invalidated, "Nor is a wait in a capture that is invalidated already: the other capture is unharmed."},
    {&event_moves_between_captures,
     "One event may serve two captures in turn: it belongs to the one that recorded it last."},
};

const struct case_topic topic_nested = CASE_TOPIC(
    "Several captures at once", "Captures on different streams are independent, and must stay so.", nested_rules);
