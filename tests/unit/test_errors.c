/* What goes wrong, and what is left after it. */
#include "tests/support/support.h"

#include <hostcuda/hostcuda.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* There on the host device only. */
#pragma weak hostcuda_fail
#pragma weak hostcuda_faults

BG_OP(scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}

/* Fails where told to: with a status of its own, or after a CUDA call that a capture forbids. */
static bool fails;
BG_EAGER_OP(fragile, BG_INOUT(x))
{
    if (fails)
        return BG_ERROR_TIMEOUT;
    return from_cuda(bgk_scale(args->x.data, args->x.data, 2, N, stream));
}

BG_OP(allocates)
{
    void *memory = NULL;
    cudaError_t error = cudaMalloc(&memory, 256);
    if (error == cudaSuccess)
        error = cudaFree(memory);
    return from_cuda(error);
}

BG_OP(fails_captured, BG_INOUT(x))
{
    bg_status status = from_cuda(bgk_fill(args->x.data, -5, N, stream));
    return status != BG_OK ? status : BG_ERROR_NOT_FOUND;
}

static int setup(void **state)
{
    fails = false;
    return fixture_setup(state);
}

static bg_status pass(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    BG_CALL(fragile, stream, .x = f->y);
    return BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 5);
}

static void expect_works(fixture *f)
{
    bg_graph *graph;
    fails = false;
    put(&f->x, 1);
    EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, NULL));
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_true(get(&f->y) == 30);
    bg_graph_destroy(graph);
}

static void test_body_fails_at_capture(void **state)
{
    fixture *f = *state;
    bg_capture *capture;
    bg_graph *graph = (bg_graph *)f;
    put(&f->x, 1);
    fails = true;
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 3));
    EXPECT_STATUS(BG_CALL(fragile, f->stream, .x = f->y), BG_ERROR_TIMEOUT);
    fails = false;
    /* Nothing that comes after it runs: not its calls, and not bare launches. */
    EXPECT_STATUS(BG_CALL(scale, f->stream, .x = f->y, .y = f->y, .factor = 5), BG_ERROR_TIMEOUT);
    EXPECT_STATUS(BG_CALL(fragile, f->stream, .x = f->y), BG_ERROR_TIMEOUT);
    EXPECT_STATUS(bg_break(f->stream), BG_ERROR_TIMEOUT);
    EXPECT_STATUS(bg_stream_wait_stream(f->other, f->stream), BG_ERROR_TIMEOUT);
    EXPECT_CUDA(bgk_fill(f->y.data, -1, N, f->stream));
    EXPECT_STATUS(bg_capture_end(capture, &graph), BG_ERROR_TIMEOUT);
    assert_null(graph);
    EXPECT_ERROR("op fragile, call fragile#0 at ");
    EXPECT_ERROR("test_errors.c");
    EXPECT_ERROR("BG_ERROR_TIMEOUT");
    assert_true(get(&f->y) == 3);
    expect_usable(f, f->stream);
    expect_works(f);
}

static void test_body_fails_at_replay(void **state)
{
    fixture *f = *state;
    bg_graph *graph;
    put(&f->x, 1);
    EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, NULL));
    fails = true;
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_TIMEOUT);
    EXPECT_ERROR("op fragile, call fragile#0 at ");
    assert_int_equal(bg_current_phase(), BG_PHASE_PLAIN);
    fails = false;
    EXPECT_OK(bg_replay(graph, f->stream)); /* the graph is reusable */
    assert_true(get(&f->y) == 30);
    bg_graph_destroy(graph);
}

static bg_status captured_op_fails(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(fails_captured, stream, .x = f->y);
    return BG_OK; /* the error sticks, though nobody looked */
}

static void test_captured_body_fails(void **state)
{
    fixture *f = *state;
    bg_graph *graph;
    put(&f->y, 4);
    EXPECT_STATUS(bg_capture_forward(&graph, captured_op_fails, f, f->stream, NULL), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("fails_captured#0");
    assert_null(graph);
    assert_true(get(&f->y) == 4);
    expect_works(f);
}

static bg_status forward_fails(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    return BG_ERROR_IO;
}

static void test_forward_fails(void **state)
{
    fixture *f = *state;
    bg_graph *graph;
    EXPECT_STATUS(bg_capture_forward(&graph, forward_fails, f, f->stream, NULL), BG_ERROR_IO);
    EXPECT_ERROR("the forward pass returned BG_ERROR_IO");
    expect_works(f);
}

static bg_status forbidden_call(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    BG_CALL(allocates, stream);
    return BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 3);
}

