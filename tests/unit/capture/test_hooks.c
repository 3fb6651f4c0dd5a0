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

FIXTURE_PASS(in_c)
{
    cudaEvent_t fork = NULL, join = NULL; /* destroyed by the hook's name, too */
    bg_status status;
    TRY_BG(from_cuda(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming)));
    TRY_BG(from_cuda(cudaEventCreateWithFlags(&join, cudaEventDisableTiming)));
    TRY_BG(from_cuda(cudaEventRecord(fork, stream)));
    TRY_BG(from_cuda(cudaStreamWaitEvent(f->other, fork, 0)));
    TRY_BG(from_cuda(bgk_scale(f->y.data, f->x.data, 2, N, f->other)));
    TRY_BG(from_cuda(cudaEventRecordWithFlags(join, f->other, 0)));
    break_here(f, stream);
    TRY_BG(from_cuda(cudaStreamWaitEvent(stream, join, 0)));
    status = from_cuda(bgk_scale(f->z.data, f->y.data, 3, N, stream));
    EXPECT_CUDA(cudaEventDestroy(fork));
    EXPECT_CUDA(cudaEventDestroy(join));
    return status;
}

FIXTURE_PASS(in_cpp)
{
    hooked_scene scene = {f->other, f->x.data, f->y.data, f->z.data, N, break_here, f};
    return from_cuda(hooked_pass_in_cpp(&scene, stream));
}

static void expect_pass(fixture *f, bg_forward forward)
{
    put(&f->x, 1);
    CAPTURED_GRAPH(graph, forward, f, f->stream, NULL);
    EXPECT_VALUE(&f->z, 30);
    assert_int_equal(info_of(graph).segments, 2);
    EXPECT_REPLAYS(graph, f->stream, &f->x, &f->z, 30);
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
    cudaEvent_t event = NULL;
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
    EXPECT_CUDA(cudaEventDestroy(event));
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
    EXPECT_NO_CAPTURE(forward, f, f->stream, NULL, BG_ERROR_ISOLATION);
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
    EXPECT_NO_CAPTURE(bad_arguments, f, f->stream, NULL, BG_ERROR_INVALID_ARGUMENT);
    assert_int_equal(answer[0], cudaErrorInvalidValue);
}
