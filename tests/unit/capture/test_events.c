/* Events in a capture: forks and joins by them, and all the ways in which one crosses a break. */
#include "tests/support/test.h"
#include "tests/support/event_support.h"
#include "tests/support/ops.h"

#include <breakgraph/cublas.h>

/* Does its work on a stream of its own, after the event e, and joins that to stream. */
BG_EAGER_OP(scale_after_e, BG_INOUT(x), BG_VALUE(float, factor))
{
    bg_status status = bg_stream_wait_event(side, e);
    if (status == BG_OK)
        status = from_cuda(bgk_scale(args->x.data, args->x.data, args->factor, N, side));
    if (status == BG_OK)
        status = bg_event_record(g, side);
    return status == BG_OK ? bg_stream_wait_event(stream, g) : status;
}

/* Leaves its work on a stream of its own; f tells when it is done. */
BG_EAGER_OP(scale_until_f, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    bg_status status = bg_stream_wait_stream(side, stream);
    if (status == BG_OK)
        status = from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, side));
    return status == BG_OK ? bg_event_record(f, side) : status;
}

/* The pass gives z = factor * x, as it is and in every debug mode, at capture and in replays on several streams. */
static void expect_pass(fixture *t, bg_forward forward, float factor, int segments)
{
    static const bg_debug modes[] = {BG_DEBUG_OFF, BG_DEBUG_SYNC, BG_DEBUG_OPS, BG_DEBUG_FORWARD};
    for (size_t mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
        bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
        bg_graph *graph;
        options.debug = modes[mode];
        put(&t->x, 1);
        EXPECT_OK(bg_capture_forward(&graph, forward, t, t->stream, &options));
        assert_true(get(&t->z) == factor);
        for (int i = 2; i < 6; i++) {
            put(&t->x, (float)i);
            EXPECT_OK(bg_replay(graph, i % 2 ? t->stream : t->other));
            assert_true(get(&t->z) == factor * (float)i);
        }
        if (modes[mode] == BG_DEBUG_OFF)
            assert_int_equal(info_of(graph).segments, segments);
        bg_graph_destroy(graph);
    }
    put(&t->x, 7);
    EXPECT_OK(forward(t, t->stream)); /* and outside a capture */
    assert_true(get(&t->z) == factor * 7);
}

/* ---- within a segment ------------------------------------------------------------------------------------------ */

static bg_status fork_and_join(void *user, cudaStream_t stream)
{
    fixture *t = user;
    bg_event_record(e, stream);
    bg_stream_wait_event(t->other, e);
    BG_CALL(scale, t->other, .x = t->x, .y = t->y, .factor = 2);
    BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 3);
    bg_event_record(f, t->other);
    bg_stream_wait_event(stream, f);
    return BG_CALL(plus, stream, .x = t->y, .y = t->z, .z = t->z);
}

#define EVENTS_TEST(name) TEST_F(name, event_setup, event_teardown, fixture *f)

EVENTS_TEST(test_fork_and_join)
{
    expect_pass(f, fork_and_join, 5, 1);
}

/* The second record replaces the first. */
static bg_status one_event_twice(void *user, cudaStream_t stream)
{
    fixture *t = user;
    bg_event_record(e, stream);
    bg_stream_wait_event(t->other, e);
    BG_CALL(scale, t->other, .x = t->x, .y = t->y, .factor = 2);
    bg_event_record(e, t->other);
    bg_stream_wait_event(stream, e);
    BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 3);
    bg_event_record(e, stream);
    bg_stream_wait_event(t->other, e);
    BG_CALL(scale, t->other, .x = t->z, .y = t->z, .factor = 5);
    bg_event_record(e, t->other);
    return bg_stream_wait_event(stream, e);
}

EVENTS_TEST(test_one_event_twice)
{
    expect_pass(f, one_event_twice, 30, 1);
}

