/* Captures and replays that meet others: one on the stream of a replay, one of other code, one in the body of an op. */
#include "tests/support/test.h"
#include "tests/support/fragile_pass.h"

#include <stdlib.h>

/* Ends a capture that breakgraph did not begin, which has so many nodes. */
static void expect_foreign(cudaStream_t stream, size_t expected)
{
    OWNED_CUDA_GRAPH(graph);
    size_t nodes = 99;
    EXPECT_CUDA(cudaStreamEndCapture(stream, &graph));
    EXPECT_CUDA(cudaGraphGetNodes(graph, NULL, &nodes));
    assert_int_equal(nodes, expected);
}

FRAGILE_TEST(test_last_stream_captures)
{
    CAPTURED_GRAPH(graph, fragile_pass, f, f->stream, NULL);
    OWNED_GRAPH(other);
    bg_capture *capture;
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 3));
    EXPECT_STATUS(bg_replay(graph, f->other), BG_ERROR_BUSY);
    EXPECT_OK(bg_capture_end(capture, &other)); /* unharmed */
    EXPECT_OK(bg_replay(graph, f->other));
    EXPECT_CUDA(cudaStreamBeginCapture(f->other, cudaStreamCaptureModeThreadLocal));
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_BUSY);
    EXPECT_STATUS(bg_replay(other, f->other), BG_ERROR_FOREIGN_CAPTURE);
    EXPECT_OK(bg_replay(other, f->stream));
    expect_foreign(f->other, 0);
    EXPECT_OK(bg_replay(graph, f->stream));
}

FRAGILE_TEST(test_capture_beside_a_foreign_one)
{
    EXPECT_CUDA(cudaStreamBeginCapture(f->other, cudaStreamCaptureModeThreadLocal));
    bg_graph_destroy(CAPTURED_BY(fragile_pass, f, f->stream, NULL));
    expect_foreign(f->other, 0); /* unharmed */
}

static bg_graph *own_graph;
static bg_status answer_in_body;
BG_EAGER_OP(replays_itself)
{
    bg_capture *nested;
    answer_in_body = own_graph == NULL ? bg_capture_begin(&nested, stream, NULL) : bg_replay(own_graph, stream);
    return BG_OK;
}

PASS(replaying, void *user)
{
    return BG_CALL(replays_itself, stream);
}

FRAGILE_TEST(test_capture_and_replay_in_a_body)
{
    own_graph = NULL;
    CAPTURED_GRAPH(graph, replaying, f, f->stream, NULL);
    assert_int_equal(answer_in_body, BG_ERROR_BUSY);
    own_graph = graph;
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_int_equal(answer_in_body, BG_ERROR_BUSY);
}

FRAGILE_TEST(test_replay_on_a_captured_stream)
{
    CAPTURED_GRAPH(first, fragile_pass, f, f->stream, NULL);
    OWNED_GRAPH(second);
    bg_capture *capture;
    put(&f->x, 1);
    EXPECT_OK(bg_replay(first, f->stream));
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->z, .factor = 9));
    EXPECT_STATUS(bg_replay(first, f->stream), BG_ERROR_ALREADY_CAPTURING);
    EXPECT_OK(bg_stream_wait_stream(f->other, f->stream));
    EXPECT_STATUS(bg_replay(first, f->other), BG_ERROR_ALREADY_CAPTURING);
    EXPECT_OK(bg_stream_wait_stream(f->stream, f->other));
    EXPECT_OK(bg_capture_end(capture, &second)); /* unharmed */
    EXPECT_OK(bg_replay(second, f->stream));
    EXPECT_VALUE(&f->z, 9);
    EXPECT_OK(bg_replay(first, f->other));
}

/* On the stream of the last replay it is looked for where a debug mode or a check is on. */
FRAGILE_TEST(test_replay_into_a_foreign_capture)
{
    static const bg_debug modes[] = {BG_DEBUG_OFF, BG_DEBUG_FORWARD, BG_DEBUG_OPS, BG_DEBUG_SYNC, BG_DEBUG_STEP};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        const bg_replay_check check = modes[i] == BG_DEBUG_OFF ? BG_REPLAY_CHECK_ON : BG_REPLAY_CHECK_OFF;
        CAPTURED_GRAPH(graph, fragile_pass, f, f->stream, OPTIONS(.debug = modes[i], .check = check));
        EXPECT_OK(bg_replay(graph, f->stream));
        EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeRelaxed));
        EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_FOREIGN_CAPTURE);
        expect_foreign(f->stream, 0); /* unharmed */
        EXPECT_OK(bg_replay(graph, f->stream));
        expect_usable(f, f->stream);
    }
}

BG_EAGER_OP(leaves_a_capture)
{
    return from_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
}

FIXTURE_PASS(leaving_pass)
{
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    BG_CALL(leaves_a_capture, stream);
    return BG_CALL(scale, stream, .x = f->y, .y = f->z, .factor = 2);
}

FRAGILE_TEST(test_a_body_leaves_a_capture)
{
    EXPECT_NO_CAPTURE(leaving_pass, f, f->stream, NULL, BG_ERROR_BUSY, "op leaves_a_capture, call leaves_a_capture#0",
                      "began a capture on stream and did not end it");
    expect_works(f);
    EXPECT_FAILS(bg_forward_run(leaving_pass, f, f->stream, NULL), BG_ERROR_BUSY,
                 "op leaves_a_capture, call leaves_a_capture#0");
    expect_works(f);
}

FRAGILE_TEST(test_foreign_capture)
{
    bg_capture *capture;
    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_STATUS(bg_capture_begin(&capture, f->stream, NULL), BG_ERROR_FOREIGN_CAPTURE);
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 3));
    EXPECT_FAILS(BG_CALL(fragile, f->stream, .x = f->y), BG_ERROR_FOREIGN_CAPTURE, "BG_FOREIGN_INLINE=1");
    setenv("BG_FOREIGN_INLINE", "1", 1);
    EXPECT_OK(BG_CALL(fragile, f->stream, .x = f->y));
    expect_foreign(f->stream, 2); /* unharmed */
    setenv("BG_FOREIGN_INLINE", "yes", 1);
    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_FAILS(BG_CALL(fragile, f->stream, .x = f->y), BG_ERROR_INVALID_ARGUMENT, "allowed are 0, 1");
    expect_foreign(f->stream, 0);
}

FRAGILE_TEST(test_foreign_inline_option)
{
    for (int allowed = 0; allowed < 2; allowed++) {
        bg_capture *capture;
        OWNED_GRAPH(graph);
        EXPECT_OK(bg_capture_begin(&capture, f->stream, OPTIONS(.foreign_inline = allowed)));
        EXPECT_CUDA(cudaStreamBeginCapture(f->other, cudaStreamCaptureModeThreadLocal));
        EXPECT_STATUS(BG_CALL(fragile, f->other, .x = f->y), allowed ? BG_OK : BG_ERROR_FOREIGN_CAPTURE);
        expect_foreign(f->other, allowed);
        EXPECT_STATUS(bg_capture_end(capture, &graph), allowed ? BG_OK : BG_ERROR_FOREIGN_CAPTURE);
        if (allowed)
            assert_int_equal(info_of(graph).breaks, 0);
    }
}
