/* Graphs that share a pool run one after the other, on whatever streams, and compute what graphs with memory of their
 * own compute. */
#include "tests/support/test.h"
#include "tests/support/runner/pool_graphs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static bg_graph *replayed_by_body;
static bg_status answer_to_body;
BG_EAGER_OP(replays, BG_INOUT(x))
{
    (void)args;
    if (replayed_by_body != NULL)
        answer_to_body = bg_replay(replayed_by_body, stream);
    return BG_OK;
}

/* Bit for bit what graphs with memory of their own compute, in any order, on two streams, without waiting. */
FIXTURE_TEST(test_random_order_of_many)
{
    enum { REPLAYS = 60 };
    const char *wanted = getenv("BREAKGRAPH_TEST_SEED");
    unsigned random = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 1;
    float *expected[GRAPHS_MAX], *memory, *results, *got = malloc(LARGEST * sizeof(float));
    int order[REPLAYS];
    pool_graphs h;

    print_message("seed %u (BREAKGRAPH_TEST_SEED)\n", random);
    assert_non_null(got);
    pool_graphs_begin(&h);
    EXPECT_CUDA(cudaMalloc((void **)&memory, 4 * LARGEST * sizeof(float)));
    EXPECT_CUDA(cudaMalloc((void **)&results, (size_t)REPLAYS * LARGEST * sizeof(float)));
    for (int i = 0; i < LARGEST; i++)
        got[i] = 1.0f + (float)i / 3.0f;
    EXPECT_CUDA(cudaMemcpy(h.x.data, got, LARGEST * sizeof(float), cudaMemcpyHostToDevice));
    for (int i = 0; i < GRAPHS_MAX; i++) { /* the largest first */
        int64_t count = LARGEST - i * (LARGEST / GRAPHS_MAX);
        pool_sized own = {.spare = memory, .count = count, .factor = 0.1f * (float)(i + 1)};
        bg_graph *graph;
        own.x = bg_tensor_1d(h.x.data, BG_F32, count);
        own.out = bg_tensor_1d(memory + 3 * LARGEST, BG_F32, count);
        graph = pool_capture(&own, "own", f->stream);
        pool_fill(&own.out, -1);
        EXPECT_OK(bg_replay(graph, f->stream));
        expected[i] = malloc((size_t)count * sizeof(float));
        assert_non_null(expected[i]);
        EXPECT_CUDA(cudaDeviceSynchronize());
        EXPECT_CUDA(cudaMemcpy(expected[i], own.out.data, (size_t)count * sizeof(float), cudaMemcpyDeviceToHost));
        bg_graph_destroy(graph);
        pool_graphs_add(&h, count, own.factor, i % 2 ? f->stream : f->other);
        pool_fill(&h.passes[i].out, -1);
    }
    for (int i = 0; i < REPLAYS; i++) {
        cudaStream_t stream;
        const bg_tensor *out;
        random = random * 1664525u + 1013904223u;
        order[i] = (int)((random >> 8) % GRAPHS_MAX);
        stream = random >> 31 ? f->stream : f->other;
        out = &h.passes[order[i]].out;
        EXPECT_OK(bg_replay(h.graphs[order[i]], stream));
        EXPECT_CUDA(cudaMemcpyAsync(results + (size_t)i * LARGEST, out->data, bg_tensor_bytes(out),
                                    cudaMemcpyDeviceToDevice, stream));
        EXPECT_CUDA(cudaMemsetAsync(out->data, 0xff, bg_tensor_bytes(out), stream));
    }
    EXPECT_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < REPLAYS; i++) {
        size_t bytes = bg_tensor_bytes(&h.passes[order[i]].out);
        EXPECT_CUDA(cudaMemcpy(got, results + (size_t)i * LARGEST, bytes, cudaMemcpyDeviceToHost));
        if (memcmp(got, expected[order[i]], bytes) != 0)
            fail_msg("replay %d, of graph %d, differs: the first elements are %g and %g", i, order[i], (double)got[0],
                     (double)expected[order[i]][0]);
    }
    for (int i = 0; i < GRAPHS_MAX; i++)
        free(expected[i]);
    free(got);
    EXPECT_CUDA(cudaFree(memory));
    EXPECT_CUDA(cudaFree(results));
    pool_graphs_end(&h);
}

