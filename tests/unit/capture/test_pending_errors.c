/* CUDA errors that are pending before a call, or that a program's own functions leave: they stay the program's. */
#include "tests/support/test.h"
#include "tests/support/fragile_pass.h"

/* A CUDA error that was pending before a call is the caller's, and stays. */
FRAGILE_TEST(test_pending_error_stays)
{
    (void)cudaSetDevice(-1);
    assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    bg_graph *graph = CAPTURED_BY(fragile_pass, f, f->stream, NULL);
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    bg_graph_destroy(graph);
    fragile_fails = true;
    EXPECT_NO_CAPTURE(fragile_pass, f, f->stream, NULL, BG_ERROR_TIMEOUT);
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
FRAGILE_TEST(test_pending_error_beside_scratch)
{
    for (int pending = 0; pending < 2; pending++) {
        bg_capture *capture;
        OWNED_GRAPH(graph);
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

TESTS_ON_HOST_DEVICE("that calls fail on request");

/* What the program leaves in its own functions stays, too, where a call of the library fails next. */
FRAGILE_TEST(test_errors_left_in_bodies_stay)
{
    const struct {
        bg_forward pass;
        const char *fault;
        const bg_capture_options *options;
    } rows[] = {
        {untidy_pass, "cudaStreamBeginCapture@2=cudaErrorNotPermitted", OPTIONS(.debug = BG_DEBUG_OFF)},
        {bare_pass, "cudaStreamBeginCapture@2=cudaErrorNotPermitted",
         OPTIONS(.debug = BG_DEBUG_OFF, .barrier = leave_an_error)},
        {untidy_pass, "cudaEventRecord@1=cudaErrorNotPermitted", OPTIONS(.debug = BG_DEBUG_FORWARD)},
    };
    for (int i = 0; i < 3; i++) {
        begin_fault(rows[i].fault);
        EXPECT_NO_CAPTURE(rows[i].pass, f, f->stream, rows[i].options, BG_ERROR_CUDA, "cudaErrorNotPermitted");
        end_fault();
        assert_int_not_equal(cudaGetLastError(), cudaSuccess);
        expect_works(f);
    }
}
