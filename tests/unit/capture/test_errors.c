/* What goes wrong, and what is left after it. */
#include "tests/support/test.h"
#include "tests/support/fragile_pass.h"

#include <stdlib.h>

TEST_VARIABLE(HOSTCUDA_DEVICES, "2");

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

FRAGILE_TEST(test_body_fails_at_capture)
{
    bg_capture *capture;
    bg_graph *graph = (bg_graph *)f;
    put(&f->x, 1);
    fragile_fails = true;
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 3));
    EXPECT_STATUS(BG_CALL(fragile, f->stream, .x = f->y), BG_ERROR_TIMEOUT);
    fragile_fails = false;
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
    EXPECT_VALUE(&f->y, 3);
    expect_usable(f, f->stream);
    expect_works(f);
}

FRAGILE_TEST(test_body_fails_at_replay)
{
    put(&f->x, 1);
    CAPTURED_GRAPH(graph, fragile_pass, f, f->stream, NULL);
    fragile_fails = true;
    EXPECT_FAILS(bg_replay(graph, f->stream), BG_ERROR_TIMEOUT, "op fragile, call fragile#0 at ");
    assert_int_equal(bg_current_phase(), BG_PHASE_PLAIN);
    fragile_fails = false;
    EXPECT_OK(bg_replay(graph, f->stream)); /* the graph is reusable */
    EXPECT_VALUE(&f->y, 30);
}

FIXTURE_PASS(captured_op_fails)
{
    BG_CALL(fails_captured, stream, .x = f->y);
    return BG_OK; /* the error sticks, though nobody looked */
}

FRAGILE_TEST(test_captured_body_fails)
{
    put(&f->y, 4);
    EXPECT_NO_CAPTURE(captured_op_fails, f, f->stream, NULL, BG_ERROR_NOT_FOUND, "fails_captured#0");
    EXPECT_VALUE(&f->y, 4);
    expect_works(f);
}

FIXTURE_PASS(forward_fails)
{
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    return BG_ERROR_IO;
}

FRAGILE_TEST(test_forward_fails)
{
    EXPECT_NO_CAPTURE(forward_fails, f, f->stream, NULL, BG_ERROR_IO, "the forward pass returned BG_ERROR_IO");
    expect_works(f);
}

FIXTURE_PASS(forbidden_call)
{
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    BG_CALL(allocates, stream);
    return BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 3);
}

FRAGILE_TEST(test_capture_invalidated)
{
    put(&f->x, 1);
    EXPECT_NO_CAPTURE(forbidden_call, f, f->stream, NULL, BG_ERROR_CUDA, "allocates#0");
    (void)cudaGetLastError(); /* the body's own, which it did not take */
    expect_usable(f, f->stream);
    EXPECT_OK(bg_override_eager("allocates"));
    bg_graph_destroy(CAPTURED_BY(forbidden_call, f, f->stream, NULL));
    expect_works(f);
}

FIXTURE_PASS(invalidates)
{
    void *memory = NULL;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    (void)cudaMalloc(&memory, 256); /* outside any op, and unseen */
    (void)cudaGetLastError();
    return BG_CALL(fragile, stream, .x = f->y);
}

FRAGILE_TEST(test_capture_invalidated_outside_ops)
{
    EXPECT_NO_CAPTURE(invalidates, f, f->stream, NULL, BG_ERROR_CAPTURE_INVALID, "cudaErrorStreamCaptureInvalidated",
                      "make the op that made it eager");
    expect_usable(f, f->stream);
    expect_works(f);
}

FRAGILE_TEST(test_begin_twice)
{
    bg_capture *first, *second = (bg_capture *)f;
    OWNED_GRAPH(graph);
    EXPECT_OK(bg_capture_begin(&first, f->stream, NULL));
    EXPECT_STATUS(bg_capture_begin(&second, f->stream, NULL), BG_ERROR_ALREADY_CAPTURING);
    assert_null(second);
    EXPECT_STATUS(bg_capture_begin(&second, f->other, NULL), BG_ERROR_ALREADY_CAPTURING);
    EXPECT_OK(fragile_pass(f, f->stream));
    EXPECT_OK(bg_capture_end(first, &graph)); /* unharmed */
    EXPECT_REPLAY(graph, f->stream, &f->x, 2, &f->y, 60);
}

FRAGILE_TEST(test_end_without_begin)
{
    bg_graph *graph = (bg_graph *)f;
    EXPECT_FAILS(bg_capture_end(NULL, &graph), BG_ERROR_INVALID_ARGUMENT, "capture is NULL");
    assert_null(graph);
    bg_capture_abort(NULL);
}

FRAGILE_TEST(test_abort)
{
    bg_capture *capture;
    put(&f->x, 1);
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 3));
    bg_capture_abort(capture);
    EXPECT_VALUE(&f->y, 0);
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
    TRY_BG(end_capture());
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, N, stream));
}

