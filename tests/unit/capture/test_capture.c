/* Captures and replays: with no break, one, many; counts; inputs that change. */
#include "tests/support/ops.h"

#include <stdlib.h>

static int bodies; /* how often the eager body ran */
BG_EAGER_OP(eager_scaled, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    bodies++;
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}

#define EXPECT_Y(graph, from, to) EXPECT_REPLAY(graph, f->stream, &f->x, from, &f->y, to)

FIXTURE_PASS(no_break)
{
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2);
    return BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 3);
}

FIXTURE_TEST(test_no_break)
{
    put(&f->x, 1);
    CAPTURED_GRAPH(graph, no_break, f, f->stream, NULL);
    bg_graph_info info = info_of(graph);
    EXPECT_VALUE(&f->y, 6); /* the capture is a real pass */
    EXPECT_COUNTS(graph, 1, 0, 1);
    assert_int_equal(info.calls, 2);
    assert_int_equal(info.nodes, 2);
    assert_int_equal(info.kernel_nodes, 2);
    assert_int_equal(info.replays, 0);
    assert_true(info.capture_ms > 0 && info.instantiate_ms > 0 && info.instantiate_ms < info.capture_ms);
    EXPECT_Y(graph, 5, 30);
    EXPECT_Y(graph, -1, -6);
    assert_int_equal(info_of(graph).replays, 2);
}

FIXTURE_PASS(one_break)
{
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2);
    BG_CALL(eager_scaled, stream, .x = f->y, .y = f->y, .factor = 5);
    return BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 3);
}

FIXTURE_TEST(test_one_break)
{
    put(&f->x, 1);
    bodies = 0;
    CAPTURED_GRAPH(graph, one_break, f, f->stream, NULL);
    EXPECT_VALUE(&f->y, 30);
    assert_int_equal(bodies, 1);
    EXPECT_COUNTS(graph, 2, 1, 3);
    assert_int_equal(info_of(graph).calls, 3);
    for (int i = 2; i < 6; i++)
        EXPECT_Y(graph, (float)i, 30 * (float)i);
    assert_int_equal(bodies, 5);
}

FIXTURE_PASS(many_breaks)
{
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 1);
    for (int i = 0; i < 20; i++) {
        BG_CALL(eager_scaled, stream, .x = f->y, .y = f->y, .factor = 2);
        BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 0.5f);
    }
    return BG_OK;
}

FIXTURE_TEST(test_many_breaks)
{
    CAPTURED_GRAPH(graph, many_breaks, f, f->stream, NULL);
    EXPECT_COUNTS(graph, 21, 20, 41);
    EXPECT_Y(graph, 7, 7);
}

FIXTURE_PASS(break_at_both_ends)
{
    BG_CALL(eager_scaled, stream, .x = f->x, .y = f->y, .factor = 2);
    BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 3);
    return BG_CALL(eager_scaled, stream, .x = f->y, .y = f->y, .factor = 4);
}

FIXTURE_TEST(test_break_at_both_ends)
{
    CAPTURED_GRAPH(graph, break_at_both_ends, f, f->stream, NULL);
    EXPECT_COUNTS(graph, 1, 2, 3); /* empty segments are dropped */
    EXPECT_Y(graph, 1, 24);
}

FIXTURE_PASS(accumulate_and_break)
{
    BG_CALL(sum, stream, .x = f->x, .y = f->y);
    return bg_break(stream);
}

FIXTURE_TEST(test_expected_breaks)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    options.expect_breaks = 20;
    bg_graph_destroy(CAPTURED_BY(many_breaks, f, f->stream, &options));
    options.expect_breaks = 1;
    EXPECT_NO_CAPTURE(
        many_breaks, f, f->stream, &options, BG_ERROR_INVALID_ARGUMENT,
        "the pass has 20 breaks, but options.expect_breaks is 1: eager_scaled#0 at tests/unit/capture/test_capture.c:",
        " and 12 more; correct which ops");
    EXPECT_NO_CAPTURE(break_at_both_ends, f, f->stream, &options, BG_ERROR_INVALID_ARGUMENT,
                      "eager_scaled#1 at tests/unit/capture/test_capture.c:");

    options.state = &f->y;
    options.state_count = 1;
    options.expect_breaks = 0;
    put(&f->x, 1);
    put(&f->y, 5);
    EXPECT_NO_CAPTURE(accumulate_and_break, f, f->stream, &options, BG_ERROR_INVALID_ARGUMENT,
                      "the pass has 1 break, but options.expect_breaks is 0: 1 of bg_break; ");
    EXPECT_VALUE(&f->y, 5);

    EXPECT_OK(bg_override_eager("no_such_op")); /* who says so makes breaks on purpose */
    bg_graph_destroy(CAPTURED_BY(many_breaks, f, f->stream, &options));
    EXPECT_OK(bg_override_eager(NULL));
    options.debug = BG_DEBUG_OPS;
    bg_graph_destroy(CAPTURED_BY(many_breaks, f, f->stream, &options));
    options.expect_breaks = -2;
    EXPECT_NO_CAPTURE(many_breaks, f, f->stream, &options, BG_ERROR_INVALID_ARGUMENT,
                      "options.expect_breaks is -2; allowed are -1, for any number, and 0 or more");
}

