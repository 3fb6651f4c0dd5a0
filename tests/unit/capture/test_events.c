/* Events in a capture: forks and joins by them, and all the ways in which one crosses a break. */
#include "tests/support/test.h"
#include "tests/support/event_support.h"
#include "tests/support/ops.h"

#include <breakgraph/cublas.h>

/* Does its work on a stream of its own, after the event e, and joins that to stream. */
BG_EAGER_OP(scale_after_e, BG_INOUT(x), BG_VALUE(float, factor))
{
    TRY_BG(bg_stream_wait_event(side, e));
    TRY_BG(from_cuda(bgk_scale(args->x.data, args->x.data, args->factor, N, side)));
    return wait_by(g, stream, side);
}

/* Leaves its work on a stream of its own; f tells when it is done. */
BG_EAGER_OP(scale_until_f, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    TRY_BG(bg_stream_wait_stream(side, stream));
    TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, side)));
    return bg_event_record(f, side);
}

/* The pass gives z = factor * x, as it is and in every debug mode, at capture and in replays on several streams. */
static void expect_pass(fixture *t, bg_forward forward, float factor, int segments)
{
    static const bg_debug modes[] = {BG_DEBUG_OFF, BG_DEBUG_SYNC, BG_DEBUG_OPS, BG_DEBUG_FORWARD};
    for (size_t mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
        put(&t->x, 1);
        CAPTURED_GRAPH(graph, forward, t, t->stream, OPTIONS(.debug = modes[mode]));
        EXPECT_VALUE(&t->z, factor);
        for (int i = 2; i < 6; i++)
            EXPECT_REPLAY(graph, i % 2 ? t->stream : t->other, &t->x, (float)i, &t->z, factor * (float)i);
        if (modes[mode] == BG_DEBUG_OFF)
            assert_int_equal(info_of(graph).segments, segments);
    }
    put(&t->x, 7);
    EXPECT_OK(forward(t, t->stream)); /* and outside a capture */
    EXPECT_VALUE(&t->z, factor * 7);
}

/* A test that is a pass: expect_pass says what of. */
#define PASS_TEST(name, factor, segments)                                                                              \
    static bg_status pass_of_##name(void *user, cudaStream_t stream);                                                  \
    EVENT_TEST(name)                                                                                                   \
    {                                                                                                                  \
        expect_pass(t, pass_of_##name, factor, segments);                                                              \
    }                                                                                                                  \
    EVENT_PASS(pass_of_##name)

/* ---- within a segment ------------------------------------------------------------------------------------------ */

PASS_TEST(test_fork_and_join, 5, 1)
{
    wait_by(e, t->other, stream);
    BG_CALL(scale, t->other, .x = t->x, .y = t->y, .factor = 2);
    BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 3);
    wait_by(f, stream, t->other);
    return BG_CALL(plus, stream, .x = t->y, .y = t->z, .z = t->z);
}

/* The second record replaces the first. */
PASS_TEST(test_one_event_twice, 30, 1)
{
    wait_by(e, t->other, stream);
    BG_CALL(scale, t->other, .x = t->x, .y = t->y, .factor = 2);
    wait_by(e, stream, t->other);
    BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 3);
    wait_by(e, t->other, stream);
    BG_CALL(scale, t->other, .x = t->z, .y = t->z, .factor = 5);
    return wait_by(e, stream, t->other);
}

/* The fork of a fork is joined first, by the origin; the other one after it. */
EVENT_PASS(fork_of_a_fork)
{
    wait_by(e, t->other, stream);
    BG_CALL(scale, t->other, .x = t->x, .y = t->y, .factor = 2);
    wait_by(f, third, t->other);
    BG_CALL(scale, third, .x = t->y, .y = t->z, .factor = 4);
    BG_CALL(scale, t->other, .x = t->y, .y = t->y, .factor = 1);
    wait_by(g, stream, third);
    wait_by(e, stream, t->other);
    return BG_CALL(plus, stream, .x = t->y, .y = t->z, .z = t->z);
}