static void test_capture_invalidated(void **state)
{
    fixture *f = *state;
    bg_graph *graph;
    put(&f->x, 1);
    EXPECT_STATUS(bg_capture_forward(&graph, forbidden_call, f, f->stream, NULL), BG_ERROR_CUDA);
    EXPECT_ERROR("allocates#0");
    (void)cudaGetLastError(); /* the body's own, which it did not take */
    expect_usable(f, f->stream);
    EXPECT_OK(bg_override_eager("allocates"));
    EXPECT_OK(bg_capture_forward(&graph, forbidden_call, f, f->stream, NULL));
    bg_graph_destroy(graph);
    expect_works(f);
}

static bg_status invalidates(void *user, cudaStream_t stream)
{
    fixture *f = user;
    void *memory = NULL;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    (void)cudaMalloc(&memory, 256); /* outside any op, and unseen */
    (void)cudaGetLastError();
    return BG_CALL(fragile, stream, .x = f->y);
}

static void test_capture_invalidated_outside_ops(void **state)
{
    fixture *f = *state;
    bg_graph *graph;
    EXPECT_STATUS(bg_capture_forward(&graph, invalidates, f, f->stream, NULL), BG_ERROR_CAPTURE_INVALID);
    EXPECT_ERROR("cudaErrorStreamCaptureInvalidated");
    EXPECT_ERROR("make the op that made it eager");
    expect_usable(f, f->stream);
    expect_works(f);
}

static void test_begin_twice(void **state)
{
    fixture *f = *state;
    bg_capture *first, *second = (bg_capture *)f;
    bg_graph *graph;
    put(&f->x, 2);
    EXPECT_OK(bg_capture_begin(&first, f->stream, NULL));
    EXPECT_STATUS(bg_capture_begin(&second, f->stream, NULL), BG_ERROR_ALREADY_CAPTURING);
    assert_null(second);
    EXPECT_STATUS(bg_capture_begin(&second, f->other, NULL), BG_ERROR_ALREADY_CAPTURING);
    EXPECT_OK(pass(f, f->stream));
    EXPECT_OK(bg_capture_end(first, &graph)); /* unharmed */
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_true(get(&f->y) == 60);
    bg_graph_destroy(graph);
}

static void test_end_without_begin(void **state)
{
    fixture *f = *state;
    bg_graph *graph = (bg_graph *)f;
    EXPECT_STATUS(bg_capture_end(NULL, &graph), BG_ERROR_INVALID_ARGUMENT);
    assert_null(graph);
    EXPECT_ERROR("capture is NULL");
    bg_capture_abort(NULL);
}

static void test_abort(void **state)
{
    fixture *f = *state;
    bg_capture *capture;
    put(&f->x, 1);
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 3));
    bg_capture_abort(capture);
    assert_true(get(&f->y) == 0);
    expect_works(f);
}

/* ---- ended inside of itself ---- */

static bg_capture *in_body;
static bool ends_in_body;

static bg_status end_capture(void)
{
    bg_graph *graph;
    if (!ends_in_body)
        bg_capture_abort(in_body);
    else
        EXPECT_STATUS(bg_capture_end(in_body, &graph), BG_ERROR_BUSY);
    return BG_OK;
}

static bg_status end_in_barrier(void *user)
{
    (void)user;
    return end_capture();
}

BG_EAGER_OP(ends_its_capture)
{
    return end_capture();
}

BG_OP(ends_its_capture_captured, BG_IN(x), BG_OUT(y))
{
    bg_status status = end_capture();
    return status != BG_OK ? status : from_cuda(bgk_scale(args->y.data, args->x.data, 2, N, stream));
}

BG_OP(calls_what_ends, BG_INOUT(x))
{
    EXPECT_STATUS(BG_CALL(ends_its_capture, stream), BG_ERROR_NOT_CAPTURING);
    EXPECT_STATUS(BG_CALL(scale, stream, .x = args->x, .y = args->x, .factor = 2), BG_ERROR_NOT_CAPTURING);
    return BG_OK;
}

