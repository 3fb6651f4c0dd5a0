/* Conformance: copies of bytes: directions, sizes, and when they are done. */
#include "case_memory.h"
#include "cases.h"

static int pageable, target;

/* y is 3, pageable is 4, and x is 0. */
#define VALUES() STEP_AS("/* y is 3, pageable is 4, target is 0 */", (*s->y = 3, pageable = 4, target = 0, cudaSuccess))
#define NOTE_X() VALUE("x", case_read_x(s))

CASE(copy_kinds, {
    VALUES();
    ASK(cudaMemcpy(s->x, s->y, 4, cudaMemcpyHostToDevice));
    NOTE_X();
    ASK(cudaMemcpy(s->x, &pageable, 4, cudaMemcpyDefault));
    ASK(cudaMemcpy(s->y, s->x, 4, cudaMemcpyDefault));
    VALUE("y", *s->y);
    ASK(cudaMemcpy(&target, s->y, 4, cudaMemcpyHostToHost));
    VALUE("target", target);
    ASK(cudaMemcpy(&target, &pageable, 4, cudaMemcpyDefault));
    VALUE("target", target);
});

CASE(copy_wrong_kind, {
    VALUES();
    ASK(cudaMemcpy(s->x, &pageable, 4, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpy(s->x, &pageable, 4, cudaMemcpyDeviceToDevice));
    ASK(cudaMemcpy(&target, s->x, 4, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy(&target, s->x, 4, cudaMemcpyDeviceToDevice));
    ASK(cudaMemcpy(s->x, s->y, 4, (enum cudaMemcpyKind)7));
    NOTE_X();
});

CASE(copy_device_wrong_kind, {
    MAKE(64);
    STEP(cudaMemset(s->memory, 1, 4));
    ASK(cudaMemcpy(s->x, s->memory, 4, cudaMemcpyDeviceToHost));
    BYTES("x", s->x, 4);
    STEP(cudaMemset(s->memory, 2, 4));
    ASK(cudaMemcpy(s->x, s->memory, 4, cudaMemcpyHostToDevice));
    BYTES("x", s->x, 4);
    STEP(cudaMemset(s->memory, 3, 4));
    STEP(cudaDeviceSynchronize());
    ASK(cudaMemcpyAsync(s->x, s->memory, 4, cudaMemcpyDeviceToHost, s->a));
    BYTES("x", s->x, 4);
    STEP(cudaMemset(s->memory, 4, 4));
    STEP(cudaDeviceSynchronize());
    ASK(cudaMemcpyAsync(s->x, s->memory, 4, cudaMemcpyHostToDevice, s->a));
    BYTES("x", s->x, 4);
});

CASE(copy_wrong_kind_pinned, {
    VALUES();
    ASK(cudaMemcpy(s->x, s->y, 4, cudaMemcpyDeviceToDevice));
    NOTE_X();
    SET(*s->y = 5);
    ASK(cudaMemcpy(s->x, s->y, 4, cudaMemcpyDeviceToHost));
    NOTE_X();
    SET(*s->y = 6);
    ASK(cudaMemcpyAsync(s->x, s->y, 4, cudaMemcpyDeviceToDevice, s->a));
    NOTE_X();
    SET(*s->y = 7);
    ASK(cudaMemcpyAsync(s->x, s->y, 4, cudaMemcpyDeviceToHost, s->a));
    NOTE_X();
});

CASE(copy_wrong_kind_async, {
    VALUES();
    ASK(cudaMemcpyAsync(s->x, &pageable, 4, cudaMemcpyDeviceToHost, s->a));
    ASK(cudaMemcpyAsync(s->x, &pageable, 4, cudaMemcpyDeviceToDevice, s->a));
    ASK(cudaMemcpyAsync(&target, s->x, 4, cudaMemcpyHostToDevice, s->a));
    ASK(cudaMemcpyAsync(s->x, s->y, 4, (enum cudaMemcpyKind)7, s->a));
    NOTE_X();
});

CASE(copy_nothing, {
    ASK(cudaMemcpy(s->x, s->y, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy(NULL, s->y, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy(NULL, NULL, 0, cudaMemcpyDefault));
    ASK(cudaMemcpy(s->x, s->y, 0, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpy(s->x, s->y, 0, (enum cudaMemcpyKind)7));
    ASK(cudaMemcpyAsync(s->x, NULL, 0, cudaMemcpyHostToDevice, s->a));
    ASK(cudaMemcpyAsync(s->x, s->y, 0, (enum cudaMemcpyKind)7, s->a));
});

CASE(copy_null, {
    ASK(cudaMemcpy(NULL, s->y, 4, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy(s->x, NULL, 4, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy(NULL, s->x, 4, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpy(s->x, NULL, 4, cudaMemcpyDeviceToDevice));
    ASK(cudaMemcpyAsync(NULL, s->y, 4, cudaMemcpyHostToDevice, s->a));
    ASK(cudaMemcpyAsync(s->x, NULL, 4, cudaMemcpyHostToDevice, s->a));
    ASK(cudaMemcpyAsync(NULL, s->x, 4, cudaMemcpyDeviceToHost, s->a));
});

CASE(copy_past_the_end, {
    static char host[128];
    MAKE(64);
    ASK(cudaMemcpy(s->memory, host, 65, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy((char *)s->memory + 60, host, 5, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy(host, s->memory, 65, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpy(s->x, s->memory, 5, cudaMemcpyDeviceToDevice));
    ASK(cudaMemcpy(s->memory, s->y, 5, cudaMemcpyHostToDevice));
    ASK(cudaMemcpyAsync(s->memory, host, 65, cudaMemcpyHostToDevice, s->a));
    ASK(cudaMemcpyAsync(host, s->memory, 65, cudaMemcpyDeviceToHost, s->a));
});

/* ---- when are they done? -------------------------------------------------------------------------------------------
 */

CASE(copy_pinned_to_pinned_pending, {
    STEP(cudaMallocHost(&s->pinned, 4));
    VALUES();
    SET(*(int *)s->pinned = 0);
    HOLD(s->a);
    ASK(cudaMemcpyAsync(s->pinned, s->y, 4, cudaMemcpyHostToHost, s->a));
    WAITED();
    VALUE("pinned", *(int *)s->pinned);
    ASK(cudaStreamQuery(s->a));
    SET(*s->y = 5);
    LET_GO();
    ASK(cudaStreamSynchronize(s->a));
    VALUE("pinned", *(int *)s->pinned);
});

CASE(copy_pinned_to_pinned_on_idle_stream, {
    STEP(cudaMallocHost(&s->pinned, 4));
    VALUES();
    ASK(cudaMemcpyAsync(s->pinned, s->y, 4, cudaMemcpyDefault, s->a));
    ASK(cudaStreamSynchronize(s->a));
    VALUE("pinned", *(int *)s->pinned);
});

CASE(copy_pageable_to_pageable_pending, {
    VALUES();
    HOLD(s->a);
    ASK(cudaMemcpyAsync(&target, &pageable, 4, cudaMemcpyHostToHost, s->a));
    WAITED();
    VALUE("target", target);
    LET_GO();
    ASK(cudaStreamSynchronize(s->a));
    VALUE("target", target);
});

CASE(copy_pinned_to_device_pending, {
    VALUES();
    HOLD(s->a);
    ASK(cudaMemcpyAsync(s->x, s->y, 4, cudaMemcpyHostToDevice, s->a));
    WAITED();
    ASK(cudaStreamQuery(s->a));
    SET(*s->y = 5);
    LET_GO();
    NOTE_X();
});

/* Few bytes: CUDA may take them along with the call. */
CASE(copy_pageable_to_device_pending, {
    VALUES();
    HOLD(s->a);
    ASK(cudaMemcpyAsync(s->x, &pageable, 4, cudaMemcpyHostToDevice, s->a));
    WAITED();
    ASK(cudaStreamQuery(s->a));
    SET(pageable = 5);
    LET_GO();
    NOTE_X();
});

CASE(copy_device_to_pinned_pending, {
    VALUES();
    HOLD(s->a);
    ASK(cudaMemcpyAsync(s->y, s->x, 4, cudaMemcpyDeviceToHost, s->a));
    WAITED();
    VALUE("y", *s->y);
    LET_GO();
    ASK(cudaStreamSynchronize(s->a));
    VALUE("y", *s->y);
});

CASE(copy_device_to_pageable_pending, {
    VALUES();
    STEP(cudaMemset(s->x, 1, 4));
    STEP(cudaDeviceSynchronize());
    HOLD(s->a);
    ASK(cudaMemcpyAsync(&target, s->x, 4, cudaMemcpyDeviceToHost, s->a));
    WAITED();
    ANSWERED("has target the bytes of x", target == 0x01010101);
    LET_GO();
    ASK(cudaStreamSynchronize(s->a));
});

CASE(copy_beside_busy_stream, {
    VALUES();
    HOLD(s->a);
    ASK(cudaMemcpy(s->x, s->y, 4, cudaMemcpyHostToDevice));
    WAITED();
    LET_GO();
    NOTE_X();
});

CASE(copy_behind_blocking_stream, {
    VALUES();
    HOLD(s->blocking);
    ASK(cudaMemcpy(s->x, s->y, 4, cudaMemcpyHostToDevice));
    WAITED();
    LET_GO();
    NOTE_X();
});

/* ---- in captures ---------------------------------------------------------------------------------------------------
 */

CASE(captured_copy, {
    VALUES();
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyAsync(s->x, s->y, 4, cudaMemcpyHostToDevice, s->a));
    ASK(cudaMemcpyAsync(&target, s->x, 4, cudaMemcpyDefault, s->a));
    END(s->a);
    NODE_TYPE();
    SET(*s->y = 5);
    VALUE("x after a launch of the graph", case_run_graph(s));
    VALUE("target", target);
});

CASE(captured_copy_on_host, {
    VALUES();
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyAsync(&target, &pageable, 4, cudaMemcpyHostToHost, s->a));
    VALUE("target", target);
    END(s->a);
    NODE_TYPE();
    RUN_GRAPH();
    VALUE("target", target);
});

CASE(captured_copy_of_nothing, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyAsync(s->x, s->y, 0, cudaMemcpyHostToDevice, s->a));
    ASK(cudaMemcpyAsync(NULL, NULL, 0, cudaMemcpyDefault, s->a));
    END(s->a);
});

CASE(captured_copy_refused, {
    MAKE(64);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyAsync(s->x, s->y, 4, (enum cudaMemcpyKind)7, s->a));
    STATUS(s->a);
    ASK(cudaMemcpyAsync(NULL, s->y, 4, cudaMemcpyHostToDevice, s->a));
    STATUS(s->a);
    ASK(cudaMemcpyAsync(s->x, s->memory, 5, cudaMemcpyDeviceToDevice, s->a));
    STATUS(s->a);
    END(s->a);
});

CASE(captured_copy_wrong_kind, {
    MAKE(64);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyAsync(s->x, s->memory, 4, cudaMemcpyDeviceToHost, s->a));
    STATUS(s->a);
    ASK(cudaMemcpyAsync(s->x, &pageable, 4, cudaMemcpyDeviceToDevice, s->a));
    STATUS(s->a);
    END(s->a);
});

static const struct case_rule rules[] = {
    {&copy_kinds, "Every direction, and `cudaMemcpyDefault`, which looks at the pointers."},
    {&copy_wrong_kind, "A direction that does not fit the pointers."},
    {&copy_device_wrong_kind, "From device memory to device memory, called otherwise."},
    {&copy_wrong_kind_async, "On a stream."},
    {&copy_wrong_kind_pinned, "Pinned memory is the device's, too."},
    {&copy_nothing, "A copy of no bytes."},
    {&copy_null, "A copy from nowhere, or to nowhere."},
    {&copy_past_the_end, "Bytes behind the end of memory."},
};

const struct case_topic topic_copy = CASE_TOPIC("Copies", "`cudaMemcpy` and `cudaMemcpyAsync`.", rules);

static const struct case_rule pending_rules[] = {
    {&copy_pinned_to_pinned_on_idle_stream, "From pinned memory to pinned memory."},
    {&copy_pinned_to_pinned_pending, "The same while the stream is busy: the call returns when the copy is done."},
    {&copy_pageable_to_pageable_pending, "With other host memory."},
    {&copy_pinned_to_device_pending, "From pinned memory to the device: the source is read when the copy runs."},
    {&copy_pageable_to_device_pending, "From other host memory: it was read when the call returned."},
    {&copy_device_to_pinned_pending, "From the device to pinned memory."},
    {&copy_device_to_pageable_pending, "To other host memory: the call returns when the copy is done."},
    {&copy_beside_busy_stream, "`cudaMemcpy` waits for no stream made with `cudaStreamNonBlocking`."},
    {&copy_behind_blocking_stream, "But for the others."},
};

const struct case_topic topic_pending =
    CASE_TOPIC("When is a copy done?",
               "`wait_for_flag` is a host function that keeps the stream busy until `flag` is set.", pending_rules);

static const struct case_rule captured_rules[] = {
    {&captured_copy, "A copy becomes a memcpy node, which reads and writes when it runs."},
    {&captured_copy_on_host, "From host memory to host memory."},
    {&captured_copy_of_nothing, "A copy of no bytes."},
    {&captured_copy_refused, "A copy that is refused."},
    {&captured_copy_wrong_kind, "A direction that does not fit."},
};

const struct case_topic topic_captured_copy =
    CASE_TOPIC("Copies in captures", "`cudaMemcpyAsync` on a stream that captures.", captured_rules);