/* third writes z while other writes y: apart only by f. */
EVENT_TEST(test_fork_of_a_fork)
{
    put(&t->x, 3);
    CAPTURED_GRAPH(graph, fork_of_a_fork, t, t->stream, NULL);
    EXPECT_VALUE(&t->z, 30);
    EXPECT_REPLAY(graph, t->other, &t->x, 5, &t->z, 50);
}

PASS_TEST(test_fork_join_and_fork_again, 216, 1)
{
    for (int i = 0; i < 3; i++) {
        wait_by(e, t->other, stream);
        BG_CALL(scale, t->other, .x = i ? t->y : t->x, .y = t->y, .factor = 2);
        wait_by(f, stream, t->other);
        BG_CALL(scale, stream, .x = t->y, .y = t->y, .factor = 3);
    }
    return BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 1);
}

/* Events of the pass's own, gone before it ends. */
PASS_TEST(test_events_destroyed_in_the_pass, 6, 3)
{
    for (int i = 0; i < 2; i++) {
        cudaEvent_t fork = NULL, join = NULL;
        EXPECT_CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
        EXPECT_CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
        wait_by(fork, t->other, stream);
        BG_CALL(scale, t->other, .x = t->x, .y = t->y, .factor = 2);
        wait_by(join, stream, t->other);
        EXPECT_OK(bg_event_destroy(fork));
        EXPECT_OK(bg_event_destroy(join));
        BG_CALL(eager_scale, stream, .x = t->y, .factor = 3);
    }
    return BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 1);
}

/* ---- across breaks --------------------------------------------------------------------------------------------- */

/* e is waited on by a member, f by the origin, after the break that joined them. */
PASS_TEST(test_waited_on_by_a_member_and_the_origin, 73, 2)
{
    wait_by(g, t->other, stream);
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

/* No stream is forked before the break, and third begins with what the origin has not waited for. */
EVENT_PASS(idle_stream)
{
    BG_CALL(scale, stream, .x = t->x, .y = t->y, .factor = 2);
    bg_event_record(e, stream);
    bg_break(stream);
    bg_break(stream);
    BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 3);
    bg_stream_wait_event(third, e);
    BG_CALL(scale, third, .x = t->y, .y = t->y, .factor = 5);
    wait_by(f, stream, third);
    return BG_CALL(plus, stream, .x = t->y, .y = t->z, .z = t->z);
}

static size_t root_count(const bg_graph *graph, int segment)
{
    size_t roots = 0;
    EXPECT_CUDA(cudaGraphGetRootNodes(bg_graph_segment((bg_graph *)graph, segment), NULL, &roots));
    return roots;
}

EVENT_TEST(test_waited_on_by_an_idle_stream)
{
    expect_pass(t, idle_stream, 13, 2);
    CAPTURED_GRAPH(graph, idle_stream, t, t->stream, NULL);
    assert_int_equal(root_count(graph, 1), 2); /* it waits for the break alone */
    assert_int_equal(info_of(graph).steps, 2); /* and nothing is added */
}

PASS_TEST(test_forked_then_idle_at_a_break, 30, 3)
{
    BG_CALL(scale, stream, .x = t->x, .y = t->y, .factor = 2);
    wait_by(e, t->other, stream);
    bg_break(stream);
    BG_CALL(scale, t->other, .x = t->y, .y = t->z, .factor = 3);
    bg_event_record(f, t->other);
    bg_break(stream);
    bg_break(stream);
    bg_stream_wait_event(stream, f);
    return BG_CALL(scale, stream, .x = t->z, .y = t->z, .factor = 5);
}

PASS_TEST(test_eager_on_a_fork, 30, 2)
{
    wait_by(e, t->other, stream);
    BG_CALL(scale, t->other, .x = t->x, .y = t->z, .factor = 2);
    BG_CALL(eager_scale, t->other, .x = t->z, .factor = 3);
    BG_CALL(scale, t->other, .x = t->z, .y = t->z, .factor = 5);
    return wait_by(e, stream, t->other);
}