FIXTURE_PASS(doubled_breaks)
{
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2);
    bg_break(stream);
    bg_break(stream);
    BG_CALL(eager_scaled, stream, .x = f->y, .y = f->y, .factor = 3);
    BG_CALL(eager_scaled, stream, .x = f->y, .y = f->y, .factor = 5);
    bg_break(stream);
    return BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 7);
}

FIXTURE_TEST(test_doubled_breaks)
{
    CAPTURED_GRAPH(graph, doubled_breaks, f, f->stream, NULL);
    EXPECT_COUNTS(graph, 2, 5, 4);
    EXPECT_Y(graph, 1, 210);
}

PASS(nothing, void *user)
{
    return BG_OK;
}

FIXTURE_TEST(test_empty_pass)
{
    CAPTURED_GRAPH(graph, nothing, f, f->stream, NULL);
    assert_int_equal(info_of(graph).segments, 0);
    assert_int_equal(info_of(graph).steps, 0);
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_null(bg_graph_segment(graph, 0));
}

FIXTURE_PASS(accumulate)
{
    BG_CALL(sum, stream, .x = f->x, .y = f->y);
    bg_break(stream);
    return BG_CALL(sum, stream, .x = f->x, .y = f->y);
}

FIXTURE_TEST(test_a_capture_is_one_pass)
{
    put(&f->x, 1);
    put(&f->y, 0);
    CAPTURED_GRAPH(graph, accumulate, f, f->stream, NULL);
    EXPECT_VALUE(&f->y, 2);
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_VALUE(&f->y, 4);
}

FIXTURE_TEST(test_without_launching)
{
    put(&f->x, 1);
    put(&f->y, 9);
    bodies = 0;
    CAPTURED_GRAPH(graph, one_break, f, f->stream, UNLAUNCHED_OPTIONS());
    EXPECT_VALUE(&f->y, 9);
    assert_int_equal(bodies, 0);
    EXPECT_Y(graph, 2, 60);
    assert_int_equal(info_of(graph).steps, 3);
}

FIXTURE_PASS(append)
{
    BG_CALL(sum, stream, .x = f->x, .y = f->y);
    return bg_break(stream) == BG_OK ? BG_ERROR_IO : BG_ERROR_CUDA;
}

#define WITH_STATE(launched) LAUNCH_OPTIONS(launched, .state = &f->y, .state_count = 1)

FIXTURE_TEST(test_state_is_put_back_after_a_failure)
{
    put(&f->x, 1);
    put(&f->y, 5);
    EXPECT_NO_CAPTURE(append, f, f->stream, WITH_STATE(true), BG_ERROR_IO);
    EXPECT_VALUE(&f->y, 5); /* 6 without options.state: the first segment ran */
    EXPECT_NO_CAPTURE(append, f, f->stream, NULL, BG_ERROR_IO);
    EXPECT_VALUE(&f->y, 6);
}

FIXTURE_TEST(test_state_stays_after_a_pass_that_counts)
{
    put(&f->x, 1);
    put(&f->y, 5);
    CAPTURED_GRAPH(graph, accumulate, f, f->stream, WITH_STATE(true));
    EXPECT_VALUE(&f->y, 7);
}

FIXTURE_PASS(state_of_bodies)
{
    sum_args a = {.x = f->x, .y = f->y};
    return BG_CALL_ARGS(sum, stream, &a);
}

static bg_status stub_that_writes(void *args, cudaStream_t stream)
{
    sum_args *a = args;
    return from_cuda(bgk_fill(a->y.data, 100, N, stream));
}

/* y is that after the capture, and grows by 1 in a replay. */
static void expect_stub(fixture *f, const bg_capture_options *options, float y)
{
    put(&f->x, 1);
    put(&f->y, 5);
    EXPECT_OK(bg_override_eager("sum"));
    EXPECT_OK(bg_op_set_attributes("sum", ATTRIBUTES(.capture_stub = stub_that_writes)));
    CAPTURED_GRAPH(graph, state_of_bodies, f, f->stream, options);
    EXPECT_VALUE(&f->y, y);
    EXPECT_Y(graph, 1, y + 1);
    EXPECT_OK(bg_op_set_attributes("sum", NULL));
}