static void test_end_and_abort_inside(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 8; i++) {
        bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
        bg_status status = BG_OK;
        options.state = &f->y;
        options.state_count = 1;
        options.barrier = i / 2 == 3 ? end_in_barrier : NULL;
        ends_in_body = i % 2 == 1;
        put(&f->x, 1);
        put(&f->y, 7);
        EXPECT_OK(bg_capture_begin(&in_body, f->stream, &options));
        EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 3));
        switch (i / 2) {
        case 0: status = BG_CALL(ends_its_capture, f->stream); break;
        case 1: status = BG_CALL(ends_its_capture_captured, f->stream, .x = f->x, .y = f->y); break;
        case 2: status = BG_CALL(calls_what_ends, f->stream, .x = f->y); break;
        case 3: status = bg_break(f->stream); break;
        }
        EXPECT_STATUS(status, BG_ERROR_NOT_CAPTURING);
        assert_int_equal(bg_current_phase(), BG_PHASE_PLAIN);
        assert_true(get(&f->y) == 7); /* options.state is back */
        expect_works(f);
    }
}

static bg_status call_in_barrier(void *user)
{
    fixture *f = user;
    return BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 3) == BG_ERROR_BUSY ? BG_ERROR_IO : BG_OK;
}

static void test_ops_in_a_barrier(void **state)
{
    fixture *f = *state;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *graph;
    options.barrier = call_in_barrier;
    options.barrier_user = f;
    EXPECT_STATUS(bg_capture_forward(&graph, pass, f, f->stream, &options), BG_ERROR_BUSY);
    EXPECT_ERROR("options.barrier");
    expect_works(f);
}

/* ---- arguments, captures of others ---- */

static void test_bad_calls_stick(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        bg_capture *capture;
        bg_graph *graph;
        EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
        if (i == 0)
            BG_CALL(scale, NULL, .x = f->x, .y = f->y);
        else if (i == 1)
            bg_break(NULL);
        else
            bg_stream_wait_stream(f->other, NULL);
        EXPECT_STATUS(bg_capture_end(capture, &graph), BG_ERROR_INVALID_ARGUMENT);
        EXPECT_ERROR("is NULL");
        EXPECT_ERROR("test_errors.c");
    }
    expect_works(f);
}

static void test_last_stream_captures(void **state)
{
    fixture *f = *state;
    bg_graph *graph, *other;
    bg_capture *capture;
    cudaGraph_t foreign;
    put(&f->x, 1);
    EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, NULL));
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
    bg_graph_destroy(graph);
    bg_graph_destroy(other);
}

static void test_capture_beside_a_foreign_one(void **state)
{
    fixture *f = *state;
    bg_graph *graph;
    cudaGraph_t foreign;
    EXPECT_CUDA(cudaStreamBeginCapture(f->other, cudaStreamCaptureModeThreadLocal));
    EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, NULL));
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaStreamEndCapture(f->other, &foreign)); /* unharmed */
    EXPECT_CUDA(cudaGraphDestroy(foreign));
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

static bg_status replaying(void *user, cudaStream_t stream)
{
    (void)user;
    return BG_CALL(replays_itself, stream);
}

static void test_capture_and_replay_in_a_body(void **state)
{
    fixture *f = *state;
    bg_graph *graph;
    own_graph = NULL;
    EXPECT_OK(bg_capture_forward(&graph, replaying, f, f->stream, NULL));
    assert_int_equal(answer_in_body, BG_ERROR_BUSY);
    own_graph = graph;
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_int_equal(answer_in_body, BG_ERROR_BUSY);
    bg_graph_destroy(graph);
}

static void test_replay_on_a_captured_stream(void **state)
{
    fixture *f = *state;
    bg_graph *first, *second;
    bg_capture *capture;
    put(&f->x, 1);
    EXPECT_OK(bg_capture_forward(&first, pass, f, f->stream, NULL));
    EXPECT_OK(bg_replay(first, f->stream));
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->z, .factor = 9));
    EXPECT_STATUS(bg_replay(first, f->stream), BG_ERROR_ALREADY_CAPTURING);
    EXPECT_OK(bg_stream_wait_stream(f->other, f->stream));
    EXPECT_STATUS(bg_replay(first, f->other), BG_ERROR_ALREADY_CAPTURING);
    EXPECT_OK(bg_stream_wait_stream(f->stream, f->other));
    EXPECT_OK(bg_capture_end(capture, &second)); /* unharmed */
    EXPECT_OK(bg_replay(second, f->stream));
    assert_true(get(&f->z) == 9);
    EXPECT_OK(bg_replay(first, f->other));
    bg_graph_destroy(first);
    bg_graph_destroy(second);
}

