/* Captures and replays: with no break, one, many; counts; inputs that change. */
#include "tests/support/ops.h"

#include <stdlib.h>

static int bodies; /* how often the eager body ran */
BG_EAGER_OP(eager_scaled, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    bodies++;
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}

/* Adds value to x by itself: x is what it holds, plus 1. Shows how often it ran. */
BG_OP(add_to, BG_IN(a), BG_INOUT(x))
{
    return from_cuda(bgk_add(args->x.data, args->x.data, args->a.data, N, stream));
}

static bg_graph *capture(fixture *f, bg_forward forward)
{
    bg_graph *graph;
    bodies = 0;
    EXPECT_OK(bg_capture_forward(&graph, forward, f, f->stream, NULL));
    return graph;
}

static float replay(fixture *f, bg_graph *graph, float x)
{
    put(&f->x, x);
    EXPECT_OK(bg_replay(graph, f->stream));
    return get(&f->y);
}

FIXTURE_PASS(no_break)
{
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2);
    return BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 3);
}

FIXTURE_TEST(test_no_break)
{
    put(&f->x, 1);
    bg_graph *graph = capture(f, no_break);
    bg_graph_info info = info_of(graph);
    EXPECT_VALUE(&f->y, 6); /* the capture is a real pass */
    assert_int_equal(info.segments, 1);
    assert_int_equal(info.breaks, 0);
    assert_int_equal(info.steps, 1);
    assert_int_equal(info.calls, 2);
    assert_int_equal(info.nodes, 2);
    assert_int_equal(info.kernel_nodes, 2);
    assert_int_equal(info.replays, 0);
    assert_true(info.capture_ms > 0 && info.instantiate_ms > 0 && info.instantiate_ms < info.capture_ms);
    assert_true(replay(f, graph, 5) == 30);
    assert_true(replay(f, graph, -1) == -6);
    assert_int_equal(info_of(graph).replays, 2);
    bg_graph_destroy(graph);
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
    bg_graph *graph = capture(f, one_break);
    bg_graph_info info = info_of(graph);
    EXPECT_VALUE(&f->y, 30);
    assert_int_equal(bodies, 1);
    assert_int_equal(info.segments, 2);
    assert_int_equal(info.breaks, 1);
    assert_int_equal(info.steps, 3);
    assert_int_equal(info.calls, 3);
    for (int i = 2; i < 6; i++)
        assert_true(replay(f, graph, (float)i) == 30 * (float)i);
    assert_int_equal(bodies, 5);
    bg_graph_destroy(graph);
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
    bg_graph *graph = capture(f, many_breaks);
    bg_graph_info info = info_of(graph);
    assert_int_equal(info.segments, 21);
    assert_int_equal(info.breaks, 20);
    assert_int_equal(info.steps, 41);
    assert_true(replay(f, graph, 7) == 7);
    bg_graph_destroy(graph);
}

FIXTURE_PASS(break_at_both_ends)
{
    BG_CALL(eager_scaled, stream, .x = f->x, .y = f->y, .factor = 2);
    BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 3);
    return BG_CALL(eager_scaled, stream, .x = f->y, .y = f->y, .factor = 4);
}

FIXTURE_TEST(test_break_at_both_ends)
{
    bg_graph *graph = capture(f, break_at_both_ends);
    bg_graph_info info = info_of(graph);
    assert_int_equal(info.segments, 1); /* empty segments are dropped */
    assert_int_equal(info.breaks, 2);
    assert_int_equal(info.steps, 3);
    assert_true(replay(f, graph, 1) == 24);
    bg_graph_destroy(graph);
}

FIXTURE_PASS(accumulate_and_break)
{
    BG_CALL(add_to, stream, .a = f->x, .x = f->y);
    return bg_break(stream);
}