/* The fork of a fork is joined first, by the origin; the other one after it. */
static bg_status fork_of_a_fork(void *user, cudaStream_t stream)
{
    fixture *t = user;
    bg_event_record(e, stream);
    bg_stream_wait_event(t->other, e);
    BG_CALL(scale, t->other, .x = t->x, .y = t->y, .factor = 2);
    bg_event_record(f, t->other);
    bg_stream_wait_event(third, f);
    BG_CALL(scale, third, .x = t->y, .y = t->z, .factor = 4);
    BG_CALL(scale, t->other, .x = t->y, .y = t->y, .factor = 1);
    bg_event_record(g, third);
    bg_stream_wait_event(stream, g);
    bg_event_record(e, t->other);
    bg_stream_wait_event(stream, e);
    return BG_CALL(plus, stream, .x = t->y, .y = t->z, .z = t->z);
}

/* third writes z while other writes y: apart only by f. */
TEST_F(test_fork_of_a_fork, event_setup, event_teardown, fixture *t)
{
    OWNED_GRAPH(graph);
    put(&t->x, 3);
    EXPECT_OK(bg_capture_forward(&graph, fork_of_a_fork, t, t->stream, NULL));
    assert_true(get(&t->z) == 30);
    put(&t->x, 5);
    EXPECT_OK(bg_replay(graph, t->other));
    assert_true(get(&t->z) == 50);
}

static bg_status fork_again(void *user, cudaStream_t stream)
{
    fixture *t = user;
    for (int i = 0; i < 3; i++) {
        bg_event_record(e, stream);
        bg_stream_wait_event(t->other, e);
        BG_CALL(scale, t->other, .x = i ? t->y : t->x, .y = t->y, .factor = 2);
        bg_event_record(f, t->other);
        bg_stream_wait_event(stream, f);
        BG_CALL(scale, stream, .x = t->y, .y = t->y, .factor = 3);
    }
    return BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 1);
}

EVENTS_TEST(test_fork_join_and_fork_again)
{
    expect_pass(f, fork_again, 216, 1);
}

/* Events of the pass's own, gone before it ends. */
static bg_status short_lived(void *user, cudaStream_t stream)
{
    fixture *t = user;
    for (int i = 0; i < 2; i++) {
        cudaEvent_t fork = NULL, join = NULL;
        EXPECT_CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
        EXPECT_CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
        bg_event_record(fork, stream);
        bg_stream_wait_event(t->other, fork);
        BG_CALL(scale, t->other, .x = t->x, .y = t->y, .factor = 2);
        bg_event_record(join, t->other);
        bg_stream_wait_event(stream, join);
        EXPECT_OK(bg_event_destroy(fork));
        EXPECT_OK(bg_event_destroy(join));
        BG_CALL(eager_scale, stream, .x = t->y, .factor = 3);
    }
    return BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 1);
}

EVENTS_TEST(test_events_destroyed_in_the_pass)
{
    expect_pass(f, short_lived, 6, 3);
}

/* ---- across breaks --------------------------------------------------------------------------------------------- */

/* e is waited on by a member, f by the origin, after the break that joined them. */
static bg_status member_and_origin(void *user, cudaStream_t stream)
{
    fixture *t = user;
    bg_event_record(g, stream);
    bg_stream_wait_event(t->other, g);
    BG_CALL(scale, stream, .x = t->x, .y = t->y, .factor = 2);
    BG_CALL(scale, t->other, .x = t->x, .y = t->z, .factor = 3);
    bg_event_record(e, stream);
    bg_event_record(f, t->other);
    BG_CALL(eager_scale, stream, .x = t->y, .factor = 5);
    bg_stream_wait_event(t->other, e);
    BG_CALL(scale, t->other, .x = t->y, .y = t->y, .factor = 7);
    bg_event_record(e, t->other);
    bg_stream_wait_event(stream, f);
    bg_stream_wait_event(stream, e);
    return BG_CALL(plus, stream, .x = t->y, .y = t->z, .z = t->z);
}

EVENTS_TEST(test_waited_on_by_a_member_and_the_origin)
{
    expect_pass(f, member_and_origin, 73, 2);
}

/* No stream is forked before the break, and third begins with what the origin has not waited for. */
static bg_status idle_stream(void *user, cudaStream_t stream)
{
    fixture *t = user;
    BG_CALL(scale, stream, .x = t->x, .y = t->y, .factor = 2);
    bg_event_record(e, stream);
    bg_break(stream);
    bg_break(stream);
    BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 3);
    bg_stream_wait_event(third, e);
    BG_CALL(scale, third, .x = t->y, .y = t->y, .factor = 5);
    bg_event_record(f, third);
    bg_stream_wait_event(stream, f);
    return BG_CALL(plus, stream, .x = t->y, .y = t->z, .z = t->z);
}

