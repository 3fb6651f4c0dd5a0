/* breakgraph/hooks.h: programs that fork by CUDA's own names, in C and C++. */
#include "tests/support/ops.h"

#include "tests/support/kernels/hooked.h"

#include <stdio.h>

#include <breakgraph/hooks.h>

static void break_here(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(eager_scale, stream, .x = f->y, .factor = 5);
}

static hooked_scene scene_of(fixture *f)
{
    return (hooked_scene){f->other, f->x.data, f->y.data, f->z.data, N, break_here, f};
}

static cudaError_t hooked_pass_in_c(const hooked_scene *scene, cudaStream_t stream)
{
    OWNED_EVENT(join);
    OWNED_EVENT(fork);
    cudaError_t error = cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
    if (error == cudaSuccess)
        error = cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    if (error == cudaSuccess)
        error = cudaEventRecord(fork, stream);
    if (error == cudaSuccess)
        error = cudaStreamWaitEvent(scene->other, fork, 0);
    if (error == cudaSuccess)
        error = bgk_scale(scene->y, scene->x, 2, scene->count, scene->other);
    if (error == cudaSuccess)
        error = cudaEventRecordWithFlags(join, scene->other, 0);
    scene->at_break(scene->user, stream);
    if (error == cudaSuccess)
        error = cudaStreamWaitEvent(stream, join, 0);
    if (error == cudaSuccess)
        error = bgk_scale(scene->z, scene->y, 3, scene->count, stream);
    return error;
}

static bg_status in_c(void *user, cudaStream_t stream)
{
    hooked_scene scene = scene_of(user);
    return from_cuda(hooked_pass_in_c(&scene, stream));
}

static bg_status in_cpp(void *user, cudaStream_t stream)
{
    hooked_scene scene = scene_of(user);
    return from_cuda(hooked_pass_in_cpp(&scene, stream));
}

static void expect_pass(fixture *f, bg_forward forward)
{
    OWNED_GRAPH(graph);
    put(&f->x, 1);
    EXPECT_OK(bg_capture_forward(&graph, forward, f, f->stream, NULL));
    EXPECT_VALUE(&f->z, 30);
    assert_int_equal(info_of(graph).segments, 2);
    for (int i = 2; i < 5; i++) {
        put(&f->x, (float)i);
        EXPECT_OK(bg_replay(graph, f->stream));
        EXPECT_VALUE(&f->z, 30 * (float)i);
    }
}

FIXTURE_TEST(test_in_c)
{
    expect_pass(f, in_c);
}

FIXTURE_TEST(test_in_cpp)
{
    expect_pass(f, in_cpp);
}

/* Outside captures the names are CUDA's, with its answers and its last error. */
FIXTURE_TEST(test_outside_captures)
{
    OWNED_EVENT(event);
    EXPECT_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    put(&f->x, 2);
    EXPECT_CUDA(bgk_scale(f->y.data, f->x.data, 3, N, f->other));
    EXPECT_CUDA(cudaEventRecord(event, f->other));
    EXPECT_CUDA(cudaStreamWaitEvent(f->stream, event, 0));
    EXPECT_CUDA(bgk_scale(f->z.data, f->y.data, 5, N, f->stream));
    EXPECT_VALUE(&f->z, 30);
    EXPECT_CUDA(cudaEventRecord(event, NULL));
    EXPECT_CUDA(cudaStreamWaitEvent(NULL, event, 0));
    assert_int_equal(cudaEventRecordWithFlags(event, f->stream, cudaEventRecordExternal), cudaErrorIllegalState);
    assert_int_equal(cudaGetLastError(), cudaErrorIllegalState);
}

static cudaEvent_t outside;
static cudaError_t answer[3];
static int line;

PASS(waits_outside, void *user)
{
    line = __LINE__ + 1;
    answer[0] = cudaStreamWaitEvent(stream, outside, 0);
    answer[1] = cudaStreamWaitEvent(stream, outside, 0);
    answer[2] = cudaEventRecord(outside, stream);
    return BG_OK;
}

PASS(waits_outside_in_cpp, void *user)
{
    answer[0] = hooked_wait_in_cpp(stream, outside, &line);
    return BG_OK;
}

static void expect_isolation(fixture *f, bg_forward forward, const char *file)
{
    char site[80];
    EXPECT_NO_GRAPH(forward, f, f->stream, NULL, BG_ERROR_ISOLATION);
    snprintf(site, sizeof site, "%s:%d", file, line);
    EXPECT_ERROR(site);
    assert_int_equal(answer[0], cudaErrorStreamCaptureIsolation);
}

/* CUDA's errors come back, and the site is the program's. */
FIXTURE_TEST(test_errors)
{
    EXPECT_CUDA(cudaEventCreateWithFlags(&outside, cudaEventDisableTiming));
    EXPECT_CUDA(cudaEventRecord(outside, f->other));
    expect_isolation(f, waits_outside, "test_hooks.c");
    assert_int_equal(answer[1], cudaErrorStreamCaptureIsolation); /* the capture's first failure stays */
    assert_int_equal(answer[2], cudaErrorStreamCaptureIsolation);
    expect_isolation(f, waits_outside_in_cpp, "hooked.cu");
    EXPECT_CUDA(cudaEventDestroy(outside));
}

PASS(bad_arguments, void *user)
{
    answer[0] = cudaEventRecord(NULL, stream);
    return BG_OK;
}

FIXTURE_TEST(test_errors_of_breakgraphs_own)
{
    EXPECT_NO_GRAPH(bad_arguments, f, f->stream, NULL, BG_ERROR_INVALID_ARGUMENT);
    assert_int_equal(answer[0], cudaErrorInvalidValue);
}