FIXTURE_TEST(test_expected_breaks)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *graph;

    options.expect_breaks = 20;
    EXPECT_OK(bg_capture_forward(&graph, many_breaks, f, f->stream, &options));
    bg_graph_destroy(graph);
    options.expect_breaks = 1;
    EXPECT_STATUS(bg_capture_forward(&graph, many_breaks, f, f->stream, &options), BG_ERROR_INVALID_ARGUMENT);
    assert_null(graph);
    EXPECT_ERROR(
        "the pass has 20 breaks, but options.expect_breaks is 1: eager_scaled#0 at tests/unit/capture/test_capture.c:");
    EXPECT_ERROR(" and 12 more; declare as eager");
    EXPECT_STATUS(bg_capture_forward(&graph, break_at_both_ends, f, f->stream, &options), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("eager_scaled#1 at tests/unit/capture/test_capture.c:");

    options.state = &f->y;
    options.state_count = 1;
    options.expect_breaks = 0;
    put(&f->x, 1);
    put(&f->y, 5);
    EXPECT_STATUS(bg_capture_forward(&graph, accumulate_and_break, f, f->stream, &options), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("the pass has 1 break, but options.expect_breaks is 0: 1 of bg_break; ");
    EXPECT_VALUE(&f->y, 5);

    EXPECT_OK(bg_override_eager("no_such_op")); /* who says so makes breaks on purpose */
    EXPECT_OK(bg_capture_forward(&graph, many_breaks, f, f->stream, &options));
    bg_graph_destroy(graph);
    EXPECT_OK(bg_override_eager(NULL));
    options.debug = BG_DEBUG_OPS;
    EXPECT_OK(bg_capture_forward(&graph, many_breaks, f, f->stream, &options));
    bg_graph_destroy(graph);
    options.expect_breaks = -2;
    EXPECT_STATUS(bg_capture_forward(&graph, many_breaks, f, f->stream, &options), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("options.expect_breaks is -2; allowed are -1, for any number, and 0 or more");
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
    bg_graph *graph = capture(f, doubled_breaks);
    bg_graph_info info = info_of(graph);
    assert_int_equal(info.segments, 2);
    assert_int_equal(info.breaks, 5);
    assert_int_equal(info.steps, 4);
    assert_true(replay(f, graph, 1) == 210);
    bg_graph_destroy(graph);
}

PASS(nothing, void *user)
{
    return BG_OK;
}

FIXTURE_TEST(test_empty_pass)
{
    bg_graph *graph = capture(f, nothing);
    assert_int_equal(info_of(graph).segments, 0);
    assert_int_equal(info_of(graph).steps, 0);
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_null(bg_graph_segment(graph, 0));
    bg_graph_destroy(graph);
}

FIXTURE_PASS(accumulate)
{
    BG_CALL(add_to, stream, .a = f->x, .x = f->y);
    bg_break(stream);
    return BG_CALL(add_to, stream, .a = f->x, .x = f->y);
}

FIXTURE_TEST(test_a_capture_is_one_pass)
{
    put(&f->x, 1);
    put(&f->y, 0);
    bg_graph *graph = capture(f, accumulate);
    EXPECT_VALUE(&f->y, 2);
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_VALUE(&f->y, 4);
    bg_graph_destroy(graph);
}

FIXTURE_TEST(test_without_launching)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    OWNED_GRAPH(graph);
    options.launch_segments = false;
    put(&f->x, 1);
    put(&f->y, 9);
    bodies = 0;
    EXPECT_OK(bg_capture_forward(&graph, one_break, f, f->stream, &options));
    EXPECT_VALUE(&f->y, 9);
    assert_int_equal(bodies, 0);
    assert_true(replay(f, graph, 2) == 60);
    assert_int_equal(info_of(graph).steps, 3);
}

FIXTURE_PASS(append)
{
    BG_CALL(add_to, stream, .a = f->x, .x = f->y);
    return bg_break(stream) == BG_OK ? BG_ERROR_IO : BG_ERROR_CUDA;
}

FIXTURE_TEST(test_state_is_put_back_after_a_failure)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *graph;
    options.state = &f->y;
    options.state_count = 1;
    put(&f->x, 1);
    put(&f->y, 5);
    EXPECT_STATUS(bg_capture_forward(&graph, append, f, f->stream, &options), BG_ERROR_IO);
    assert_null(graph);
    EXPECT_VALUE(&f->y, 5); /* 6 without options.state: the first segment ran */
    options.state_count = 0;
    EXPECT_STATUS(bg_capture_forward(&graph, append, f, f->stream, &options), BG_ERROR_IO);
    EXPECT_VALUE(&f->y, 6);
}

FIXTURE_TEST(test_state_stays_after_a_pass_that_counts)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    OWNED_GRAPH(graph);
    options.state = &f->y;
    options.state_count = 1;
    put(&f->x, 1);
    put(&f->y, 5);
    EXPECT_OK(bg_capture_forward(&graph, accumulate, f, f->stream, &options));
    EXPECT_VALUE(&f->y, 7);
}