static size_t root_count(const bg_graph *graph, int segment)
{
    size_t roots = 0;
    EXPECT_CUDA(cudaGraphGetRootNodes(bg_graph_segment((bg_graph *)graph, segment), NULL, &roots));
    return roots;
}

TEST_F(test_waited_on_by_an_idle_stream, event_setup, event_teardown, fixture *t)
{
    OWNED_GRAPH(graph);
    expect_pass(t, idle_stream, 13, 2);
    EXPECT_OK(bg_capture_forward(&graph, idle_stream, t, t->stream, NULL));
    assert_int_equal(root_count(graph, 1), 2); /* it waits for the break alone */
    assert_int_equal(info_of(graph).steps, 2); /* and nothing is added */
}

static bg_status forked_and_idle(void *user, cudaStream_t stream)
{
    fixture *t = user;
    BG_CALL(scale, stream, .x = t->x, .y = t->y, .factor = 2);
    bg_event_record(e, stream);
    bg_stream_wait_event(t->other, e);
    bg_break(stream);
    BG_CALL(scale, t->other, .x = t->y, .y = t->z, .factor = 3);
    bg_event_record(f, t->other);
    bg_break(stream);
    bg_break(stream);
    bg_stream_wait_event(stream, f);
    return BG_CALL(scale, stream, .x = t->z, .y = t->z, .factor = 5);
}

EVENTS_TEST(test_forked_then_idle_at_a_break)
{
    expect_pass(f, forked_and_idle, 30, 3);
}

static bg_status eager_on_a_fork(void *user, cudaStream_t stream)
{
    fixture *t = user;
    bg_event_record(e, stream);
    bg_stream_wait_event(t->other, e);
    BG_CALL(scale, t->other, .x = t->x, .y = t->z, .factor = 2);
    BG_CALL(eager_scale, t->other, .x = t->z, .factor = 3);
    BG_CALL(scale, t->other, .x = t->z, .y = t->z, .factor = 5);
    bg_event_record(e, t->other);
    return bg_stream_wait_event(stream, e);
}

EVENTS_TEST(test_eager_on_a_fork)
{
    expect_pass(f, eager_on_a_fork, 30, 2);
}

/* A body and its stream outside wait for a segment's event, in every replay; twice, which is one record. */
static bg_status waited_on_in_a_body(void *user, cudaStream_t stream)
{
    fixture *t = user;
    BG_CALL(scale, stream, .x = t->x, .y = t->y, .factor = 2);
    bg_event_record(e, stream);
    BG_CALL(scale_after_e, stream, .x = t->y, .factor = 3);
    BG_CALL(scale_after_e, stream, .x = t->y, .factor = 5);
    return BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 1);
}

TEST_F(test_waited_on_in_a_body, event_setup, event_teardown, fixture *t)
{
    OWNED_GRAPH(graph);
    expect_pass(t, waited_on_in_a_body, 30, 2);
    EXPECT_OK(bg_capture_forward(&graph, waited_on_in_a_body, t, t->stream, NULL));
    assert_int_equal(info_of(graph).steps, 5); /* two segments, two calls, one record */
}

/* An event of a body orders a segment after work that the body left on another stream. */
static bg_status recorded_in_a_body(void *user, cudaStream_t stream)
{
    fixture *t = user;
    BG_CALL(scale_until_f, stream, .x = t->x, .y = t->y, .factor = 2);
    BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 3);
    bg_stream_wait_event(stream, f);
    bg_stream_wait_event(stream, f);
    return BG_CALL(plus, stream, .x = t->y, .y = t->z, .z = t->z);
}

TEST_F(test_recorded_in_a_body, event_setup, event_teardown, fixture *t)
{
    OWNED_GRAPH(graph);
    expect_pass(t, recorded_in_a_body, 5, 1);
    EXPECT_OK(bg_capture_forward(&graph, recorded_in_a_body, t, t->stream, NULL));
    assert_int_equal(info_of(graph).steps, 3); /* a call, a wait, a segment */
}