BG_OP(calls_what_ends, BG_INOUT(x))
{
    EXPECT_STATUS(BG_CALL(ends_its_capture, stream), BG_ERROR_NOT_CAPTURING);
    EXPECT_STATUS(BG_CALL(scale, stream, .x = args->x, .y = args->x, .factor = 2), BG_ERROR_NOT_CAPTURING);
    return BG_OK;
}

FRAGILE_TEST(test_end_and_abort_inside)
{
    for (int i = 0; i < 8; i++) {
        bg_status status = BG_OK;
        ends_in_body = i % 2 == 1;
        put(&f->x, 1);
        put(&f->y, 7);
        EXPECT_OK(
            bg_capture_begin(&in_body, f->stream,
                             OPTIONS(.state = &f->y, .state_count = 1, .barrier = i / 2 == 3 ? end_in_barrier : NULL)));
        EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 3));
        switch (i / 2) {
        case 0: status = BG_CALL(ends_its_capture, f->stream); break;
        case 1: status = BG_CALL(ends_its_capture_captured, f->stream, .x = f->x, .y = f->y); break;
        case 2: status = BG_CALL(calls_what_ends, f->stream, .x = f->y); break;
        case 3: status = bg_break(f->stream); break;
        }
        EXPECT_STATUS(status, BG_ERROR_NOT_CAPTURING);
        assert_int_equal(bg_current_phase(), BG_PHASE_PLAIN);
        EXPECT_VALUE(&f->y, 7); /* options.state is back */
        expect_works(f);
    }
}

static bg_status call_in_barrier(void *user)
{
    fixture *f = user;
    return BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 3) == BG_ERROR_BUSY ? BG_ERROR_IO : BG_OK;
}

FRAGILE_TEST(test_ops_in_a_barrier)
{
    EXPECT_NO_CAPTURE(fragile_pass, f, f->stream, OPTIONS(.barrier = call_in_barrier, .barrier_user = f), BG_ERROR_BUSY,
                      "options.barrier");
    expect_works(f);
}

/* ---- arguments ---- */

FRAGILE_TEST(test_bad_calls_stick)
{
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
        EXPECT_FAILS(bg_capture_end(capture, &graph), BG_ERROR_INVALID_ARGUMENT, "is NULL", "test_errors.c");
    }
    expect_works(f);
}

