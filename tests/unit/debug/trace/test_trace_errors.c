/* Timelines that cannot be made: the error says why, no file is left, and the graph is usable. */
#include "tests/support/test.h"
#include "tests/support/tools/picture_support.h"
#include "tests/support/ops.h"

#include <stdio.h>
#include <stdlib.h>

static void expect_traced(fixture *f, bg_graph *graph)
{
    EXPECT_OK(bg_trace(graph, f->stream, test_file));
    assert_int_equal(remove(test_file), 0);
    assert_int_equal(count_files(test_directory), 0);
}

PICTURE_TEST(test_a_body_fails)
{
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    uint64_t replays = info_of(graph).replays;
    for (int round = 1; round <= 2; round++) { /* in the first replay, and in that by nodes */
        picture_fails = round;
        EXPECT_STATUS(bg_trace(graph, f->stream, test_file), BG_ERROR_OP);
        EXPECT_ERROR("move#0");
        EXPECT_ERROR("picture_support.c:");
        assert_int_equal(count_files(test_directory), 0);
        assert_int_equal(info_of(graph).replays, replays + (uint64_t)round - 1);
        expect_usable(f, f->stream);
    }
    expect_traced(f, graph);
}

PICTURE_TEST(test_no_place)
{
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    char nowhere[128];
    snprintf(nowhere, sizeof nowhere, "%s/nowhere/picture", test_file);
    EXPECT_STATUS(bg_trace(graph, f->stream, nowhere), BG_ERROR_IO);
    EXPECT_ERROR("bg_trace: ");
    EXPECT_ERROR("No such file");
    assert_int_equal(count_files(test_directory), 0);
    expect_traced(f, graph);
}

PICTURE_TEST(test_captured_streams)
{
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    OWNED_GRAPH(second);
    OWNED_CUDA_GRAPH(foreign);
    bg_capture *capture;
    EXPECT_OK(bg_capture_begin(&capture, f->other, NULL));
    EXPECT_STATUS(bg_trace(graph, f->other, test_file), BG_ERROR_ALREADY_CAPTURING);
    expect_traced(f, graph); /* beside it */
    BG_CALL(sum, f->other, .x = f->x, .y = f->y);
    EXPECT_OK(bg_capture_end(capture, &second));
    EXPECT_OK(bg_replay(second, f->stream));
    EXPECT_CUDA(cudaStreamBeginCapture(f->other, cudaStreamCaptureModeThreadLocal));
    EXPECT_STATUS(bg_trace(graph, f->other, test_file), BG_ERROR_FOREIGN_CAPTURE);
    EXPECT_CUDA(cudaStreamEndCapture(f->other, &foreign));
    expect_traced(f, graph);
}

static bg_graph *own;
static bg_status traced;

BG_EAGER_OP(trace_itself)
{
    (void)args;
    if (own != NULL)
        traced = bg_trace(own, stream, test_file);
    return BG_OK;
}

static bg_status tracing_pass(void *user, cudaStream_t stream)
{
    (void)user;
    return BG_CALL(trace_itself, stream);
}

PICTURE_TEST(test_busy)
{
    own = NULL;
    OWN_GRAPH(graph, capture_picture(f, tracing_pass));
    own = graph;
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_int_equal(traced, BG_ERROR_BUSY);
    assert_int_equal(count_files(test_directory), 0);
    own = NULL;
}

PICTURE_TEST(test_arguments)
{
    OWN_GRAPH(graph, capture_picture(f, broken_pass));
    EXPECT_STATUS(bg_trace(NULL, f->stream, test_file), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_trace(graph, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("bg_trace: path is NULL");
    EXPECT_STATUS(bg_trace(graph, NULL, test_file), BG_ERROR_INVALID_ARGUMENT);
    assert_int_equal(count_files(test_directory), 0);
}

PICTURE_TEST(test_stale_address)
{
    EXPECT_OK(bg_ledger_alloc(f->y.data, N * sizeof(float), "y"));
    OWN_GRAPH(graph, capture_of(broken_pass, f, f->stream, OPTIONS(.check = BG_REPLAY_CHECK_ON)));
    expect_traced(f, graph);
    uint64_t replays = info_of(graph).replays;
    EXPECT_OK(bg_ledger_free(f->y.data));
    EXPECT_STATUS(bg_trace(graph, f->stream, test_file), BG_ERROR_STALE_ADDRESS);
    assert_int_equal(count_files(test_directory), 0);
    assert_int_equal(info_of(graph).replays, replays);
}