/* On the stream of the last replay it is looked for where a debug mode or a check is on. */
static void test_replay_into_a_foreign_capture(void **state)
{
    static const bg_debug modes[] = {BG_DEBUG_OFF, BG_DEBUG_FORWARD, BG_DEBUG_OPS, BG_DEBUG_SYNC, BG_DEBUG_STEP};
    fixture *f = *state;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
        bg_graph *graph;
        cudaGraph_t foreign;
        size_t nodes = 0;
        options.debug = modes[i];
        options.check = modes[i] == BG_DEBUG_OFF ? BG_REPLAY_CHECK_ON : BG_REPLAY_CHECK_OFF;
        put(&f->x, 1);
        EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, &options));
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

static bg_status leaving_pass(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    BG_CALL(leaves_a_capture, stream);
    return BG_CALL(scale, stream, .x = f->y, .y = f->z, .factor = 2);
}

static void test_a_body_leaves_a_capture(void **state)
{
    fixture *f = *state;
    bg_graph *graph;
    EXPECT_STATUS(bg_capture_forward(&graph, leaving_pass, f, f->stream, NULL), BG_ERROR_BUSY);
    assert_null(graph);
    EXPECT_ERROR("op leaves_a_capture, call leaves_a_capture#0");
    EXPECT_ERROR("began a capture on stream and did not end it");
    expect_works(f);
    EXPECT_STATUS(bg_forward_run(leaving_pass, f, f->stream, NULL), BG_ERROR_BUSY);
    EXPECT_ERROR("op leaves_a_capture, call leaves_a_capture#0");
    expect_works(f);
}

/* Where the very last call of the end fails, the pass does not count. */
static void test_the_end_fails(void **state)
{
    fixture *f = *state;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *capture;
    bg_graph *graph;
    if (!hostcuda_fail) {
        print_message("skipped: calls fail on request on the host device only\n");
        skip();
    }
    put(&f->x, 1);
    put(&f->y, 5);
    options.state = &f->y;
    options.state_count = 1;
    EXPECT_OK(bg_capture_begin(&capture, f->stream, &options));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 9));
    assert_int_equal(hostcuda_fail("cudaEventRecord@1=cudaErrorNotPermitted"), 0);
    EXPECT_STATUS(bg_capture_end(capture, &graph), BG_ERROR_CUDA);
    assert_int_equal(hostcuda_faults(), 1);
    assert_int_equal(hostcuda_fail(NULL), 0);
    assert_true(get(&f->y) == 5);
    expect_works(f);
}

static void test_foreign_capture(void **state)
{
    fixture *f = *state;
    cudaGraph_t foreign;
    bg_capture *capture;
    put(&f->x, 1);
    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_STATUS(bg_capture_begin(&capture, f->stream, NULL), BG_ERROR_FOREIGN_CAPTURE);
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 3));
    EXPECT_STATUS(BG_CALL(fragile, f->stream, .x = f->y), BG_ERROR_FOREIGN_CAPTURE);
    EXPECT_ERROR("BG_FOREIGN_INLINE=1");
    setenv("BG_FOREIGN_INLINE", "1", 1);
    EXPECT_OK(BG_CALL(fragile, f->stream, .x = f->y));
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &foreign)); /* unharmed, with two nodes */
    size_t nodes = 0;
    EXPECT_CUDA(cudaGraphGetNodes(foreign, NULL, &nodes));
    assert_int_equal(nodes, 2);
    EXPECT_CUDA(cudaGraphDestroy(foreign));
    setenv("BG_FOREIGN_INLINE", "yes", 1);
    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_STATUS(BG_CALL(fragile, f->stream, .x = f->y), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("allowed are 0, 1");
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &foreign));
    EXPECT_CUDA(cudaGraphDestroy(foreign));
}

static void test_foreign_inline_option(void **state)
{
    fixture *f = *state;
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

/* A CUDA error that was pending before a call is the caller's, and stays. */
static void test_pending_error_stays(void **state)
{
    fixture *f = *state;
    bg_graph *graph;
    (void)cudaSetDevice(-1);
    assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    put(&f->x, 1);
    EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, NULL));
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    bg_graph_destroy(graph);
    fails = true;
    EXPECT_STATUS(bg_capture_forward(&graph, pass, f, f->stream, NULL), BG_ERROR_TIMEOUT);
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
static void test_pending_error_beside_scratch(void **state)
{
    fixture *f = *state;
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

static bg_status untidy_pass(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    return BG_CALL(untidy, stream);
}

static bg_status bare_pass(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    return bg_break(stream);
}

static bg_status two_segments(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    bare_pass(user, stream);
    return BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 3);
}