/* After the wait the event is used again, in the same segment and for another one. */
static bg_status recorded_in_a_body_and_after(void *user, cudaStream_t stream)
{
    fixture *t = user;
    BG_CALL(scale_until_f, stream, .x = t->x, .y = t->y, .factor = 2);
    bg_break(stream);
    bg_stream_wait_event(stream, f);
    bg_event_record(f, stream);
    bg_stream_wait_event(t->other, f);
    BG_CALL(scale, t->other, .x = t->y, .y = t->y, .factor = 3);
    bg_event_record(f, t->other);
    bg_break(stream);
    bg_stream_wait_event(stream, f);
    return BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 5);
}

EVENTS_TEST(test_recorded_in_a_body_and_used_again)
{
    expect_pass(f, recorded_in_a_body_and_after, 30, 2);
}

/* Nothing runs at capture: what the body records is known in replays alone. */
TEST_F(test_recorded_in_a_body_that_does_not_run, event_setup, event_teardown, fixture *t)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    OWNED_GRAPH(graph);
    options.launch_segments = false;
    EXPECT_OK(bg_capture_forward(&graph, recorded_in_a_body, t, t->stream, &options));
    for (int i = 1; i < 4; i++) {
        put(&t->x, (float)i);
        EXPECT_OK(bg_replay(graph, t->stream));
        assert_true(get(&t->z) == 5 * (float)i);
    }
}

/* So are its waits: e goes by the record of each replay, f was taken up before the body. */
static bg_status waited_on_unseen(void *user, cudaStream_t stream)
{
    fixture *t = user;
    bg_event_record(f, stream);
    bg_stream_wait_event(t->other, f);
    BG_CALL(scale, t->other, .x = t->x, .y = t->y, .factor = 2);
    bg_event_record(f, t->other);
    bg_stream_wait_event(stream, f);
    bg_event_record(e, stream);
    BG_CALL(scale_after_e, stream, .x = t->y, .factor = 3);
    return BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 1);
}

TEST_F(test_waited_on_in_a_body_that_does_not_run, event_setup, event_teardown, fixture *t)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    OWNED_GRAPH(graph);
    options.launch_segments = false;
    EXPECT_OK(bg_capture_forward(&graph, waited_on_unseen, t, t->stream, &options));
    assert_int_equal(info_of(graph).steps, 4); /* two segments, a call, a record */
    for (int i = 1; i < 4; i++) {
        put(&t->x, (float)i);
        EXPECT_OK(bg_replay(graph, t->stream));
        assert_true(get(&t->z) == 6 * (float)i);
    }
}

/* An event destroyed in the pass is nobody's any more: replays do not touch it. */
static bg_status destroyed_after_a_body(void *user, cudaStream_t stream)
{
    fixture *t = user;
    cudaEvent_t event = NULL;
    EXPECT_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    BG_CALL(scale, stream, .x = t->x, .y = t->y, .factor = 2);
    bg_event_record(event, stream);
    BG_CALL(eager_scale, stream, .x = t->y, .factor = 3);
    EXPECT_OK(bg_event_destroy(event));
    return BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 1);
}

TEST_F(test_destroyed_after_a_body_that_does_not_run, event_setup, event_teardown, fixture *t)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    OWNED_GRAPH(graph);
    options.launch_segments = false;
    options.debug = BG_DEBUG_SYNC;
    EXPECT_OK(bg_capture_forward(&graph, destroyed_after_a_body, t, t->stream, &options));
    assert_int_equal(info_of(graph).steps, 6); /* two segments, a call, each looked at */
    put(&t->x, 5);
    EXPECT_OK(bg_replay(graph, t->stream));
    assert_true(get(&t->z) == 30);
}

/* side waits for the body's event: both are outside, and stay there. */
static bg_status outside_after_a_body(void *user, cudaStream_t stream)
{
    fixture *t = user;
    BG_CALL(scale_until_f, stream, .x = t->x, .y = t->y, .factor = 2);
    bg_stream_wait_event(third, f);
    BG_CALL(scale, third, .x = t->y, .y = t->z, .factor = 3);
    return BG_OK;
}

