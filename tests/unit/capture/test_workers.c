/* Instantiation in worker threads, where a capture launches nothing. */
#include "tests/support/ops.h"

#include <hostcuda/hostcuda.h>

/* There on the host device only. */
#pragma weak hostcuda_fail
#pragma weak hostcuda_count_live

enum { SEGMENTS = 12 };

static float *elsewhere;

/* Its shape is known only after it has run, which it does at capture, too; it leaves its result elsewhere. */
BG_EAGER_OP(unknown, BG_IN(x), BG_OUT(y))
{
    args->y = bg_tensor_1d(elsewhere, BG_F32, N);
    return from_cuda(bgk_scale(elsewhere, args->x.data, 5, N, stream));
}

FIXTURE_PASS(pass)
{
    for (int i = 0; i < SEGMENTS; i++) {
        if (i > 0)
            BG_CALL(twice, stream, .x = f->y);
        BG_CALL(scale, stream, .x = i ? f->y : f->x, .y = f->y, .factor = i % 2 ? 2 : 0.25f);
    }
    return BG_OK;
}

static bg_capture_options options_for(int threads)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    options.launch_segments = false;
    options.worker_threads = threads;
    return options;
}

static void expect_result(fixture *f, bg_graph *graph)
{
    float expected = 3;
    for (int i = 0; i < SEGMENTS; i++)
        expected *= (i ? 2.0f : 1.0f) * (i % 2 ? 2 : 0.25f);
    put(&f->x, 3);
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_VALUE(&f->y, expected);
}

FIXTURE_TEST(test_threads)
{
    static const int counts[] = {0, 1, 2, 5, 64};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (int upload = 0; upload < 2; upload++) {
            bg_capture_options options = options_for(counts[i]);
            bg_graph *graph;
            options.upload = upload;
            EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, &options));
            EXPECT_VALUE(&f->y, 0); /* nothing ran */
            assert_int_equal(info_of(graph).segments, SEGMENTS);
            assert_true(info_of(graph).instantiate_ms > 0);
            expect_result(f, graph);
            bg_graph_destroy(graph);
            put(&f->y, 0);
        }
    }
}

FIXTURE_TEST(test_modes_of_capture)
{
    static const enum cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                                       cudaStreamCaptureModeRelaxed};
    for (int i = 0; i < 3; i++) {
        bg_capture_options options = options_for(3);
        bg_graph *graph;
        options.mode = modes[i];
        EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, &options));
        expect_result(f, graph);
        bg_graph_destroy(graph);
    }
}

/* Each segment is launched at once, so that the threads are not wanted. */
FIXTURE_TEST(test_launching)
{
    bg_capture_options options = options_for(3);
    OWNED_GRAPH(graph);
    options.launch_segments = true;
    put(&f->x, 1);
    EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, &options));
    assert_true(get(&f->y) != 0);
    expect_result(f, graph);
}

FIXTURE_PASS(with_unknown)
{
    unknown_args args = {.x = f->x};
    bg_status status = BG_CALL_ARGS(unknown, stream, &args);
    return status != BG_OK ? status : BG_CALL(scale, stream, .x = args.y, .y = f->z, .factor = 2);
}

FIXTURE_TEST(test_write_back)
{
    bg_capture_options options = options_for(2);
    bg_graph *graph;
    EXPECT_CUDA(cudaMalloc((void **)&elsewhere, N * sizeof(float)));
    EXPECT_OK(bg_capture_forward(&graph, with_unknown, f, f->stream, &options));
    assert_int_equal(info_of(graph).nodes, 2);
    for (int i = 1; i < 4; i++) {
        put(&f->x, (float)i);
        EXPECT_OK(bg_replay(graph, f->stream));
        EXPECT_VALUE(&f->z, 10 * (float)i);
    }
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaFree(elsewhere));
}

FIXTURE_TEST(test_abort)
{
    bg_capture_options options = options_for(2);
    for (int segments = 0; segments < 6; segments++) {
        bg_capture *capture;
        EXPECT_OK(bg_capture_begin(&capture, f->stream, &options));
        for (int i = 0; i < segments; i++) {
            EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 2));
            EXPECT_OK(BG_CALL(twice, f->stream, .x = f->y));
        }
        bg_capture_abort(capture);
        expect_usable(f, f->stream);
    }
}

FIXTURE_TEST(test_bad_counts)
{
    static const int counts[] = {-1, 65};
    for (int i = 0; i < 2; i++) {
        bg_capture_options options = options_for(counts[i]);
        EXPECT_NO_GRAPH(pass, f, f->stream, &options, BG_ERROR_INVALID_ARGUMENT, "options.worker_threads",
                        "allowed are 0 to 64");
    }
}

FIXTURE_TEST(test_failures)
{
    static const char *const faults[] = {
        "cudaGraphInstantiate@1=cudaErrorMemoryAllocation", "cudaGraphInstantiate@7=cudaErrorMemoryAllocation",
        "cudaGraphInstantiate@12=cudaErrorMemoryAllocation", "cudaSetDevice@1=cudaErrorMemoryAllocation",
        "cudaGraphUpload@3=cudaErrorMemoryAllocation"};
    if (!hostcuda_fail) {
        print_message("skipped: calls fail on request on the host device only\n");
        skip();
    }
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        bg_capture_options options = options_for(i == 3 ? 1 : 3); /* of several, the others would do its work */
        struct hostcuda_live before = hostcuda_count_live(), after;
        bg_graph *graph = NULL;
        options.upload = true;
        assert_int_equal(hostcuda_fail(faults[i]), 0);
        EXPECT_NO_GRAPH(pass, f, f->stream, &options, BG_ERROR_OUT_OF_MEMORY);
        assert_int_equal(hostcuda_fail(NULL), 0);
        assert_null(graph);
        EXPECT_ERROR(i == 4 ? "cudaGraphUpload" : "in a worker thread");
        EXPECT_ERROR("cudaErrorMemoryAllocation");
        EXPECT_CUDA(cudaGetLastError());
        after = hostcuda_count_live();
        assert_int_equal(after.graphs, before.graphs);
        assert_int_equal(after.execs, before.execs);
        expect_usable(f, f->stream);
    }
}
