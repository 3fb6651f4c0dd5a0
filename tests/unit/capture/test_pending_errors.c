/* CUDA errors that are pending before a call, or that a program's own functions leave: they stay the program's. */
#include "tests/support/test.h"
#include "tests/support/fragile_pass.h"

#include <hostcuda/hostcuda.h>

/* There on the host device only. */
#pragma weak hostcuda_fail
#pragma weak hostcuda_faults

#define PENDING_ERRORS_TEST(name) TEST_F(name, fragile_setup, fixture_teardown, fixture *f)

/* A CUDA error that was pending before a call is the caller's, and stays. */
PENDING_ERRORS_TEST(test_pending_error_stays)
{
    bg_graph *graph;
    (void)cudaSetDevice(-1);
    assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    put(&f->x, 1);
    EXPECT_OK(bg_capture_forward(&graph, fragile_pass, f, f->stream, NULL));
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    bg_graph_destroy(graph);
    fragile_fails = true;
    EXPECT_NO_GRAPH(fragile_pass, f, f->stream, NULL, BG_ERROR_TIMEOUT);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
}

/* Asks for more than there is. */
BG_OP(greedy)
{
    void *memory;
    return bg_scratch(args, SIZE_MAX / 2, &memory);
}

BG_EAGER_OP(greedy_later)
{
    void *memory;
    return bg_scratch(args, bg_current_phase() == BG_PHASE_REPLAY ? SIZE_MAX / 2 : 16, &memory);
}

/* Memory that a body asks for fails, where nothing has looked at the caller's error before: at capture and in a replay
 * beside a graph's last stream. It stays where there is one; where there is none, no other takes its place. */
PENDING_ERRORS_TEST(test_pending_error_beside_scratch)
{
    for (int pending = 0; pending < 2; pending++) {
        bg_capture *capture;
        bg_graph *graph;
        if (!pending)
            (void)cudaSetDevice(-1);
        EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
        if (pending)
            (void)cudaSetDevice(-1);
        else
            (void)cudaGetLastError();
        EXPECT_STATUS(BG_CALL(greedy, f->stream), BG_ERROR_OUT_OF_MEMORY);
        assert_int_equal(cudaGetLastError() != cudaSuccess, pending);
        bg_capture_abort(capture);

        EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
        EXPECT_OK(BG_CALL(greedy_later, f->stream));
        EXPECT_OK(bg_capture_end(capture, &graph));
        EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_OUT_OF_MEMORY);
        if (!pending)
            (void)cudaSetDevice(-1);
        EXPECT_STATUS(bg_replay(graph, f->other), BG_ERROR_OUT_OF_MEMORY);
        (void)cudaGetLastError();
        if (pending)
            (void)cudaSetDevice(-1);
        EXPECT_STATUS(bg_replay(graph, f->other), BG_ERROR_OUT_OF_MEMORY);
        assert_int_equal(cudaGetLastError() != cudaSuccess, pending);
        bg_graph_destroy(graph);
    }
}

/* Leave an error, and succeed. */
BG_EAGER_OP(untidy)
{
    (void)args;
    (void)stream;
    (void)cudaSetDevice(-1);
    return BG_OK;
}

static bg_status leave_an_error(void *user)
{
    (void)user;
    (void)cudaSetDevice(-1);
    return BG_OK;
}

FIXTURE_PASS(untidy_pass)
{
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    return BG_CALL(untidy, stream);
}

FIXTURE_PASS(bare_pass)
{
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    return bg_break(stream);
}

/* What the program leaves in its own functions stays, too, where a call of the library fails next. */
PENDING_ERRORS_TEST(test_errors_left_in_bodies_stay)
{
    if (!hostcuda_fail) {
        print_message("skipped: calls fail on request on the host device only\n");
        skip();
    }
    for (int i = 0; i < 3; i++) {
        bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
        options.barrier = i == 1 ? leave_an_error : NULL;
        options.debug = i == 2 ? BG_DEBUG_FORWARD : BG_DEBUG_OFF;
        assert_int_equal(hostcuda_fail(i < 2 ? "cudaStreamBeginCapture@2=cudaErrorNotPermitted"
                                             : "cudaEventRecord@1=cudaErrorNotPermitted"),
                         0);
        EXPECT_NO_GRAPH(i == 1 ? bare_pass : untidy_pass, f, f->stream, &options, BG_ERROR_CUDA);
        assert_int_equal(hostcuda_faults(), 1);
        assert_int_equal(hostcuda_fail(NULL), 0);
        EXPECT_ERROR("cudaErrorNotPermitted");
        assert_int_not_equal(cudaGetLastError(), cudaSuccess);
        expect_works(f);
    }
}