TEST_F(test_a_stream_outside_stays_there, event_setup, event_teardown, fixture *t)
{
    OWNED_GRAPH(graph);
    put(&t->x, 1);
    EXPECT_OK(bg_capture_forward(&graph, outside_after_a_body, t, t->stream, NULL));
    assert_int_equal(info_of(graph).calls, 1);
    assert_int_equal(info_of(graph).segments, 0);
    assert_true(get(&t->z) == 6);
}

/* ---- after the end --------------------------------------------------------------------------------------------- */

static bg_status timed(void *user, cudaStream_t stream)
{
    fixture *t = user;
    bg_event_record(first, stream);
    BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 2);
    bg_break(stream);
    bg_event_record(last, stream);
    return bg_event_record(e, stream);
}

static void expect_answers(fixture *t)
{
    float milliseconds = -1;
    EXPECT_CUDA(cudaStreamWaitEvent(side, e, 0));
    EXPECT_CUDA(bgk_scale(t->y.data, t->z.data, 3, N, side));
    EXPECT_CUDA(cudaEventSynchronize(last));
    EXPECT_CUDA(cudaEventQuery(first));
    EXPECT_CUDA(cudaEventElapsedTime(&milliseconds, first, last));
    assert_true(milliseconds >= 0);
}

TEST_F(test_asked_after_the_end, event_setup, event_teardown, fixture *t)
{
    OWNED_GRAPH(graph);
    put(&t->x, 1);
    EXPECT_OK(bg_capture_forward(&graph, timed, t, t->stream, NULL));
    expect_answers(t);
    assert_true(get(&t->y) == 6); /* side waited for the pass */
    EXPECT_OK(bg_replay(graph, t->stream));
    expect_answers(t);
}

static bg_status timed_and_failing(void *user, cudaStream_t stream)
{
    timed(user, stream);
    return BG_ERROR_IO;
}

TEST_F(test_asked_after_a_capture_that_failed, event_setup, event_teardown, fixture *t)
{
    bg_capture *capture;
    bg_graph *graph;
    EXPECT_STATUS(bg_capture_forward(&graph, timed_and_failing, t, t->stream, NULL), BG_ERROR_IO);
    expect_answers(t);
    EXPECT_OK(bg_capture_begin(&capture, t->stream, NULL));
    EXPECT_OK(timed(t, t->stream));
    bg_capture_abort(capture);
    expect_answers(t);
}

/* ---- libraries ------------------------------------------------------------------------------------------------- */

static cublasHandle_t cublas;

/* y = x x[0], of N numbers: what cuBLAS launches, and the streams that it forks inside, are its own. */
BG_OP(square, BG_IN(x), BG_OUT(y))
{
    const float one = 1, zero = 0;
    bg_status status = bg_cublas_bind(cublas, stream, NULL);
    if (status == BG_OK && cublasSgemm(cublas, CUBLAS_OP_N, CUBLAS_OP_N, N, 1, 1, &one, args->x.data, N, args->x.data,
                                       1, &zero, args->y.data, N) != CUBLAS_STATUS_SUCCESS)
        status = BG_ERROR_CUBLAS;
    return status;
}

/* z = x^2 * 2 + x^2 for x that is the same everywhere, one product on each stream, with a break between. */
static bg_status products(void *user, cudaStream_t stream)
{
    fixture *t = user;
    bg_event_record(e, stream);
    bg_stream_wait_event(t->other, e);
    BG_CALL(square, t->other, .x = t->x, .y = t->y);
    bg_event_record(f, t->other);
    BG_CALL(eager_scale, stream, .x = t->y, .factor = 2);
    bg_stream_wait_event(stream, f);
    BG_CALL(square, stream, .x = t->x, .y = t->z);
    return BG_CALL(plus, stream, .x = t->y, .y = t->z, .z = t->z);
}

