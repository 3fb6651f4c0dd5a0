/* Waits that cannot be, and work that nothing waits for: errors that name it. */
#include "tests/support/test.h"
#include "tests/support/event_support.h"
#include "tests/support/ops.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- waits ----------------------------------------------------------------------------------------------------- */

static void expect_failure(fixture *t, bg_forward forward, bg_status status, const char *text)
{
    EXPECT_NO_CAPTURE(forward, t, t->stream, NULL, status, text, "test_event_errors.c:");
    expect_usable(t, t->stream);
    expect_usable(t, t->other);
}

/* A test that is a pass which fails. */
#define FAILING_TEST(name, status, text)                                                                               \
    static bg_status pass_of_##name(void *user, cudaStream_t stream);                                                  \
    EVENT_TEST(name)                                                                                                   \
    {                                                                                                                  \
        expect_failure(t, pass_of_##name, status, text);                                                               \
    }                                                                                                                  \
    EVENT_PASS(pass_of_##name)

EVENT_PASS(waits_for_e)
{
    BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 2);
    bg_stream_wait_event(stream, e);
    return BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 2);
}

EVENT_TEST(test_recorded_before_the_capture)
{
    EXPECT_OK(bg_event_record(e, side));
    EXPECT_OK(bg_stream_wait_event(t->stream, e)); /* before the capture: fine */
    expect_failure(t, waits_for_e, BG_ERROR_ISOLATION, "recorded outside the capture");
    EXPECT_ERROR("bg_stream_wait_event at");
    EXPECT_OK(bg_event_record(e, t->stream));
    expect_failure(t, waits_for_e, BG_ERROR_ISOLATION, "recorded outside the capture");
}

FAILING_TEST(test_recorded_outside_during_the_capture, BG_ERROR_ISOLATION, "recorded outside the capture")
{
    bg_event_record(e, stream);
    bg_event_record(e, side); /* not a stream of the capture */
    return waits_for_e(t, stream);
}

FAILING_TEST(test_bare_record_before_a_break, BG_ERROR_CUDA, "record it with bg_event_record")
{
    TRY_BG(from_cuda(cudaEventRecord(e, stream)));
    bg_break(stream);
    return waits_for_e(t, stream);
}

PASS(no_event, void *user)
{
    return bg_event_record(NULL, stream);
}

PASS(bad_flags, void *user)
{
    return bg_stream_wait_event_at(stream, e, 64, BG_SITE);
}

PASS(legacy_stream, void *user)
{
    bg_event_record(e, stream);
    return bg_stream_wait_event(NULL, e);
}