/* What the program leaves in its own functions stays, too, where a call of the library fails next. */
static void test_errors_left_in_bodies_stay(void **state)
{
    fixture *f = *state;
    if (!hostcuda_fail) {
        print_message("skipped: calls fail on request on the host device only\n");
        skip();
    }
    for (int i = 0; i < 3; i++) {
        bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
        bg_graph *graph;
        options.barrier = i == 1 ? leave_an_error : NULL;
        options.debug = i == 2 ? BG_DEBUG_FORWARD : BG_DEBUG_OFF;
        assert_int_equal(hostcuda_fail(i < 2 ? "cudaStreamBeginCapture@2=cudaErrorNotPermitted"
                                             : "cudaEventRecord@1=cudaErrorNotPermitted"),
                         0);
        EXPECT_STATUS(bg_capture_forward(&graph, i == 1 ? bare_pass : untidy_pass, f, f->stream, &options),
                      BG_ERROR_CUDA);
        assert_int_equal(hostcuda_faults(), 1);
        assert_int_equal(hostcuda_fail(NULL), 0);
        EXPECT_ERROR("cudaErrorNotPermitted");
        assert_int_not_equal(cudaGetLastError(), cudaSuccess);
        expect_works(f);
    }
}

/* A segment is counted before it is launched: the sentence names that one, not the next. */
static void test_segment_that_fails_is_named(void **state)
{
    static const char *const cases[][2] = {{"cudaGraphLaunch@1=cudaErrorNotPermitted", "segment 0 of graph: "},
                                           {"cudaGraphLaunch@2=cudaErrorNotPermitted", "segment 1 of graph: "},
                                           {"cudaGraphInstantiate@2=cudaErrorNotPermitted", "segment 1 of graph: "}};
    fixture *f = *state;
    if (!hostcuda_fail) {
        print_message("skipped: calls fail on request on the host device only\n");
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bg_graph *graph;
        assert_int_equal(hostcuda_fail(cases[i][0]), 0);
        EXPECT_STATUS(bg_capture_forward(&graph, two_segments, f, f->stream, NULL), BG_ERROR_CUDA);
        assert_int_equal(hostcuda_faults(), 1);
        assert_int_equal(hostcuda_fail(NULL), 0);
        EXPECT_ERROR("cudaErrorNotPermitted");
        EXPECT_ERROR(cases[i][1]);
        expect_works(f);
    }
}