FIXTURE_TEST(test_state_is_put_back_without_launching)
{
    expect_stub(f, WITH_STATE(false), 5);
}

FIXTURE_TEST(test_a_stub_runs_at_capture_only)
{
    expect_stub(f, NULL, 100);
}

static int barriers;
static bg_status barrier(void *user)
{
    barriers++;
    return *(bg_status *)user;
}

FIXTURE_TEST(test_barrier)
{
    bg_status answer = BG_OK;
    const bg_capture_options *options = OPTIONS(.barrier = barrier, .barrier_user = &answer);
    barriers = 0;
    bg_graph_destroy(CAPTURED_BY(one_break, f, f->stream, options));
    assert_int_equal(barriers, 2);
    answer = BG_ERROR_TIMEOUT;
    EXPECT_NO_CAPTURE(one_break, f, f->stream, options, BG_ERROR_TIMEOUT, "options.barrier returned BG_ERROR_TIMEOUT");
}

FIXTURE_TEST(test_begin_and_end)
{
    bg_capture *capture;
    OWNED_GRAPH(graph);
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    assert_int_equal(bg_current_phase(), BG_PHASE_CAPTURE);
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 2));
    EXPECT_OK(BG_CALL(eager_scaled, f->stream, .x = f->y, .y = f->y, .factor = 2));
    EXPECT_OK(bg_capture_end(capture, &graph));
    assert_int_equal(bg_current_phase(), BG_PHASE_PLAIN);
    EXPECT_Y(graph, 3, 12);
    assert_non_null(bg_graph_segment(graph, 0));
    assert_null(bg_graph_segment(graph, 1));
    assert_null(bg_graph_segment(graph, -1));
}

FIXTURE_TEST(test_replay_on_other_streams)
{
    cudaStream_t gone;
    EXPECT_CUDA(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking));
    CAPTURED_GRAPH(graph, accumulate, f, gone, NULL);
    EXPECT_CUDA(cudaStreamDestroy(gone)); /* the capture's stream need not outlive it */
    put(&f->x, 1);
    put(&f->y, 0);
    for (int i = 0; i < 10; i++)
        EXPECT_OK(bg_replay(graph, i % 2 ? f->stream : f->other));
    EXPECT_VALUE(&f->y, 20); /* in order, though on two streams */
    EXPECT_OK(bg_replay(graph, cudaStreamPerThread));
    EXPECT_VALUE(&f->y, 22);
}

FIXTURE_TEST(test_capture_on_the_per_thread_stream)
{
    CAPTURED_GRAPH(graph, one_break, f, cudaStreamPerThread, NULL);
    EXPECT_Y(graph, 2, 60);
}

FIXTURE_TEST(test_destroy_with_a_replay_in_flight)
{
    bg_graph *graph = CAPTURED_BY(many_breaks, f, f->stream, NULL);
    put(&f->x, 3);
    EXPECT_OK(bg_replay(graph, f->stream));
    bg_graph_destroy(graph);
    EXPECT_VALUE(&f->y, 3);
    bg_graph_destroy(NULL);
}

FIXTURE_TEST(test_destroy_during_another_capture)
{
    bg_graph *first = CAPTURED_BY(one_break, f, f->stream, NULL);
    OWNED_GRAPH(second);
    bg_capture *running;
    EXPECT_OK(bg_capture_begin(&running, f->stream, NULL));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 2));
    bg_graph_destroy(first);
    EXPECT_OK(bg_capture_end(running, &second));
    EXPECT_Y(second, 4, 8);
}

static bg_phase phase_in_body;
BG_EAGER_OP(tell_phase)
{
    phase_in_body = bg_current_phase();
    return BG_OK;
}

PASS(phases, void *user)
{
    assert_int_equal(bg_current_phase(), BG_PHASE_CAPTURE);
    return BG_CALL(tell_phase, stream);
}

FIXTURE_TEST(test_phases)
{
    EXPECT_OK(BG_CALL(tell_phase, f->stream));
    assert_int_equal(phase_in_body, BG_PHASE_PLAIN);
    CAPTURED_GRAPH(graph, phases, f, f->stream, NULL);
    assert_int_equal(phase_in_body, BG_PHASE_EAGER);
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_int_equal(phase_in_body, BG_PHASE_REPLAY);
}