/* A body and its stream outside wait for a segment's event, in every replay; twice, which is one record. */
EVENT_PASS(waited_on_in_a_body)
{
    BG_CALL(scale, stream, .x = t->x, .y = t->y, .factor = 2);
    bg_event_record(e, stream);
    BG_CALL(scale_after_e, stream, .x = t->y, .factor = 3);
    BG_CALL(scale_after_e, stream, .x = t->y, .factor = 5);
    return BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 1);
}

EVENT_TEST(test_waited_on_in_a_body)
{
    expect_pass(t, waited_on_in_a_body, 30, 2);
    CAPTURED_GRAPH(graph, waited_on_in_a_body, t, t->stream, NULL);
    assert_int_equal(info_of(graph).steps, 5); /* two segments, two calls, one record */
}

/* An event of a body orders a segment after work that the body left on another stream. */
EVENT_PASS(recorded_in_a_body)
{
    BG_CALL(scale_until_f, stream, .x = t->x, .y = t->y, .factor = 2);
    BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 3);
    bg_stream_wait_event(stream, f);
    bg_stream_wait_event(stream, f);
    return BG_CALL(plus, stream, .x = t->y, .y = t->z, .z = t->z);
}

EVENT_TEST(test_recorded_in_a_body)
{
    expect_pass(t, recorded_in_a_body, 5, 1);
    CAPTURED_GRAPH(graph, recorded_in_a_body, t, t->stream, NULL);
    assert_int_equal(info_of(graph).steps, 3); /* a call, a wait, a segment */
}

/* After the wait the event is used again, in the same segment and for another one. */
PASS_TEST(test_recorded_in_a_body_and_used_again, 30, 2)
{
    BG_CALL(scale_until_f, stream, .x = t->x, .y = t->y, .factor = 2);
    bg_break(stream);
    bg_stream_wait_event(stream, f);
    wait_by(f, t->other, stream);
    BG_CALL(scale, t->other, .x = t->y, .y = t->y, .factor = 3);
    bg_event_record(f, t->other);
    bg_break(stream);
    bg_stream_wait_event(stream, f);
    return BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 5);
}

/* Nothing runs at capture: what the body records is known in replays alone. */
EVENT_TEST(test_recorded_in_a_body_that_does_not_run)
{
    CAPTURED_GRAPH(graph, recorded_in_a_body, t, t->stream, UNLAUNCHED_OPTIONS());
    EXPECT_REPLAYS(graph, t->stream, &t->x, &t->z, 5);
}

/* So are its waits: e goes by the record of each replay, f was taken up before the body. */
EVENT_PASS(waited_on_unseen)
{
    wait_by(f, t->other, stream);
    BG_CALL(scale, t->other, .x = t->x, .y = t->y, .factor = 2);
    wait_by(f, stream, t->other);
    bg_event_record(e, stream);
    BG_CALL(scale_after_e, stream, .x = t->y, .factor = 3);
    return BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 1);
}

EVENT_TEST(test_waited_on_in_a_body_that_does_not_run)
{
    CAPTURED_GRAPH(graph, waited_on_unseen, t, t->stream, UNLAUNCHED_OPTIONS());
    assert_int_equal(info_of(graph).steps, 4); /* two segments, a call, a record */
    EXPECT_REPLAYS(graph, t->stream, &t->x, &t->z, 6);
}

/* An event destroyed in the pass is nobody's any more: replays do not touch it. */
EVENT_PASS(destroyed_after_a_body)
{
    cudaEvent_t event = NULL;
    EXPECT_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    BG_CALL(scale, stream, .x = t->x, .y = t->y, .factor = 2);
    bg_event_record(event, stream);
    BG_CALL(eager_scale, stream, .x = t->y, .factor = 3);
    EXPECT_OK(bg_event_destroy(event));
    return BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 1);
}

EVENT_TEST(test_destroyed_after_a_body_that_does_not_run)
{
    CAPTURED_GRAPH(graph, destroyed_after_a_body, t, t->stream, UNLAUNCHED_OPTIONS(.debug = BG_DEBUG_SYNC));
    assert_int_equal(info_of(graph).steps, 6); /* two segments, a call, each looked at */
    EXPECT_REPLAY(graph, t->stream, &t->x, 5, &t->z, 30);
}