static void test_null_arguments(void **state)
{
    fixture *f = *state;
    bg_graph_info info = BG_GRAPH_INFO_INIT;
    bg_call_info call = BG_CALL_INFO_INIT;
    bg_capture *capture = NULL;
    bg_graph *graph = NULL;
    EXPECT_STATUS(bg_capture_begin(NULL, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("capture is NULL");
    EXPECT_STATUS(bg_capture_begin(&capture, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("stream is NULL");
    EXPECT_STATUS(bg_capture_begin(&capture, cudaStreamLegacy, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("legacy stream");
    EXPECT_STATUS(bg_capture_forward(NULL, pass, f, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_capture_forward(&graph, NULL, f, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("forward is NULL");
    EXPECT_STATUS(bg_capture_forward(&graph, pass, f, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_replay(NULL, f->stream), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("graph is NULL");
    EXPECT_STATUS(bg_graph_get_info(NULL, &info), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_graph_get_call(NULL, 0, &call), BG_ERROR_INVALID_ARGUMENT);
    assert_null(bg_graph_segment(NULL, 0));
    EXPECT_STATUS(bg_break(NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_stream_wait_stream(NULL, f->stream), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("waiter is NULL");
    EXPECT_STATUS(bg_stream_wait_stream(f->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(BG_CALL(scale, NULL, .x = f->x, .y = f->y), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("stream is NULL");
    EXPECT_STATUS(bg_op_call(bg_op_find("scale"), f->stream, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_op_call(NULL, f->stream, f, NULL), BG_ERROR_INVALID_ARGUMENT);

    EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, NULL));
    EXPECT_STATUS(bg_replay(graph, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("stream is NULL");
    EXPECT_STATUS(bg_graph_get_info(graph, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_graph_get_call(graph, 0, NULL), BG_ERROR_INVALID_ARGUMENT);
    info.struct_size = 0;
    EXPECT_STATUS(bg_graph_get_info(graph, &info), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("struct_size");
    bg_graph_destroy(graph);

    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL)); /* the end consumes the capture, whatever it returns */
    EXPECT_STATUS(bg_capture_end(capture, NULL), BG_ERROR_INVALID_ARGUMENT);
    expect_works(f);
}

static void test_bad_options(void **state)
{
    fixture *f = *state;
    bg_capture *capture;
#define REFUSED(field, value, status, text)                                                                            \
    do {                                                                                                               \
        bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;                                                          \
        options.field = value;                                                                                         \
        EXPECT_STATUS(bg_capture_begin(&capture, f->stream, &options), status);                                        \
        EXPECT_ERROR(text);                                                                                            \
        assert_null(capture);                                                                                          \
    } while (0)
    REFUSED(struct_size, 0, BG_ERROR_INVALID_ARGUMENT, "BG_CAPTURE_OPTIONS_INIT");
    REFUSED(mode, (enum cudaStreamCaptureMode)9, BG_ERROR_INVALID_ARGUMENT, "options.mode is 9");
    REFUSED(debug, (bg_debug)77, BG_ERROR_INVALID_ARGUMENT, "options.debug is 77");
    REFUSED(worker_threads, -1, BG_ERROR_INVALID_ARGUMENT, "worker_threads");
    REFUSED(state_count, 1, BG_ERROR_INVALID_ARGUMENT, "options.state is NULL");
    bg_tensor bad = f->x;
    bad.rank = 99;
    bg_capture_options with_state = BG_CAPTURE_OPTIONS_INIT;
    with_state.state = &bad;
    with_state.state_count = 1;
    EXPECT_STATUS(bg_capture_begin(&capture, f->stream, &with_state), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("options.state[0] is not a valid tensor");
    expect_works(f);
}

static void test_stream_of_another_device(void **state)
{
    fixture *f = *state;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *graph;
    cudaStream_t stream;
    bg_capture *capture;
    int devices = 0;
    EXPECT_CUDA(cudaGetDeviceCount(&devices));
    if (devices < 2) {
        print_message("skipped: there is one device; with HOSTCUDA_DEVICES=2, or on two GPUs, this test runs\n");
        skip();
    }
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaSetDevice(0));
    EXPECT_STATUS(bg_capture_begin(&capture, stream, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("stream belongs to device 1, the current device is 0");
    EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, NULL));
    EXPECT_STATUS(bg_replay(graph, stream), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("stream belongs to device 1");
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_STATUS(bg_replay(graph, stream), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("captured on device 0, the current device is 1");
    EXPECT_CUDA(cudaSetDevice(0));
    EXPECT_OK(bg_replay(graph, f->stream));
    bg_graph_destroy(graph);
    options.check = BG_REPLAY_CHECK_ON; /* then also on the stream of the last replay */
    EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, &options));
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("captured on device 0, the current device is 1");
    EXPECT_CUDA(cudaSetDevice(0));
    EXPECT_OK(bg_replay(graph, f->stream));
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaStreamDestroy(stream));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_body_fails_at_capture),
        TEST(test_body_fails_at_replay),
        TEST(test_captured_body_fails),
        TEST(test_forward_fails),
        TEST(test_capture_invalidated),
        TEST(test_capture_invalidated_outside_ops),
        TEST(test_begin_twice),
        TEST(test_end_without_begin),
        TEST(test_abort),
        TEST(test_end_and_abort_inside),
        TEST(test_ops_in_a_barrier),
        TEST(test_bad_calls_stick),
        TEST(test_last_stream_captures),
        TEST(test_capture_beside_a_foreign_one),
        TEST(test_capture_and_replay_in_a_body),
        TEST(test_replay_on_a_captured_stream),
        TEST(test_replay_into_a_foreign_capture),
        TEST(test_a_body_leaves_a_capture),
        TEST(test_the_end_fails),
        TEST(test_foreign_capture),
        TEST(test_foreign_inline_option),
        TEST(test_pending_error_stays),
        TEST(test_pending_error_beside_scratch),
        TEST(test_errors_left_in_bodies_stay),
        TEST(test_segment_that_fails_is_named),
        TEST(test_null_arguments),
        TEST(test_bad_options),
        TEST(test_stream_of_another_device),
    };
    setenv("HOSTCUDA_DEVICES", "2", 0); /* the host device's; a GPU knows nothing of it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
