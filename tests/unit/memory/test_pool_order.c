/* Graphs that share a pool run one after the other, on whatever streams, and compute what graphs with memory of their
 * own compute. */
#include "tests/support/runner/pool_graphs.h"

static bg_graph *replayed_by_body;
static bg_status answer_to_body;
BG_EAGER_OP(replays, BG_INOUT(x))
{
    (void)args;
    if (replayed_by_body != NULL)
        answer_to_body = bg_replay(replayed_by_body, stream);
    return BG_OK;
}

/* A replay, and a copy of its result before the next one. */
static void replay_and_keep(const pool_graphs *h, int index, float *result, cudaStream_t stream)
{
    const bg_tensor *out = &h->passes[index].out;
    EXPECT_OK(bg_replay(h->graphs[index], stream));
    EXPECT_CUDA(cudaMemcpyAsync(result, out->data, bg_tensor_bytes(out), cudaMemcpyDeviceToDevice, stream));
}

/* Bit for bit what graphs with memory of their own compute, in any order, on two streams, without waiting. */
FIXTURE_TEST(test_random_order_of_many)
{
    enum { REPLAYS = 60 };
    static float expected[GRAPHS_MAX][LARGEST], got[LARGEST];
    const char *wanted = getenv("BREAKGRAPH_TEST_SEED");
    unsigned random = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 1;
    int order[REPLAYS];
    OWNED_MEMORY(float, memory);
    OWNED_MEMORY(float, results);
    OWNED_POOL_GRAPHS(h);

    print_message("seed %u (BREAKGRAPH_TEST_SEED)\n", random);
    EXPECT_CUDA(cudaMalloc((void **)&memory, 4 * LARGEST * sizeof(float)));
    EXPECT_CUDA(cudaMalloc((void **)&results, (size_t)REPLAYS * LARGEST * sizeof(float)));
    for (int i = 0; i < LARGEST; i++)
        got[i] = 1.0f + (float)i / 3.0f;
    EXPECT_CUDA(cudaMemcpy(h.x.data, got, sizeof got, cudaMemcpyHostToDevice));
    for (int i = 0; i < GRAPHS_MAX; i++) { /* the largest first */
        int64_t count = LARGEST - i * (LARGEST / GRAPHS_MAX);
        pool_sized own = {.spare = memory, .count = count, .factor = 0.1f * (float)(i + 1)};
        OWNED_GRAPH(graph);
        own.x = bg_tensor_1d(h.x.data, BG_F32, count);
        own.out = bg_tensor_1d(memory + 3 * LARGEST, BG_F32, count);
        graph = pool_capture(&own, "own", f->stream);
        pool_fill(&own.out, -1);
        EXPECT_OK(bg_replay(graph, f->stream));
        read_device(f, expected[i], own.out.data, bg_tensor_bytes(&own.out));
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
        replay_and_keep(&h, order[i], results + (size_t)i * LARGEST, stream);
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
}

/* Each replay's result is read before the next replay writes over what it was made from. */
FIXTURE_TEST(test_two_graphs_on_two_streams)
{
    enum { ROUNDS = 8 };
    OWNED_MEMORY(float, results);
    OWNED_POOL_GRAPHS(h);

    pool_graphs_add(&h, LARGEST, 1, f->stream);
    pool_graphs_add(&h, LARGEST, 3, f->stream);
    EXPECT_CUDA(cudaMalloc((void **)&results, 2 * ROUNDS * LARGEST * sizeof(float)));
    EXPECT_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 2 * ROUNDS; i++)
        replay_and_keep(&h, i % 2, results + (size_t)i * LARGEST, i % 2 ? f->stream : f->other);
    for (int i = 0; i < 2 * ROUNDS; i++) {
        bg_tensor result = bg_tensor_1d(results + (size_t)i * LARGEST, BG_F32, LARGEST);
        pool_expect(&result, i % 2 ? 66 : 22);
    }
}

/* A capture runs its bodies and segments in memory that a replay on another stream may still be using. */
FIXTURE_TEST(test_a_capture_comes_after_replays_in_flight)
{
    OWNED_POOL_GRAPHS(h);

    pool_graphs_add(&h, LARGEST, 1, f->stream);
    pool_fill(&h.passes[0].out, -1);
    EXPECT_OK(bg_replay(h.graphs[0], f->other));
    pool_graphs_add(&h, LARGEST, 3, f->stream);
    EXPECT_OK(bg_replay(h.graphs[0], f->other)); /* after the capture's own work */
    pool_graphs_expect(&h, 0);
    pool_graphs_expect(&h, 1);
}

/* ---- who may use it when ---- */

static bg_status replay_at_break(bg_tensor *x, cudaStream_t stream)
{
    return BG_CALL(replays, stream, .x = *x);
}