/* side waits for the body's event: both are outside, and stay there. */
EVENT_PASS(outside_after_a_body)
{
    BG_CALL(scale_until_f, stream, .x = t->x, .y = t->y, .factor = 2);
    bg_stream_wait_event(third, f);
    BG_CALL(scale, third, .x = t->y, .y = t->z, .factor = 3);
    return BG_OK;
}

EVENT_TEST(test_a_stream_outside_stays_there)
{
    put(&t->x, 1);
    CAPTURED_GRAPH(graph, outside_after_a_body, t, t->stream, NULL);
    assert_int_equal(info_of(graph).calls, 1);
    assert_int_equal(info_of(graph).segments, 0);
    EXPECT_VALUE(&t->z, 6);
}

/* ---- after the end --------------------------------------------------------------------------------------------- */

EVENT_PASS(timed)
{
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

EVENT_TEST(test_asked_after_the_end)
{
    put(&t->x, 1);
    CAPTURED_GRAPH(graph, timed, t, t->stream, NULL);
    expect_answers(t);
    EXPECT_VALUE(&t->y, 6); /* side waited for the pass */
    EXPECT_OK(bg_replay(graph, t->stream));
    expect_answers(t);
}

static bg_status timed_and_failing(void *user, cudaStream_t stream)
{
    timed(user, stream);
    return BG_ERROR_IO;
}

EVENT_TEST(test_asked_after_a_capture_that_failed)
{
    bg_capture *capture;
    EXPECT_NO_CAPTURE(timed_and_failing, t, t->stream, NULL, BG_ERROR_IO);
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
    TRY_BG(bg_cublas_bind(cublas, stream, NULL));
    cublasStatus_t status = cublasSgemm(cublas, CUBLAS_OP_N, CUBLAS_OP_N, N, 1, 1, &one, args->x.data, N, args->x.data,
                                        1, &zero, args->y.data, N);
    return status == CUBLAS_STATUS_SUCCESS ? BG_OK : BG_ERROR_CUBLAS;
}

/* z = x^2 * 2 + x^2 for x that is the same everywhere, one product on each stream, with a break between. */
EVENT_PASS(products)
{
    wait_by(e, t->other, stream);
    BG_CALL(square, t->other, .x = t->x, .y = t->y);
    bg_event_record(f, t->other);
    BG_CALL(eager_scale, stream, .x = t->y, .factor = 2);
    bg_stream_wait_event(stream, f);
    BG_CALL(square, stream, .x = t->x, .y = t->z);
    return BG_CALL(plus, stream, .x = t->y, .y = t->z, .z = t->z);
}

EVENT_TEST(test_cublas_on_forked_streams)
{
    assert_int_equal(cublasCreate(&cublas), CUBLAS_STATUS_SUCCESS);
    put(&t->x, 1);
    bg_graph *graph = CAPTURED_BY(products, t, t->stream, NULL);
    EXPECT_VALUE(&t->z, 3);
    for (int i = 2; i < 5; i++)
        EXPECT_REPLAY(graph, t->stream, &t->x, (float)i, &t->z, (float)(3 * i * i));
    bg_graph_destroy(graph);
    bg_workspace_release(cublas);
    assert_int_equal(cublasDestroy(cublas), CUBLAS_STATUS_SUCCESS);
}

/* ---- work that begins in one segment and ends in another ------------------------------------------------------- */

/* Begins as soon as e is reached, and leaves its work on a stream of its own; f tells when it is done. */
BG_EAGER_OP(begin_after_e, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    TRY_BG(bg_stream_wait_event(side, e));
    TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, side)));
    return bg_event_record(f, side);
}

/* An op that records inside its body, which runs at a break in the debug mode ops. */
BG_OP(scale_and_tell, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream)));
    return bg_event_record_at(e, stream, cudaEventRecordExternal, BG_SITE);
}

