/* Captures and replays that meet others: one on the stream of a replay, one of other code, one in the body of an op. */
#include "tests/support/test.h"
#include "tests/support/fragile_pass.h"

#include <stdlib.h>

#define OTHER_CAPTURES_TEST(name) TEST_F(name, fragile_setup, fixture_teardown, fixture *f)

OTHER_CAPTURES_TEST(test_last_stream_captures)
{
    OWNED_GRAPH(other);
    OWNED_GRAPH(graph);
    bg_capture *capture;
    cudaGraph_t foreign;
    put(&f->x, 1);
    EXPECT_OK(bg_capture_forward(&graph, fragile_pass, f, f->stream, NULL));
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
    EXPECT_CUDA(cudaStreamEndCapture(f->other, &foreign));
    EXPECT_CUDA(cudaGraphDestroy(foreign));
    EXPECT_OK(bg_replay(graph, f->stream));
}

OTHER_CAPTURES_TEST(test_capture_beside_a_foreign_one)
{
    bg_graph *graph;
    OWNED_CUDA_GRAPH(foreign);
    EXPECT_CUDA(cudaStreamBeginCapture(f->other, cudaStreamCaptureModeThreadLocal));
    EXPECT_OK(bg_capture_forward(&graph, fragile_pass, f, f->stream, NULL));
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaStreamEndCapture(f->other, &foreign)); /* unharmed */
}

static bg_graph *own_graph;
static bg_status answer_in_body;
BG_EAGER_OP(replays_itself)
{
    bg_capture *nested;
    if (own_graph == NULL) {
        answer_in_body = bg_capture_begin(&nested, stream, NULL);
        return BG_OK;
    }
    answer_in_body = bg_replay(own_graph, stream);
    return BG_OK;
}

PASS(replaying, void *user)
{
    return BG_CALL(replays_itself, stream);
}

OTHER_CAPTURES_TEST(test_capture_and_replay_in_a_body)
{
    OWNED_GRAPH(graph);
    own_graph = NULL;
    EXPECT_OK(bg_capture_forward(&graph, replaying, f, f->stream, NULL));
    assert_int_equal(answer_in_body, BG_ERROR_BUSY);
    own_graph = graph;
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_int_equal(answer_in_body, BG_ERROR_BUSY);
}

OTHER_CAPTURES_TEST(test_replay_on_a_captured_stream)
{
    OWNED_GRAPH(second);
    OWNED_GRAPH(first);
    bg_capture *capture;
    put(&f->x, 1);
    EXPECT_OK(bg_capture_forward(&first, fragile_pass, f, f->stream, NULL));
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
OTHER_CAPTURES_TEST(test_replay_into_a_foreign_capture)
{
    static const bg_debug modes[] = {BG_DEBUG_OFF, BG_DEBUG_FORWARD, BG_DEBUG_OPS, BG_DEBUG_SYNC, BG_DEBUG_STEP};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
        bg_graph *graph;
        cudaGraph_t foreign;
        size_t nodes = 0;
        options.debug = modes[i];
        options.check = modes[i] == BG_DEBUG_OFF ? BG_REPLAY_CHECK_ON : BG_REPLAY_CHECK_OFF;
        put(&f->x, 1);
        EXPECT_OK(bg_capture_forward(&graph, fragile_pass, f, f->stream, &options));
        EXPECT_OK(bg_replay(graph, f->stream));
        EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeRelaxed));
        EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_FOREIGN_CAPTURE);
        EXPECT_CUDA(cudaStreamEndCapture(f->stream, &foreign)); /* unharmed, and empty */
        EXPECT_CUDA(cudaGraphGetNodes(foreign, NULL, &nodes));
        assert_int_equal(nodes, 0);
        EXPECT_CUDA(cudaGraphDestroy(foreign));
        EXPECT_OK(bg_replay(graph, f->stream));
        bg_graph_destroy(graph);
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

OTHER_CAPTURES_TEST(test_a_body_leaves_a_capture)
{
    EXPECT_NO_GRAPH(leaving_pass, f, f->stream, NULL, BG_ERROR_BUSY, "op leaves_a_capture, call leaves_a_capture#0",
                    "began a capture on stream and did not end it");
    expect_works(f);
    EXPECT_STATUS(bg_forward_run(leaving_pass, f, f->stream, NULL), BG_ERROR_BUSY);
    EXPECT_ERROR("op leaves_a_capture, call leaves_a_capture#0");
    expect_works(f);
}

OTHER_CAPTURES_TEST(test_foreign_capture)
{
    cudaGraph_t foreign;
    bg_capture *capture;
    put(&f->x, 1);
    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_STATUS(bg_capture_begin(&capture, f->stream, NULL), BG_ERROR_FOREIGN_CAPTURE);
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 3));
    EXPECT_FAILS(BG_CALL(fragile, f->stream, .x = f->y), BG_ERROR_FOREIGN_CAPTURE, "BG_FOREIGN_INLINE=1");
    setenv("BG_FOREIGN_INLINE", "1", 1);
    EXPECT_OK(BG_CALL(fragile, f->stream, .x = f->y));
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &foreign)); /* unharmed, with two nodes */
    size_t nodes = 0;
    EXPECT_CUDA(cudaGraphGetNodes(foreign, NULL, &nodes));
    assert_int_equal(nodes, 2);
    EXPECT_CUDA(cudaGraphDestroy(foreign));
    setenv("BG_FOREIGN_INLINE", "yes", 1);
    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_FAILS(BG_CALL(fragile, f->stream, .x = f->y), BG_ERROR_INVALID_ARGUMENT, "allowed are 0, 1");
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &foreign));
    EXPECT_CUDA(cudaGraphDestroy(foreign));
}

OTHER_CAPTURES_TEST(test_foreign_inline_option)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *capture;
    bg_graph *graph;
    cudaGraph_t foreign;
    for (int allowed = 0; allowed < 2; allowed++) {
        options.foreign_inline = allowed;
        EXPECT_OK(bg_capture_begin(&capture, f->stream, &options));
        EXPECT_CUDA(cudaStreamBeginCapture(f->other, cudaStreamCaptureModeThreadLocal));
        EXPECT_STATUS(BG_CALL(fragile, f->other, .x = f->y), allowed ? BG_OK : BG_ERROR_FOREIGN_CAPTURE);
        EXPECT_CUDA(cudaStreamEndCapture(f->other, &foreign));
        EXPECT_CUDA(cudaGraphDestroy(foreign));
        EXPECT_STATUS(bg_capture_end(capture, &graph), allowed ? BG_OK : BG_ERROR_FOREIGN_CAPTURE);
        if (allowed)
            assert_int_equal(info_of(graph).breaks, 0);
        bg_graph_destroy(graph);
    }
}