/* The graphs lie in the same memory: neither a capture nor a replay may be mixed with another's replay. */
FIXTURE_TEST(test_graphs_of_a_pool_do_not_nest)
{
    OWNED_MEMORY(float, spare);
    OWNED_GRAPH(alone);
    OWNED_POOL_GRAPHS(h);
    pool_sized own = {.count = N, .factor = 1, .x = f->x, .out = f->y};

    EXPECT_CUDA(cudaMalloc((void **)&spare, 3 * N * sizeof(float)));
    own.spare = spare;
    put(&f->x, 1);
    alone = pool_capture(&own, "alone", f->stream);
    replayed_by_body = pool_graphs_add(&h, N, 1, f->stream);
    pool_graphs_next(&h, N, 2)->at_break = replay_at_break;
    pool_graphs_capture(&h, f->stream);
    assert_int_equal(answer_to_body, BG_ERROR_BUSY);
    answer_to_body = BG_OK;
    EXPECT_OK(bg_replay(h.graphs[1], f->stream));
    assert_int_equal(answer_to_body, BG_ERROR_BUSY);
    EXPECT_ERROR("pool");
    pool_graphs_expect(&h, 1);
    replayed_by_body = alone;
    EXPECT_OK(bg_replay(h.graphs[1], f->stream));
    assert_int_equal(answer_to_body, BG_OK);
    EXPECT_OK(bg_replay(h.graphs[0], f->stream)); /* again free */
    pool_graphs_expect(&h, 0);
    assert_true(get(&f->y) == 22);
    replayed_by_body = NULL;
}

static void *capture_elsewhere(void *user)
{
    static bg_status status;
    const pool_graphs *h = user;
    bg_capture *second;
    OWNED_STREAM(stream);

    status = from_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (status == BG_OK) {
        status = bg_capture_begin(&second, stream, OPTIONS(.pool = h->pool));
        bg_capture_abort(second);
    }
    return &status;
}

FIXTURE_TEST(test_one_capture_at_a_time)
{
    bg_capture *first;
    OWNED_GRAPH(graph);
    OWNED_POOL_GRAPHS(h);

    pool_graphs_add(&h, N, 1, f->stream);
    EXPECT_OK(bg_capture_begin(&first, f->stream, OPTIONS(.pool = h.pool)));
    assert_int_equal(*(bg_status *)run_thread(capture_elsewhere, &h), BG_ERROR_BUSY);
    EXPECT_STATUS(bg_replay(h.graphs[0], f->other), BG_ERROR_BUSY);
    EXPECT_STATUS(bg__pool_bucket_end(h.pool, NULL), BG_ERROR_BUSY);
    EXPECT_OK(bg_capture_end(first, &graph));
    EXPECT_OK(bg_replay(h.graphs[0], f->other));
    pool_graphs_expect(&h, 0);
}

/* An event there would join the two captures. */
FIXTURE_TEST(test_capture_where_the_last_stream_captures)
{
    bg_capture *capture;
    OWNED_CUDA_GRAPH(foreign);
    size_t nodes = 99;
    OWNED_POOL_GRAPHS(h);

    pool_graphs_add(&h, N, 1, f->stream);
    EXPECT_OK(bg_replay(h.graphs[0], f->other));
    EXPECT_CUDA(cudaStreamBeginCapture(f->other, cudaStreamCaptureModeThreadLocal));
    EXPECT_FAILS(bg_capture_begin(&capture, f->stream, OPTIONS(.pool = h.pool)), BG_ERROR_BUSY,
                 "last replayed on a stream that is now capturing");
    EXPECT_STATUS(bg_replay(h.graphs[0], f->stream), BG_ERROR_BUSY);
    EXPECT_CUDA(cudaStreamEndCapture(f->other, &foreign)); /* unharmed */
    EXPECT_CUDA(cudaGraphGetNodes(foreign, NULL, &nodes));
    assert_int_equal(nodes, 0);
    pool_graphs_add(&h, N, 2, f->stream);
    pool_graphs_expect(&h, 0);
    pool_graphs_expect(&h, 1);
}

/* ---- what lives how long ---- */

FIXTURE_TEST(test_graphs_keep_their_pool)
{
    size_t before = free_device_memory();
    cudaStream_t brief;
    pool_graphs h = pool_graphs_make();

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
    pool_graphs_expect(&h, 0);
    pool_graphs_expect(&h, 1);
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
    OWNED_POOL_GRAPHS(h);

    pool_graphs_add(&h, LARGEST, 1, f->stream);
    pool_graphs_add(&h, LARGEST, 3, f->stream);
    pool_fill(&h.passes[0].out, -1);
    for (int i = 0; i < 3; i++) {
        EXPECT_OK(*(bg_status *)run_thread(replay_in_thread, &h));
        EXPECT_OK(bg_replay(h.graphs[1], i % 2 ? f->stream : cudaStreamPerThread));
    }
    pool_graphs_expect(&h, 0);
    pool_graphs_expect(&h, 1);
}