EVENT_TEST(test_arguments)
{
    expect_failure(t, no_event, BG_ERROR_INVALID_ARGUMENT, "event is NULL");
    expect_failure(t, bad_flags, BG_ERROR_INVALID_ARGUMENT, "0x40");
    expect_failure(t, legacy_stream, BG_ERROR_INVALID_ARGUMENT, "legacy stream");
    EXPECT_STATUS(bg_stream_wait_event(t->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_event_record_at(e, t->stream, 2, BG_SITE), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_event_destroy(NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_OK(bg_event_record(e, NULL)); /* the legacy stream, outside a capture */
    EXPECT_OK(bg_stream_wait_event(NULL, e));
}

/* A bare wait is refused where CUDA refuses it: it goes by no record that only the capture knows. */
BG_EAGER_OP(bare_wait, BG_INOUT(x))
{
    (void)args, (void)stream;
    return cudaStreamWaitEvent(side, e, 0) == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

EVENT_PASS(bare_wait_in_a_body)
{
    BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 2);
    bg_event_record(e, stream);
    return BG_CALL(bare_wait, stream, .x = t->z);
}

EVENT_TEST(test_a_bare_wait_in_a_body)
{
    expect_failure(t, bare_wait_in_a_body, BG_ERROR_CUDA, "bare_wait#0");
    EXPECT_CUDA(cudaGetLastError() == cudaErrorInvalidValue ? cudaSuccess : cudaErrorUnknown);
}

/* ---- unjoined work --------------------------------------------------------------------------------------------- */

typedef enum work { KERNEL, COPY, FILL, HOST, WORKS } work;
static work chosen;

static void CUDART_CB nothing(void *user)
{
    (void)user;
}

static cudaError_t unseen_work(fixture *t, cudaStream_t stream)
{
    switch (chosen) {
    case KERNEL: return bgk_scale(t->z.data, t->x.data, 2, N, stream);
    case COPY: return cudaMemcpyAsync(t->z.data, t->x.data, N * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    case FILL: return cudaMemsetAsync(t->z.data, 0, N * sizeof(float), stream);
    default: return cudaLaunchHostFunc(stream, nothing, NULL);
    }
}

EVENT_PASS(forks_unseen)
{
    TRY_BG(from_cuda(cudaEventRecord(e, stream)));
    BG_CALL(scale, stream, .x = t->x, .y = t->y, .factor = 2);
    TRY_BG(from_cuda(cudaStreamWaitEvent(t->other, e, 0)));
    TRY_BG(from_cuda(unseen_work(t, t->other)));
    return bg_break(stream);
}

EVENT_TEST(test_unseen_forks_are_named)
{
    static const char *const names[WORKS] = {"product>(float4*", "a memcpy", "a memset", "a host function"};
    for (chosen = KERNEL; chosen < WORKS; chosen++) {
        expect_failure(t, forks_unseen, BG_ERROR_UNTRACKED_STREAM, names[chosen]);
        EXPECT_ERROR("with CUDA calls, without breakgraph's hooks");
        EXPECT_ERROR("hooks.h");
    }
}

EVENT_PASS(leaves_work)
{
    bg_event_record(e, stream);
    bg_stream_wait_event(t->other, e);
    bg_stream_wait_event(third, e);
    BG_CALL(scale, third, .x = t->x, .y = t->y, .factor = 2);
    bg_event_record(f, third);
    bg_stream_wait_event(stream, f);
    BG_CALL(scale, t->other, .x = t->x, .y = t->z, .factor = 2);
    return BG_CALL(scale, t->other, .x = t->z, .y = t->z, .factor = 3);
}

EVENT_TEST(test_unjoined_work_is_named)
{
    char stream[40];
    snprintf(stream, sizeof stream, "stream %p", (void *)t->other);
    expect_failure(t, leaves_work, BG_ERROR_UNJOINED_STREAM, stream);
    EXPECT_ERROR("the last op on it is scale#2 at");
    EXPECT_ERROR("options.join_at_end");
    put(&t->x, 5);
    CAPTURED_GRAPH(graph, leaves_work, t, t->stream, OPTIONS(.join_at_end = true));
    EXPECT_VALUE(&t->z, 30);
}

/* An event joins what came before its record. */
FAILING_TEST(test_work_after_the_joined_event, BG_ERROR_UNJOINED_STREAM, "scale#1")
{
    bg_event_record(e, stream);
    bg_stream_wait_event(t->other, e);
    BG_CALL(scale, t->other, .x = t->x, .y = t->y, .factor = 2);
    bg_event_record(f, t->other);
    BG_CALL(scale, t->other, .x = t->x, .y = t->z, .factor = 2);
    return bg_stream_wait_event(stream, f);
}

/* ---- threads --------------------------------------------------------------------------------------------------- */

static bg_status waited, recorded;
static char said[1024];

static void *use_elsewhere(void *user)
{
    const fixture *t = user;
    waited = bg_stream_wait_event(side, e);
    snprintf(said, sizeof said, "%s", bg_last_error());
    recorded = bg_event_record(f, t->stream);
    return NULL;
}

EVENT_PASS(with_another_thread)
{
    pthread_t thread;
    BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 2);
    bg_event_record(e, stream);
    if (pthread_create(&thread, NULL, use_elsewhere, t) != 0 || pthread_join(thread, NULL) != 0)
        return BG_ERROR_IO;
    return BG_CALL(scale, stream, .x = t->z, .y = t->z, .factor = 3);
}

/* Refused there; the capture goes on. */
EVENT_TEST(test_an_event_used_by_another_thread)
{
    put(&t->x, 1);
    CAPTURED_GRAPH(graph, with_another_thread, t, t->stream, NULL);
    assert_int_equal(waited, BG_ERROR_WRONG_THREAD);
    assert_non_null(strstr(said, "another thread's capture"));
    assert_non_null(strstr(said, "test_event_errors.c:"));
    assert_int_equal(recorded, BG_ERROR_WRONG_THREAD);
    EXPECT_VALUE(&t->z, 6);
}