/* Each replay's result is read before the next replay writes over what it was made from. */
FIXTURE_TEST(test_two_graphs_on_two_streams)
{
    enum { ROUNDS = 8 };
    pool_graphs h;
    float *results;
    pool_graphs_begin(&h);
    pool_graphs_add(&h, LARGEST, 1, f->stream);
    pool_graphs_add(&h, LARGEST, 3, f->stream);
    EXPECT_CUDA(cudaMalloc((void **)&results, 2 * ROUNDS * LARGEST * sizeof(float)));
    EXPECT_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 2 * ROUNDS; i++) {
        cudaStream_t stream = i % 2 ? f->stream : f->other;
        const bg_tensor *out = &h.passes[i % 2].out;
        EXPECT_OK(bg_replay(h.graphs[i % 2], stream));
        EXPECT_CUDA(cudaMemcpyAsync(results + (size_t)i * LARGEST, out->data, bg_tensor_bytes(out),
                                    cudaMemcpyDeviceToDevice, stream));
    }
    for (int i = 0; i < 2 * ROUNDS; i++) {
        bg_tensor result = bg_tensor_1d(results + (size_t)i * LARGEST, BG_F32, LARGEST);
        pool_expect(&result, i % 2 ? 66 : 22);
    }
    EXPECT_CUDA(cudaFree(results));
    pool_graphs_end(&h);
}

/* A capture runs its bodies and segments in memory that a replay on another stream may still be using. */
FIXTURE_TEST(test_a_capture_comes_after_replays_in_flight)
{
    pool_graphs h;
    pool_graphs_begin(&h);
    pool_graphs_add(&h, LARGEST, 1, f->stream);
    pool_fill(&h.passes[0].out, -1);
    EXPECT_OK(bg_replay(h.graphs[0], f->other));
    h.passes[1] = (pool_sized){.pool = h.pool, .count = LARGEST, .factor = 3, .x = h.x};
    h.passes[1].out = pool_keep(h.pool, LARGEST);
    h.graphs[h.count++] = pool_capture(&h.passes[1], "second", f->stream);
    EXPECT_OK(bg_replay(h.graphs[0], f->other)); /* after the capture's own work */
    pool_expect(&h.passes[0].out, 22);
    pool_expect(&h.passes[1].out, 66);
    pool_graphs_end(&h);
}

/* ---- who may use it when ---- */

static bg_status replay_at_break(bg_tensor *x, cudaStream_t stream)
{
    return BG_CALL(replays, stream, .x = *x);
}

/* The graphs lie in the same memory: neither a capture nor a replay may be mixed with another's replay. */
FIXTURE_TEST(test_graphs_of_a_pool_do_not_nest)
{
    bg_graph *alone;
    pool_graphs h;
    pool_sized own = {.spare = NULL, .count = N, .factor = 1, .x = f->x, .out = f->y};

    EXPECT_CUDA(cudaMalloc((void **)&own.spare, 3 * N * sizeof(float)));
    put(&f->x, 1);
    alone = pool_capture(&own, "alone", f->stream);
    pool_graphs_begin(&h);
    replayed_by_body = pool_graphs_add(&h, N, 1, f->stream);
    h.passes[1] =
        (pool_sized){.pool = h.pool, .count = N, .factor = 2, .out = pool_keep(h.pool, N), .at_break = replay_at_break};
    h.passes[1].x = bg_tensor_1d(h.x.data, BG_F32, N);
    h.graphs[h.count++] = pool_capture(&h.passes[1], "around", f->stream);
    assert_int_equal(answer_to_body, BG_ERROR_BUSY);
    answer_to_body = BG_OK;
    EXPECT_OK(bg_replay(h.graphs[1], f->stream));
    assert_int_equal(answer_to_body, BG_ERROR_BUSY);
    EXPECT_ERROR("pool");
    pool_expect(&h.passes[1].out, 44);
    replayed_by_body = alone;
    EXPECT_OK(bg_replay(h.graphs[1], f->stream));
    assert_int_equal(answer_to_body, BG_OK);
    EXPECT_OK(bg_replay(h.graphs[0], f->stream)); /* again free */
    pool_expect(&h.passes[0].out, 22);
    assert_true(get(&f->y) == 22);
    replayed_by_body = NULL;
    bg_graph_destroy(alone);
    EXPECT_CUDA(cudaFree(own.spare));
    pool_graphs_end(&h);
}

static void *capture_elsewhere(void *user)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    const pool_graphs *h = user;
    bg_capture *second;
    static bg_status status;
    cudaStream_t stream;
    options.pool = h->pool;
    status = from_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (status == BG_OK) {
        status = bg_capture_begin(&second, stream, &options);
        bg_capture_abort(second);
        (void)cudaStreamDestroy(stream);
    }
    return &status;
}