enum { AHEAD = 20 };
static bg_tensor w;    /* is made beside the pass */
static float *results; /* of AHEAD passes */

/* z = 2 * 3 * x + 5 * 7 * x: w, which is 6 x, over two breaks. */
EVENT_PASS(beside)
{
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
        EXPECT_OK(graph != NULL ? bg_replay(graph, t->stream) : bg_forward_run(beside, t, t->stream, NULL));
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
    put(&t->x, 1);
    put(&t->z, 0);
    CAPTURED_GRAPH(graph, beside, t, t->stream, options);
    if (options->launch_segments)
        EXPECT_VALUE(&t->z, 41);
    EXPECT_COUNTS(graph, segments, -1, steps);
    if (nodes != -1)
        assert_int_equal(info_of(graph).nodes, nodes);
    expect_ahead(t, graph);
}

/* The same results however the pass runs. In segments, node and body order themselves: there are no steps for it. In
 * one graph, where the body is captured, its work forks where the event was recorded. */
EVENT_TEST(test_work_beside_the_pass)
{
    static const bg_debug modes[] = {BG_DEBUG_FORWARD, BG_DEBUG_OPS, BG_DEBUG_SYNC, BG_DEBUG_STEP};

    w = t->y;
    EXPECT_CUDA(cudaMalloc(&w.data, N * sizeof(float)));
    EXPECT_CUDA(cudaMalloc((void **)&results, AHEAD * sizeof *results));
    for (int launched = 0; launched < 2; launched++) {
        expect_beside(t, LAUNCH_OPTIONS(launched, .debug = BG_DEBUG_OFF), 2, 6, 4);
        expect_beside(t, LAUNCH_OPTIONS(launched, .debug = BG_DEBUG_OFF, .inline_eager = true), 1, 7, 1);
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
            expect_beside(t, LAUNCH_OPTIONS(launched, .debug = modes[i]), -1, -1, -1);
    }
    expect_ahead(t, NULL);
    EXPECT_CUDA(cudaFree(results));
    EXPECT_CUDA(cudaFree(w.data));
}

/* A stream of the segment forks where the node is; one that comes after the break, or waits on an event that was
 * recorded anew, waits as for any event. */
EVENT_PASS(exact_in_segment)
{
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

EVENT_TEST(test_exact_events_in_a_segment)
{
    for (int launched = 0; launched < 2; launched++) {
        CAPTURED_GRAPH(graph, exact_in_segment, t, t->stream, LAUNCH_OPTIONS(launched, .name = "exact"));
        assert_int_equal(info_of(graph).nodes, 6); /* four kernels, two records */
        EXPECT_REPLAYS(graph, t->stream, &t->x, &t->z, 210);
        EXPECT_CUDA(cudaEventQuery(e));
    }
    put(&t->x, 3);
    EXPECT_OK(bg_forward_run(exact_in_segment, t, t->stream, NULL));
    EXPECT_VALUE(&t->z, 630);
}

/* A capture that fails leaves nothing behind, and lets nobody destroy an event that its nodes need. */
EVENT_PASS(exact_then_fails)
{
    bg_status status = bg_event_record_at(e, stream, cudaEventRecordExternal, BG_SITE);
    EXPECT_STATUS(bg_event_destroy(e), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("a node of the capture records or waits for the event; destroy it after the graph");
    if (status == BG_OK)
        status = bg_event_record_at(e, stream, cudaEventRecordExternal, BG_SITE); /* in place of the first */
    BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 2);
    return status == BG_OK ? BG_ERROR_TIMEOUT : status;
}

EVENT_TEST(test_a_failure_after_an_exact_record)
{
    EXPECT_NO_CAPTURE(exact_then_fails, t, t->stream, NULL, BG_ERROR_TIMEOUT);
    expect_usable(t, t->stream);
}

/* A segment records e, a body waits for it on a stream of its own and records it anew, a segment waits for that:
 * however the pass runs, as events of its own kind (flags 0) or of CUDA's external ones. */
static unsigned ping_flags;

BG_EAGER_OP(ping, BG_IN(x), BG_OUT(y))
{
    TRY_BG(bg_stream_wait_event(side, e));
    TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, 3, N, side)));
    return bg_event_record_at(e, side, ping_flags, BG_SITE);
}