TEST_F(test_cublas_on_forked_streams, event_setup, event_teardown, fixture *t)
{
    bg_graph *graph;
    assert_int_equal(cublasCreate(&cublas), CUBLAS_STATUS_SUCCESS);
    put(&t->x, 1);
    EXPECT_OK(bg_capture_forward(&graph, products, t, t->stream, NULL));
    assert_true(get(&t->z) == 3);
    for (int i = 2; i < 5; i++) {
        put(&t->x, (float)i);
        EXPECT_OK(bg_replay(graph, t->stream));
        assert_true(get(&t->z) == 3 * (float)i * (float)i);
    }
    bg_graph_destroy(graph);
    bg_workspace_release(cublas);
    assert_int_equal(cublasDestroy(cublas), CUBLAS_STATUS_SUCCESS);
}

/* ---- work that begins in one segment and ends in another ------------------------------------------------------- */

/* Begins as soon as e is reached, and leaves its work on a stream of its own; f tells when it is done. */
BG_EAGER_OP(begin_after_e, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    bg_status status = bg_stream_wait_event(side, e);
    if (status == BG_OK)
        status = from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, side));
    return status == BG_OK ? bg_event_record(f, side) : status;
}

/* An op that records inside its body, which runs at a break in the debug mode ops. */
BG_OP(scale_and_tell, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    bg_status status = from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
    return status == BG_OK ? bg_event_record_at(e, stream, cudaEventRecordExternal, BG_SITE) : status;
}

enum { AHEAD = 20 };
static bg_tensor w;    /* is made beside the pass */
static float *results; /* of AHEAD passes */

/* z = 2 * 3 * x + 5 * 7 * x: w, which is 6 x, over two breaks. */
static bg_status beside(void *user, cudaStream_t stream)
{
    fixture *t = user;
    BG_CALL(scale_and_tell, stream, .x = t->x, .y = t->y, .factor = 2);
    BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 5);
    BG_CALL(begin_after_e, stream, .x = t->y, .y = w, .factor = 3);
    BG_CALL(eager_scale, stream, .x = t->z, .factor = 7);
    BG_CALL(scale, stream, .x = t->z, .y = t->z, .factor = 1);
    bg_stream_wait_event_at(stream, f, cudaEventWaitExternal, BG_SITE);
    return BG_CALL(plus, stream, .x = w, .y = t->z, .z = t->z);
}

/* Queues AHEAD replays, or eager passes, as fast as the host can. */
static void expect_ahead(fixture *t, bg_graph *graph)
{
    float host[AHEAD];
    for (int i = 0; i < AHEAD; i++) {
        EXPECT_CUDA(bgk_fill(t->x.data, (float)i, N, t->stream));
        if (graph != NULL)
            EXPECT_OK(bg_replay(graph, t->stream));
        else
            EXPECT_OK(bg_forward_run(beside, t, t->stream, NULL));
        EXPECT_CUDA(cudaMemcpyAsync(results + i, t->z.data, sizeof *results, cudaMemcpyDeviceToDevice, t->stream));
    }
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(host, results, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < AHEAD; i++)
        if (host[i] != 41 * (float)i)
            fail_msg("pass %d gives %g, not %g", i, (double)host[i], 41.0 * i);
}

static void expect_beside(fixture *t, const bg_capture_options *options, int segments, int nodes, int steps)
{
    OWNED_GRAPH(graph);

    put(&t->x, 1);
    put(&t->z, 0);
    EXPECT_OK(bg_capture_forward(&graph, beside, t, t->stream, options));
    if (options->launch_segments)
        assert_true(get(&t->z) == 41);
    if (segments > 0) {
        assert_int_equal(info_of(graph).segments, segments);
        assert_int_equal(info_of(graph).nodes, nodes);
        assert_int_equal(info_of(graph).steps, steps);
    }
    expect_ahead(t, graph);
}

/* The same results however the pass runs. In segments, node and body order themselves: there are no steps for it. In
 * one graph, where the body is captured, its work forks where the event was recorded. */