FIXTURE_PASS(state_of_bodies)
{
    add_to_args a = {.a = f->x, .x = f->y};
    return BG_CALL_ARGS(add_to, stream, &a);
}

static bg_status stub_that_writes(void *args, cudaStream_t stream)
{
    add_to_args *a = args;
    return from_cuda(bgk_fill(a->x.data, 100, N, stream));
}

FIXTURE_TEST(test_state_is_put_back_without_launching)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    OWNED_GRAPH(graph);
    options.state = &f->y;
    options.state_count = 1;
    options.launch_segments = false;
    put(&f->x, 1);
    put(&f->y, 5);
    EXPECT_OK(bg_override_eager("add_to"));
    EXPECT_OK(bg_op_set_attributes("add_to", ATTRIBUTES(.capture_stub = stub_that_writes)));
    EXPECT_OK(bg_capture_forward(&graph, state_of_bodies, f, f->stream, &options));
    EXPECT_VALUE(&f->y, 5);
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_VALUE(&f->y, 6);
    EXPECT_OK(bg_op_set_attributes("add_to", NULL));
}

FIXTURE_TEST(test_a_stub_runs_at_capture_only)
{
    OWNED_GRAPH(graph);
    put(&f->x, 1);
    put(&f->y, 5);
    EXPECT_OK(bg_override_eager("add_to"));
    EXPECT_OK(bg_op_set_attributes("add_to", ATTRIBUTES(.capture_stub = stub_that_writes)));
    EXPECT_OK(bg_capture_forward(&graph, state_of_bodies, f, f->stream, NULL));
    EXPECT_VALUE(&f->y, 100);
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_VALUE(&f->y, 101);
    EXPECT_OK(bg_op_set_attributes("add_to", NULL));
}

static int barriers;
static bg_status barrier(void *user)
{
    barriers++;
    return *(bg_status *)user;
}

FIXTURE_TEST(test_barrier)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_status answer = BG_OK;
    bg_graph *graph;
    options.barrier = barrier;
    options.barrier_user = &answer;
    barriers = 0;
    EXPECT_OK(bg_capture_forward(&graph, one_break, f, f->stream, &options));
    assert_int_equal(barriers, 2);
    bg_graph_destroy(graph);
    answer = BG_ERROR_TIMEOUT;
    EXPECT_STATUS(bg_capture_forward(&graph, one_break, f, f->stream, &options), BG_ERROR_TIMEOUT);
    EXPECT_ERROR("options.barrier returned BG_ERROR_TIMEOUT");
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
    assert_true(replay(f, graph, 3) == 12);
    assert_non_null(bg_graph_segment(graph, 0));
    assert_null(bg_graph_segment(graph, 1));
    assert_null(bg_graph_segment(graph, -1));
}

FIXTURE_TEST(test_replay_on_other_streams)
{
    cudaStream_t gone;
    OWNED_GRAPH(graph);
    EXPECT_CUDA(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking));
    EXPECT_OK(bg_capture_forward(&graph, accumulate, f, gone, NULL));
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
    OWNED_GRAPH(graph);
    EXPECT_OK(bg_capture_forward(&graph, one_break, f, cudaStreamPerThread, NULL));
    assert_true(replay(f, graph, 2) == 60);
}

FIXTURE_TEST(test_destroy_with_a_replay_in_flight)
{
    bg_graph *graph = capture(f, many_breaks);
    put(&f->x, 3);
    EXPECT_OK(bg_replay(graph, f->stream));
    bg_graph_destroy(graph);
    EXPECT_VALUE(&f->y, 3);
    bg_graph_destroy(NULL);
}

FIXTURE_TEST(test_destroy_during_another_capture)
{
    bg_graph *first = capture(f, one_break), *second;
    bg_capture *running;
    EXPECT_OK(bg_capture_begin(&running, f->stream, NULL));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 2));
    bg_graph_destroy(first);
    EXPECT_OK(bg_capture_end(running, &second));
    assert_true(replay(f, second, 4) == 8);
    bg_graph_destroy(second);
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
    bg_graph *graph = capture(f, phases);
    assert_int_equal(phase_in_body, BG_PHASE_EAGER);
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_int_equal(phase_in_body, BG_PHASE_REPLAY);
    bg_graph_destroy(graph);
}