FIXTURE_TEST(test_one_capture_at_a_time)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *first;
    bg_graph *graph;
    pthread_t thread;
    void *answer;
    pool_graphs h;

    pool_graphs_begin(&h);
    pool_graphs_add(&h, N, 1, f->stream);
    options.pool = h.pool;
    EXPECT_OK(bg_capture_begin(&first, f->stream, &options));
    assert_int_equal(pthread_create(&thread, NULL, capture_elsewhere, &h), 0);
    assert_int_equal(pthread_join(thread, &answer), 0);
    assert_int_equal(*(bg_status *)answer, BG_ERROR_BUSY);
    EXPECT_STATUS(bg_replay(h.graphs[0], f->other), BG_ERROR_BUSY);
    EXPECT_STATUS(bg__pool_bucket_end(h.pool, NULL), BG_ERROR_BUSY);
    EXPECT_OK(bg_capture_end(first, &graph));
    bg_graph_destroy(graph);
    EXPECT_OK(bg_replay(h.graphs[0], f->other));
    pool_expect(&h.passes[0].out, 22);
    pool_graphs_end(&h);
}

/* An event there would join the two captures. */
FIXTURE_TEST(test_capture_where_the_last_stream_captures)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *capture;
    cudaGraph_t foreign;
    size_t nodes = 99;
    pool_graphs h;

    pool_graphs_begin(&h);
    pool_graphs_add(&h, N, 1, f->stream);
    EXPECT_OK(bg_replay(h.graphs[0], f->other));
    options.pool = h.pool;
    EXPECT_CUDA(cudaStreamBeginCapture(f->other, cudaStreamCaptureModeThreadLocal));
    EXPECT_FAILURE(bg_capture_begin(&capture, f->stream, &options), BG_ERROR_BUSY,
                   "last replayed on a stream that is now capturing");
    EXPECT_STATUS(bg_replay(h.graphs[0], f->stream), BG_ERROR_BUSY);
    EXPECT_CUDA(cudaStreamEndCapture(f->other, &foreign)); /* unharmed */
    EXPECT_CUDA(cudaGraphGetNodes(foreign, NULL, &nodes));
    assert_int_equal(nodes, 0);
    EXPECT_CUDA(cudaGraphDestroy(foreign));
    pool_graphs_add(&h, N, 2, f->stream);
    pool_expect(&h.passes[0].out, 22);
    pool_expect(&h.passes[1].out, 44);
    pool_graphs_end(&h);
}

/* ---- what lives how long ---- */

FIXTURE_TEST(test_graphs_keep_their_pool)
{
    size_t before = free_device_memory();
    cudaStream_t brief;
    pool_graphs h;

    pool_graphs_begin(&h);
    (void)pool_keep(h.pool, (int64_t)10 << 20);
    pool_graphs_add(&h, LARGEST, 1, f->stream);
    EXPECT_CUDA(cudaStreamCreateWithFlags(&brief, cudaStreamNonBlocking));
    pool_graphs_add(&h, LARGEST / 2, 2, brief);
    EXPECT_CUDA(cudaStreamDestroy(brief)); /* of the capture */
    bg_pool_destroy(h.pool);
    h.pool = NULL;
    EXPECT_CUDA(cudaStreamCreateWithFlags(&brief, cudaStreamNonBlocking));
    EXPECT_OK(bg_replay(h.graphs[0], brief));
    bg_graph_destroy(h.graphs[0]);
    EXPECT_CUDA(cudaStreamDestroy(brief)); /* its work may be in flight */
    EXPECT_OK(bg_replay(h.graphs[1], f->stream));
    pool_expect(&h.passes[0].out, 22);
    pool_expect(&h.passes[1].out, 44);
    EXPECT_OK(bg_replay(h.graphs[1], f->other));
    h.graphs[0] = NULL;
    pool_graphs_end(&h);
    expect_given_back(before);
}

static void *replay_in_thread(void *user)
{
    const pool_graphs *h = user;
    static bg_status status;
    status = bg_replay(h->graphs[0], cudaStreamPerThread);
    return &status;
}

/* The per-thread default stream of a thread that is gone by the next replay. */
FIXTURE_TEST(test_a_thread_after_another)
{
    pthread_t thread;
    void *answer;
    pool_graphs h;
    pool_graphs_begin(&h);
    pool_graphs_add(&h, LARGEST, 1, f->stream);
    pool_graphs_add(&h, LARGEST, 3, f->stream);
    pool_fill(&h.passes[0].out, -1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&thread, NULL, replay_in_thread, &h), 0);
        assert_int_equal(pthread_join(thread, &answer), 0);
        assert_int_equal(*(bg_status *)answer, BG_OK);
        EXPECT_OK(bg_replay(h.graphs[1], i % 2 ? f->stream : cudaStreamPerThread));
    }
    pool_expect(&h.passes[0].out, 22);
    pool_expect(&h.passes[1].out, 66);
    pool_graphs_end(&h);
}