TEST_F(test_work_beside_the_pass, event_setup, event_teardown, fixture *t)
{
    static const bg_debug modes[] = {BG_DEBUG_FORWARD, BG_DEBUG_OPS, BG_DEBUG_SYNC, BG_DEBUG_STEP};

    w = t->y;
    EXPECT_CUDA(cudaMalloc(&w.data, N * sizeof(float)));
    EXPECT_CUDA(cudaMalloc((void **)&results, AHEAD * sizeof *results));
    for (int launched = 0; launched < 2; launched++) {
        bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
        options.launch_segments = launched;
        options.debug = BG_DEBUG_OFF;
        expect_beside(t, &options, 2, 6, 4);
        options.inline_eager = true;
        expect_beside(t, &options, 1, 7, 1);
        options.inline_eager = false;
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
            options.debug = modes[i];
            expect_beside(t, &options, 0, 0, 0);
        }
    }
    expect_ahead(t, NULL);
    EXPECT_CUDA(cudaFree(results));
    EXPECT_CUDA(cudaFree(w.data));
}

/* A stream of the segment forks where the node is; one that comes after the break, or waits on an event that was
 * recorded anew, waits as for any event. */
static bg_status exact_in_segment(void *user, cudaStream_t stream)
{
    fixture *t = user;
    BG_CALL(scale, stream, .x = t->x, .y = t->y, .factor = 2);
    bg_event_record_at(e, stream, cudaEventRecordExternal, BG_SITE);
    bg_stream_wait_event_at(t->other, e, cudaEventWaitExternal, BG_SITE);
    BG_CALL(scale, t->other, .x = t->y, .y = t->y, .factor = 3);
    bg_event_record_at(e, t->other, cudaEventRecordExternal, BG_SITE);
    bg_break(stream);
    bg_stream_wait_event(third, e);
    BG_CALL(scale, third, .x = t->y, .y = t->y, .factor = 5);
    bg_event_record(e, third);
    bg_stream_wait_event_at(stream, e, cudaEventWaitExternal, BG_SITE);
    return BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 7);
}

TEST_F(test_exact_events_in_a_segment, event_setup, event_teardown, fixture *t)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *graph;

    for (int launched = 0; launched < 2; launched++) {
        options.launch_segments = launched;
        EXPECT_OK(bg_capture_forward(&graph, exact_in_segment, t, t->stream, &options));
        assert_int_equal(info_of(graph).nodes, 6); /* four kernels, two records */
        for (int i = 2; i < 5; i++) {
            put(&t->x, (float)i);
            EXPECT_OK(bg_replay(graph, t->stream));
            assert_true(get(&t->z) == 210 * (float)i);
        }
        EXPECT_CUDA(cudaEventQuery(e));
        bg_graph_destroy(graph);
    }
    put(&t->x, 3);
    EXPECT_OK(bg_forward_run(exact_in_segment, t, t->stream, NULL));
    assert_true(get(&t->z) == 630);
}

/* A capture that fails leaves nothing behind, and lets nobody destroy an event that its nodes need. */
static bg_status exact_then_fails(void *user, cudaStream_t stream)
{
    fixture *t = user;
    bg_status status = bg_event_record_at(e, stream, cudaEventRecordExternal, BG_SITE);
    EXPECT_STATUS(bg_event_destroy(e), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("a node of the capture records or waits for the event; destroy it after the graph");
    if (status == BG_OK)
        status = bg_event_record_at(e, stream, cudaEventRecordExternal, BG_SITE); /* in place of the first */
    BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 2);
    return status == BG_OK ? BG_ERROR_TIMEOUT : status;
}

TEST_F(test_a_failure_after_an_exact_record, event_setup, event_teardown, fixture *t)
{
    bg_graph *graph;
    EXPECT_STATUS(bg_capture_forward(&graph, exact_then_fails, t, t->stream, NULL), BG_ERROR_TIMEOUT);
    expect_usable(t, t->stream);
}

/* A segment records e, a body waits for it on a stream of its own and records it anew, a segment waits for that:
 * however the pass runs, as events of its own kind (flags 0) or of CUDA's external ones. */
static unsigned ping_flags;

BG_EAGER_OP(ping, BG_IN(x), BG_OUT(y))
{
    bg_status status = bg_stream_wait_event(side, e);
    if (status == BG_OK)
        status = from_cuda(bgk_scale(args->y.data, args->x.data, 3, N, side));
    return status == BG_OK ? bg_event_record_at(e, side, ping_flags, BG_SITE) : status;
}