EVENT_PASS(ping_pong)
{
    BG_CALL(scale, stream, .x = t->x, .y = t->y, .factor = 2);
    bg_event_record_at(e, stream, ping_flags, BG_SITE);
    BG_CALL(ping, stream, .x = t->y, .y = w);
    bg_stream_wait_event_at(stream, e, ping_flags, BG_SITE);
    return BG_CALL(scale, stream, .x = w, .y = t->z, .factor = 5);
}

EVENT_TEST(test_an_event_for_both_ways)
{
    w = t->y;
    EXPECT_CUDA(cudaMalloc(&w.data, N * sizeof(float)));
    for (int way = 0; way < 8; way++) {
        ping_flags = way & 4 ? 1 : 0; /* of records and of waits */
        CAPTURED_GRAPH(graph, ping_pong, t, t->stream, LAUNCH_OPTIONS(way & 1, .inline_eager = way & 2));
        for (int i = 2; i < 6; i++) {
            EXPECT_CUDA(bgk_fill(t->x.data, (float)i, N, t->stream));
            EXPECT_OK(bg_replay(graph, t->stream));
            EXPECT_CUDA(bgk_add(t->y.data, t->z.data, t->z.data, N, t->stream)); /* and go on without waiting */
        }
        EXPECT_VALUE(&t->z, 150);
        EXPECT_OK(bg_forward_run(ping_pong, t, t->stream, NULL));
        EXPECT_VALUE(&t->z, 150);
    }
    EXPECT_CUDA(cudaFree(w.data));
}

/* ---- what is left to CUDA -------------------------------------------------------------------------------------- */

/* The graph itself records e, in each replay, and waits for f. */
EVENT_PASS(external)
{
    bg_stream_wait_event_at(stream, f, cudaEventWaitExternal, BG_SITE);
    BG_CALL(scale, stream, .x = t->y, .y = t->z, .factor = 2);
    return bg_event_record_at(e, stream, cudaEventRecordExternal, BG_SITE);
}

EVENT_TEST(test_external_events)
{
    EXPECT_CUDA(cudaEventRecord(f, side));
    CAPTURED_GRAPH(graph, external, t, t->stream, NULL);
    assert_int_equal(info_of(graph).nodes, 3);
    for (int i = 1; i < 4; i++) {
        put(&t->x, (float)i);
        EXPECT_CUDA(bgk_scale(t->y.data, t->x.data, 3, N, side));
        EXPECT_OK(bg_event_record(f, side));
        EXPECT_OK(bg_replay(graph, t->stream));
        EXPECT_OK(bg_stream_wait_event(third, e));
        EXPECT_CUDA(bgk_scale(t->y.data, t->z.data, 1, N, third));
        EXPECT_VALUE(&t->y, 6 * (float)i);
    }
    EXPECT_STATUS(bg_event_record_at(e, t->stream, cudaEventRecordExternal, BG_SITE), BG_ERROR_CUDA);
    EXPECT_ERROR("cudaErrorIllegalState");
}

PASS_TEST(test_an_event_without_a_record_is_no_wait, 2, 1)
{
    bg_stream_wait_event(stream, e);
    bg_stream_wait_event(t->other, e); /* stays outside */
    return BG_CALL(scale, stream, .x = t->x, .y = t->z, .factor = 2);
}

/* Forked by a bare event: the wait makes it known. */
PASS_TEST(test_a_bare_record_and_a_known_wait, 6, 2)
{
    bg_status status = from_cuda(cudaEventRecord(e, stream));
    bg_stream_wait_event(t->other, e);
    BG_CALL(scale, t->other, .x = t->x, .y = t->y, .factor = 2);
    bg_break(stream);
    BG_CALL(scale, t->other, .x = t->y, .y = t->z, .factor = 3);
    bg_stream_wait_stream(stream, t->other);
    return status;
}
