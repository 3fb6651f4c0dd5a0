/* Captures, replays and failures in several threads. */
#include "tests/support/ops.h"

#include <pthread.h>
#include <string.h>

FIXTURE_PASS(pass)
{
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    BG_CALL(twice, stream, .x = f->y);
    return BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 5);
}

static void expect_works(fixture *f)
{
    CAPTURED_GRAPH(graph, pass, f, f->stream, NULL);
    EXPECT_REPLAY(graph, f->stream, &f->x, 1, &f->y, 30);
}

typedef struct elsewhere {
    fixture *f;
    bg_capture *capture;
    bg_status status[4];
    bg_graph *graph;
    char message[1024];
} elsewhere;

static void *end_elsewhere(void *user)
{
    elsewhere *e = user;
    e->status[0] = bg_capture_end(e->capture, &e->graph);
    strcpy(e->message, bg_last_error());
    return NULL;
}

FIXTURE_TEST(test_end_from_another_thread)
{
    elsewhere e = {.f = f, .graph = (bg_graph *)f};
    EXPECT_OK(bg_capture_begin(&e.capture, f->stream, NULL));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 3));
    in_new_thread(end_elsewhere, &e);
    assert_int_equal(e.status[0], BG_ERROR_WRONG_THREAD);
    assert_null(e.graph);
    assert_non_null(strstr(e.message, "another thread began this capture"));
    assert_int_equal(bg_current_phase(), BG_PHASE_PLAIN);
    expect_usable(f, f->stream);
    expect_works(f);
}

static void *call_elsewhere(void *user)
{
    elsewhere *e = user;
    e->status[0] = BG_CALL(scale, e->f->stream, .x = e->f->x, .y = e->f->y, .factor = 3);
    e->status[1] = BG_CALL(scale, e->f->other, .x = e->f->x, .y = e->f->z, .factor = 4);
    e->status[2] = bg_break(e->f->stream);
    e->status[3] = bg_stream_wait_stream(e->f->other, e->f->stream);
    return NULL;
}

FIXTURE_TEST(test_calls_from_another_thread)
{
    elsewhere e = {.f = f};
    put(&f->x, 1);
    EXPECT_OK(bg_capture_begin(&e.capture, f->stream, NULL));
    in_new_thread(call_elsewhere, &e);
    assert_int_equal(e.status[0], BG_ERROR_WRONG_THREAD);
    assert_int_equal(e.status[1], BG_OK); /* a plain call */
    assert_int_equal(e.status[2], BG_ERROR_WRONG_THREAD);
    assert_int_equal(e.status[3], BG_ERROR_WRONG_THREAD);
    EXPECT_OK(bg_capture_end(e.capture, &e.graph)); /* unharmed */
    assert_int_equal(info_of(e.graph).calls, 0);
    EXPECT_VALUE(&f->z, 4);
    bg_graph_destroy(e.graph);
}

/* The per-thread default stream is another one in each thread. */
static void *use_per_thread_stream(void *user)
{
    elsewhere *e = user;
    e->status[0] = BG_CALL(twice, cudaStreamPerThread, .x = e->f->z);
    e->status[1] = bg_stream_wait_stream(cudaStreamPerThread, e->f->other);
    e->status[2] = bg_replay(e->graph, cudaStreamPerThread);
    e->status[3] = from_cuda(cudaStreamSynchronize(cudaStreamPerThread));
    return NULL;
}

FIXTURE_TEST(test_per_thread_streams)
{
    elsewhere e = {.f = f};
    bg_graph *graph;
    put(&f->x, 1);
    e.graph = CAPTURED_BY(pass, f, f->stream, NULL);
    EXPECT_OK(bg_capture_begin(&e.capture, cudaStreamPerThread, NULL));
    EXPECT_OK(BG_CALL(scale, cudaStreamPerThread, .x = f->x, .y = f->x, .factor = 1));
    in_new_thread(use_per_thread_stream, &e);
    for (int i = 0; i < 4; i++)
        assert_int_equal(e.status[i], BG_OK);
    EXPECT_OK(bg_capture_end(e.capture, &graph)); /* unharmed */
    bg_graph_destroy(graph);
    EXPECT_OK(bg_replay(e.graph, cudaStreamPerThread));
    in_new_thread(use_per_thread_stream, &e);
    assert_int_equal(e.status[2], BG_OK);
    bg_graph_destroy(e.graph);
}

/* Two captures, and a wait across them. */
static void *wait_for_mine(void *user)
{
    elsewhere *e = user;
    bg_graph *graph;
    bg_capture *capture;
    e->status[0] = bg_capture_begin(&capture, e->f->other, NULL);
    e->status[1] = bg_stream_wait_stream(e->f->stream, e->f->other);
    e->status[2] = bg_capture_end(capture, &graph);
    return NULL;
}

FIXTURE_TEST(test_wait_across_captures)
{
    elsewhere e = {.f = f};
    EXPECT_OK(bg_capture_begin(&e.capture, f->stream, NULL));
    in_new_thread(wait_for_mine, &e);
    assert_int_equal(e.status[0], BG_OK);
    assert_int_equal(e.status[1], BG_ERROR_WRONG_THREAD);
    assert_int_equal(e.status[2], BG_ERROR_WRONG_THREAD);
    EXPECT_OK(bg_capture_end(e.capture, &e.graph)); /* unharmed */
    bg_graph_destroy(e.graph);
}

static bg_status one_round(fixture *f, float x)
{
    OWNED_GRAPH(graph);
    float host[N] = {0};
    TRY_BG(from_cuda(bgk_fill(f->x.data, x, N, f->stream)));
    TRY_BG(bg_capture_forward(&graph, pass, f, f->stream, NULL));
    for (int i = 0; i < 5; i++)
        TRY_BG(bg_replay(graph, f->stream));
    TRY_BG(from_cuda(cudaMemcpyAsync(host, f->y.data, sizeof host, cudaMemcpyDeviceToHost, f->stream)));
    TRY_BG(from_cuda(cudaStreamSynchronize(f->stream)));
    return host[N - 1] == 30 * x ? BG_OK : BG_ERROR_MISMATCH;
}

/* Two threads capture, replay and destroy at once. */
static void *work(void *user)
{
    elsewhere *e = user;
    fixture f = *e->f; /* memory and a stream of its own */
    e->status[0] = from_cuda(cudaMalloc((void **)&f.memory, 3 * N * sizeof(float)));
    if (e->status[0] == BG_OK)
        e->status[0] = from_cuda(cudaStreamCreateWithFlags(&f.stream, cudaStreamNonBlocking));
    f.x.data = f.memory;
    f.y.data = f.memory + N;
    for (int round = 0; round < 50 && e->status[0] == BG_OK; round++)
        e->status[0] = one_round(&f, (float)round);
    strcpy(e->message, bg_last_error());
    if (cudaFree(f.memory) != cudaSuccess || cudaStreamDestroy(f.stream) != cudaSuccess)
        e->status[0] = BG_ERROR_CUDA;
    return NULL;
}

FIXTURE_TEST(test_two_captures_in_two_threads)
{
    elsewhere e[2] = {{.f = f}, {.f = f}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &e[i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 2; i++) {
        if (e[i].status[0] != BG_OK)
            fail_msg("thread %d: %s: %s", i, bg_status_name(e[i].status[0]), e[i].message);
    }
}