static bg_status ping_pong(void *user, cudaStream_t stream)
{
    fixture *t = user;
    BG_CALL(scale, stream, .x = t->x, .y = t->y, .factor = 2);
    bg_event_record_at(e, stream, ping_flags, BG_SITE);
    BG_CALL(ping, stream, .x = t->y, .y = w);
    bg_stream_wait_event_at(stream, e, ping_flags, BG_SITE);
    return BG_CALL(scale, stream, .x = w, .y = t->z, .factor = 5);
}

TEST_F(test_an_event_for_both_ways, event_setup, event_teardown, fixture *t)
{
    w = t->y;
    EXPECT_CUDA(cudaMalloc(&w.data, N * sizeof(float)));
    for (int way = 0; way < 8; way++) {
        bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
        bg_graph *graph;
        options.launch_segments = way & 1;
        options.inline_eager = way & 2;
        ping_flags = way & 4 ? 1 : 0; /* of records and of waits */
        EXPECT_OK(bg_capture_forward(&graph, ping_pong, t, t->stream, &options));
        for (int i = 2; i < 6; i++) {
            EXPECT_CUDA(bgk_fill(t->x.data, (float)i, N, t->stream));
            EXPECT_OK(bg_replay(graph, t->stream));
            EXPECT_CUDA(bgk_add(t->y.data, t->z.data, t->z.data, N, t->stream)); /* and go on without waiting */
        }
        assert_true(get(&t->z) == 150);
        bg_graph_destroy(graph);
    }
    EXPECT_CUDA(cudaFree(w.data));
}

/* ---- what is left to CUDA -------------------------------------------------------------------------------------- */

/* The graph itself records e, in each replay, and waits for f. */
static bg_status external(void *user, cudaStream_t stream)
{
    fixture *t = user;
    bg_stream_wait_event_at(stream, f, cudaEventWaitExternal, BG_SITE);
    BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 2);
    return bg_event_record_at(e, stream, cudaEventRecordExternal, BG_SITE);
}

TEST_F(test_external_events, event_setup, event_teardown, fixture *t)
{
    bg_graph *graph;
    EXPECT_CUDA(cudaEventRecord(f, side));
    EXPECT_OK(bg_capture_forward(&graph, external, t, t->stream, NULL));
    assert_int_equal(info_of(graph).nodes, 3);
    for (int i = 1; i < 4; i++) {
        put(&t->x, (float)i);
        EXPECT_CUDA(bgk_scale(t->y.data, t->x.data, 3, N, side));
        EXPECT_OK(bg_event_record(f, side));
        EXPECT_OK(bg_replay(graph, t->stream));
        EXPECT_OK(bg_stream_wait_event(third, e));
        EXPECT_CUDA(bgk_scale(t->y.data, t->z.data, 1, N, third));
        assert_true(get(&t->y) == 6 * (float)i);
    }
    bg_graph_destroy(graph);
    EXPECT_STATUS(bg_event_record_at(e, t->stream, cudaEventRecordExternal, BG_SITE), BG_ERROR_CUDA);
    EXPECT_ERROR("cudaErrorIllegalState");
}

static bg_status never_recorded(void *user, cudaStream_t stream)
{
    fixture *t = user;
    bg_stream_wait_event(stream, e);
    bg_stream_wait_event(t->other, e); /* stays outside */
    return BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 2);
}

EVENTS_TEST(test_an_event_without_a_record_is_no_wait)
{
    expect_pass(f, never_recorded, 2, 1);
}

/* Forked by a bare event: the wait makes it known. */
static bg_status bare_record(void *user, cudaStream_t stream)
{
    fixture *t = user;
    bg_status status = from_cuda(cudaEventRecord(e, stream));
    bg_stream_wait_event(t->other, e);
    BG_CALL(scale, t->other, .x = t->x, .y = t->y, .factor = 2);
    bg_break(stream);
    BG_CALL(scale, t->other, .x = t->y, .y = t->z, .factor = 3);
    bg_stream_wait_stream(stream, t->other);
    return status;
}

EVENTS_TEST(test_a_bare_record_and_a_known_wait)
{
    expect_pass(f, bare_record, 6, 2);
}
