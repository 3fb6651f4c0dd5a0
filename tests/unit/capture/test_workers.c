/* Instantiation in worker threads, where a capture launches nothing. */
#include "tests/support/ops.h"

#include <hostcuda/hostcuda.h>

/* There on the host device only. */
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

static void expect_result(fixture *f, bg_graph *graph)
{
    float expected = 3;
    for (int i = 0; i < SEGMENTS; i++)
        expected *= (i ? 2.0f : 1.0f) * (i % 2 ? 2 : 0.25f);
    EXPECT_REPLAY(graph, f->stream, &f->x, 3, &f->y, expected);
}

FIXTURE_TEST(test_threads)
{
    static const int counts[] = {0, 1, 2, 5, 64};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (int upload = 0; upload < 2; upload++) {
            CAPTURED_GRAPH(graph, pass, f, f->stream,
                           UNLAUNCHED_OPTIONS(.worker_threads = counts[i], .upload = upload));
            EXPECT_VALUE(&f->y, 0); /* nothing ran */
            assert_int_equal(info_of(graph).segments, SEGMENTS);
            assert_true(info_of(graph).instantiate_ms > 0);
            expect_result(f, graph);
            put(&f->y, 0);
        }
    }
}

FIXTURE_TEST(test_modes_of_capture)
{
    static const enum cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                                       cudaStreamCaptureModeRelaxed};
    for (int i = 0; i < 3; i++) {
        bg_capture_options options = *UNLAUNCHED_OPTIONS(.worker_threads = 3);
        options.mode = modes[i];
        CAPTURED_GRAPH(graph, pass, f, f->stream, &options);
        expect_result(f, graph);
    }
}

/* Each segment is launched at once, so that the threads are not wanted. */
FIXTURE_TEST(test_launching)
{
    put(&f->x, 1);
    CAPTURED_GRAPH(graph, pass, f, f->stream, OPTIONS(.worker_threads = 3));
    assert_true(get(&f->y) != 0);
    expect_result(f, graph);
}

FIXTURE_PASS(with_unknown)
{
    unknown_args args = {.x = f->x};
    TRY_BG(BG_CALL_ARGS(unknown, stream, &args));
    return BG_CALL(scale, stream, .x = args.y, .y = f->z, .factor = 2);
}

FIXTURE_TEST(test_write_back)
{
    EXPECT_CUDA(cudaMalloc((void **)&elsewhere, N * sizeof(float)));
    bg_graph *graph = CAPTURED_BY(with_unknown, f, f->stream, UNLAUNCHED_OPTIONS(.worker_threads = 2));
    assert_int_equal(info_of(graph).nodes, 2);
    EXPECT_REPLAYS(graph, f->stream, &f->x, &f->z, 10);
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaFree(elsewhere));
}

FIXTURE_TEST(test_abort)
{
    for (int segments = 0; segments < 6; segments++) {
        bg_capture *capture;
        EXPECT_OK(bg_capture_begin(&capture, f->stream, UNLAUNCHED_OPTIONS(.worker_threads = 2)));
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
    for (int i = 0; i < 2; i++)
        EXPECT_NO_CAPTURE(pass, f, f->stream, UNLAUNCHED_OPTIONS(.worker_threads = counts[i]),
                          BG_ERROR_INVALID_ARGUMENT, "options.worker_threads", "allowed are 0 to 64");
}

TESTS_ON_HOST_DEVICE("that calls fail on request");

FIXTURE_TEST(test_failures)
{
    static const struct {
        const char *fault, *told;
        int threads;
    } rows[] = {
        {"cudaGraphInstantiate@1=cudaErrorMemoryAllocation", "in a worker thread", 3},
        {"cudaGraphInstantiate@7=cudaErrorMemoryAllocation", "in a worker thread", 3},
        {"cudaGraphInstantiate@12=cudaErrorMemoryAllocation", "in a worker thread", 3},
        {"cudaSetDevice@1=cudaErrorMemoryAllocation", "in a worker thread", 1}, /* of 3, others would do its work */
        {"cudaGraphUpload@3=cudaErrorMemoryAllocation", "cudaGraphUpload", 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hostcuda_live before = hostcuda_count_live(), after;
        begin_fault(rows[i].fault);
        EXPECT_NO_CAPTURE(pass, f, f->stream, UNLAUNCHED_OPTIONS(.worker_threads = rows[i].threads, .upload = true),
                          BG_ERROR_OUT_OF_MEMORY, rows[i].told, "cudaErrorMemoryAllocation");
        end_fault();
        EXPECT_CUDA(cudaGetLastError());
        after = hostcuda_count_live();
        assert_int_equal(after.graphs, before.graphs);
        assert_int_equal(after.execs, before.execs);
        expect_usable(f, f->stream);
    }
}