FRAGILE_TEST(test_null_arguments)
{
    bg_graph_info info = BG_GRAPH_INFO_INIT;
    bg_call_info call = BG_CALL_INFO_INIT;
    bg_capture *capture = NULL;
    bg_graph *graph = NULL;
    EXPECT_FAILS(bg_capture_begin(NULL, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT, "capture is NULL");
    EXPECT_FAILS(bg_capture_begin(&capture, NULL, NULL), BG_ERROR_INVALID_ARGUMENT, "stream is NULL");
    EXPECT_FAILS(bg_capture_begin(&capture, cudaStreamLegacy, NULL), BG_ERROR_INVALID_ARGUMENT, "legacy stream");
    EXPECT_STATUS(bg_capture_forward(NULL, fragile_pass, f, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_NO_CAPTURE(NULL, f, f->stream, NULL, BG_ERROR_INVALID_ARGUMENT, "forward is NULL");
    EXPECT_NO_CAPTURE(fragile_pass, f, NULL, NULL, BG_ERROR_INVALID_ARGUMENT);
    EXPECT_FAILS(bg_replay(NULL, f->stream), BG_ERROR_INVALID_ARGUMENT, "graph is NULL");
    EXPECT_STATUS(bg_graph_get_info(NULL, &info), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_graph_get_call(NULL, 0, &call), BG_ERROR_INVALID_ARGUMENT);
    assert_null(bg_graph_segment(NULL, 0));
    EXPECT_STATUS(bg_break(NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_FAILS(bg_stream_wait_stream(NULL, f->stream), BG_ERROR_INVALID_ARGUMENT, "waiter is NULL");
    EXPECT_STATUS(bg_stream_wait_stream(f->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_FAILS(BG_CALL(scale, NULL, .x = f->x, .y = f->y), BG_ERROR_INVALID_ARGUMENT, "stream is NULL");
    EXPECT_STATUS(bg_op_call(bg_op_find("scale"), f->stream, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_op_call(NULL, f->stream, f, NULL), BG_ERROR_INVALID_ARGUMENT);

    EXPECT_OK(bg_capture_forward(&graph, fragile_pass, f, f->stream, NULL));
    EXPECT_FAILS(bg_replay(graph, NULL), BG_ERROR_INVALID_ARGUMENT, "stream is NULL");
    EXPECT_STATUS(bg_graph_get_info(graph, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_graph_get_call(graph, 0, NULL), BG_ERROR_INVALID_ARGUMENT);
    info.struct_size = 0;
    EXPECT_FAILS(bg_graph_get_info(graph, &info), BG_ERROR_INVALID_ARGUMENT, "struct_size");
    bg_graph_destroy(graph);

    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL)); /* the end consumes the capture, whatever it returns */
    EXPECT_STATUS(bg_capture_end(capture, NULL), BG_ERROR_INVALID_ARGUMENT);
    expect_works(f);
}

/* Tests go by both. At file scope, where what is between the members is 0. */
static const bg_capture_options defaults = BG_CAPTURE_OPTIONS_INIT;
static const bg_capture_options *const support_defaults = OPTIONS(.name = NULL);

FRAGILE_TEST(test_bad_options)
{
    bg_capture *capture;
#define REFUSED(field, value, text)                                                                                    \
    do {                                                                                                               \
        bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;                                                          \
        options.field = value;                                                                                         \
        EXPECT_FAILS(bg_capture_begin(&capture, f->stream, &options), BG_ERROR_INVALID_ARGUMENT, text);                \
        assert_null(capture);                                                                                          \
    } while (0)
    REFUSED(struct_size, 0, "BG_CAPTURE_OPTIONS_INIT");
    REFUSED(mode, (enum cudaStreamCaptureMode)9, "options.mode is 9");
    REFUSED(debug, (bg_debug)77, "options.debug is 77");
    REFUSED(worker_threads, -1, "worker_threads");
    REFUSED(state_count, 1, "options.state is NULL");
    assert_memory_equal(support_defaults, &defaults, sizeof defaults);
    bg_tensor bad = f->x;
    bad.rank = 99;
    EXPECT_FAILS(bg_capture_begin(&capture, f->stream, OPTIONS(.state = &bad, .state_count = 1)),
                 BG_ERROR_INVALID_ARGUMENT, "options.state[0] is not a valid tensor");
    expect_works(f);
}

FRAGILE_TEST(test_stream_of_another_device)
{
    OWNED_STREAM(stream);
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
    EXPECT_FAILS(bg_capture_begin(&capture, stream, NULL), BG_ERROR_INVALID_ARGUMENT,
                 "stream belongs to device 1, the current device is 0");
    CAPTURED_GRAPH(graph, fragile_pass, f, f->stream, NULL);
    EXPECT_FAILS(bg_replay(graph, stream), BG_ERROR_INVALID_ARGUMENT, "stream belongs to device 1");
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_FAILS(bg_replay(graph, stream), BG_ERROR_INVALID_ARGUMENT, "captured on device 0, the current device is 1");
    EXPECT_CUDA(cudaSetDevice(0));
    EXPECT_OK(bg_replay(graph, f->stream));
    /* With a check, also on the stream of the last replay. */
    CAPTURED_GRAPH(checked, fragile_pass, f, f->stream, OPTIONS(.check = BG_REPLAY_CHECK_ON));
    EXPECT_OK(bg_replay(checked, f->stream));
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_FAILS(bg_replay(checked, f->stream), BG_ERROR_INVALID_ARGUMENT,
                 "captured on device 0, the current device is 1");
    EXPECT_CUDA(cudaSetDevice(0));
    EXPECT_OK(bg_replay(checked, f->stream));
}

/* ---- calls of CUDA that fail ---- */

TESTS_ON_HOST_DEVICE("that calls fail on request");

/* Where the very last call of the end fails, the pass does not count. */
FRAGILE_TEST(test_the_end_fails)
{
    bg_capture *capture;
    bg_graph *graph;
    put(&f->x, 1);
    put(&f->y, 5);
    EXPECT_OK(bg_capture_begin(&capture, f->stream, OPTIONS(.state = &f->y, .state_count = 1)));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 9));
    begin_fault("cudaEventRecord@1=cudaErrorNotPermitted");
    EXPECT_STATUS(bg_capture_end(capture, &graph), BG_ERROR_CUDA);
    end_fault();
    EXPECT_VALUE(&f->y, 5);
    expect_works(f);
}

FIXTURE_PASS(two_segments)
{
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    bg_break(stream);
    return BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 3);
}

/* A segment is counted before it is launched: the sentence names that one, not the next. */
FRAGILE_TEST(test_segment_that_fails_is_named)
{
    static const char *const cases[][2] = {{"cudaGraphLaunch@1=cudaErrorNotPermitted", "segment 0 of graph: "},
                                           {"cudaGraphLaunch@2=cudaErrorNotPermitted", "segment 1 of graph: "},
                                           {"cudaGraphInstantiate@2=cudaErrorNotPermitted", "segment 1 of graph: "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_fault(cases[i][0]);
        EXPECT_NO_CAPTURE(two_segments, f, f->stream, NULL, BG_ERROR_CUDA, "cudaErrorNotPermitted", cases[i][1]);
        end_fault();
        expect_works(f);
    }
}
