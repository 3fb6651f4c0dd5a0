/* Graphs that share a pool: the same results as with memory of their own, from the same place, one after the other. */
#include "support.h"

#include <memory/memory.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bg_status queue_scale(const bg_tensor *y, const bg_tensor *x, float factor, cudaStream_t stream)
{
    return from_cuda(bgk_scale(y->data, x->data, factor, (size_t)x->dim[0], stream));
}

BG_OP(scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return queue_scale(&args->y, &args->x, args->factor, stream);
}

BG_OP(add, BG_IN(a), BG_IN(b), BG_OUT(y))
{
    return from_cuda(bgk_add(args->y.data, args->a.data, args->b.data, (size_t)args->a.dim[0], stream));
}

static size_t more_scratch; /* that the body asks for */

/* Leaves its result in scratch. */
BG_EAGER_OP(doubled, BG_IN(x), BG_OUT(y))
{
    void *memory;
    bg_status status = bg_scratch(args, bg_tensor_bytes(&args->x) + more_scratch, &memory);
    if (status != BG_OK)
        return status;
    args->y = bg_tensor_1d(memory, BG_F32, args->x.dim[0]);
    return queue_scale(&args->y, &args->x, 2, stream);
}

static bg_graph *replayed_by_body;
static bg_status answer_to_body;
BG_EAGER_OP(replays, BG_INOUT(x))
{
    (void)args;
    if (replayed_by_body != NULL)
        answer_to_body = bg_replay(replayed_by_body, stream);
    return BG_OK;
}

BG_EAGER_OP(unlucky, BG_INOUT(x))
{
    (void)args;
    (void)stream;
    return BG_ERROR_OP;
}

#define NEXT(expression)                                                                                               \
    do {                                                                                                               \
        bg_status status_ = (expression);                                                                              \
        if (status_ != BG_OK)                                                                                          \
            return status_;                                                                                            \
    } while (0)

/* ---- a pass of any size: out = 22 * factor * x, with blocks that are released and reused on the way ---- */

typedef struct sized {
    bg_pool *pool; /* NULL: of its own, from `spare` */
    float *spare;
    int64_t count;
    float factor;
    bg_tensor x, out;
    void *first; /* block of the pass */
    bg_status (*at_break)(bg_tensor *x, cudaStream_t stream);
} sized;

static bg_status get_block(sized *s, int number, bg_tensor *block)
{
    void *memory = s->spare + number * s->count;
    if (s->pool != NULL)
        NEXT(bg_pool_alloc(s->pool, (size_t)s->count * sizeof(float), &memory));
    *block = bg_tensor_1d(memory, BG_F32, s->count);
    return BG_OK;
}

static void put_block(const sized *s, const bg_tensor *block)
{
    if (s->pool != NULL)
        bg_pool_release(s->pool, block->data);
}

static bg_status sized_pass(void *user, cudaStream_t stream)
{
    sized *s = user;
    bg_tensor a, b, c;
    scale_args bridged = {.y = bg_tensor_1d(NULL, BG_F32, s->count), .factor = 5};
    doubled_args at_break = {0};

    NEXT(get_block(s, 0, &a));
    s->first = a.data;
    NEXT(BG_CALL(scale, stream, .x = s->x, .y = a, .factor = s->factor)); /* a = f x */
    bridged.x = a;
    NEXT(BG_CALL_ARGS(scale, stream, &bridged)); /* 5 f x */
    at_break.x = bridged.y;
    NEXT(BG_CALL_ARGS(doubled, stream, &at_break)); /* 10 f x */
    NEXT(get_block(s, 1, &b));
    NEXT(BG_CALL(add, stream, .a = at_break.y, .b = a, .y = b)); /* 11 f x */
    put_block(s, &a);
    if (s->at_break != NULL)
        NEXT(s->at_break(&b, stream));
    NEXT(get_block(s, 2, &c));
    NEXT(BG_CALL(scale, stream, .x = b, .y = c, .factor = 1));
    NEXT(BG_CALL(add, stream, .a = b, .b = c, .y = s->out));
    put_block(s, &b);
    put_block(s, &c);
    return BG_OK;
}

enum { LARGEST = 40000 };

static bg_pool *make_pool(void)
{
    bg_pool_options options = BG_POOL_OPTIONS_INIT;
    bg_pool *pool;
    options.reserve_bytes = (size_t)64 << 20;
    EXPECT_OK(bg_pool_create(&pool, &options));
    return pool;
}

static bg_pool_stats stats_of(const bg_pool *pool)
{
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    EXPECT_OK(bg_pool_get_stats(pool, &stats));
    return stats;
}

/* A kept block. */
static bg_tensor keep(bg_pool *pool, int64_t count)
{
    void *memory;
    EXPECT_OK(bg_pool_alloc(pool, (size_t)count * sizeof(float), &memory));
    return bg_tensor_1d(memory, BG_F32, count);
}

static bg_graph *capture(sized *s, const char *name, cudaStream_t stream)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *graph;
    options.name = name;
    options.pool = s->pool;
    EXPECT_OK(bg_capture_forward(&graph, sized_pass, s, stream, &options));
    if (s->pool != NULL)
        EXPECT_OK(bg__pool_check(s->pool));
    return graph;
}

/* All elements; the device is done. */
static void expect_all(const bg_tensor *tensor, float value)
{
    float *host = malloc(bg_tensor_bytes(tensor));
    assert_non_null(host);
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(host, tensor->data, bg_tensor_bytes(tensor), cudaMemcpyDeviceToHost));
    for (int64_t i = 0; i < tensor->dim[0]; i++)
        if (host[i] != value)
            fail_msg("element %d is %g, expected %g", (int)i, (double)host[i], (double)value);
    free(host);
}

static void fill(const bg_tensor *tensor, float value)
{
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(bgk_fill(tensor->data, value, (size_t)tensor->dim[0], cudaStreamPerThread));
    EXPECT_CUDA(cudaDeviceSynchronize());
}

/* A pool, a kept input that is 1, and graphs of it of several sizes with kept outputs. */
enum { GRAPHS_MAX = 11 };
typedef struct shared {
    bg_pool *pool;
    bg_tensor x;
    int count;
    sized passes[GRAPHS_MAX];
    bg_graph *graphs[GRAPHS_MAX];
} shared;

static void shared_begin(shared *h)
{
    memset(h, 0, sizeof *h);
    h->pool = make_pool();
    h->x = keep(h->pool, LARGEST);
    fill(&h->x, 1);
}

static bg_graph *shared_add(shared *h, int64_t count, float factor, cudaStream_t stream)
{
    sized *s = &h->passes[h->count];
    *s = (sized){.pool = h->pool, .count = count, .factor = factor};
    s->x = bg_tensor_1d(h->x.data, BG_F32, count);
    s->out = keep(h->pool, count);
    fill(&s->out, -1);
    return h->graphs[h->count++] = capture(s, "shared", stream);
}

static void shared_end(const shared *h)
{
    for (int i = 0; i < h->count; i++)
        bg_graph_destroy(h->graphs[i]);
    bg_pool_destroy(h->pool);
}

/* ---- one place for all ---- */

static void test_graphs_start_from_the_same_base(void **state)
{
    fixture *f = *state;
    shared h;
    bg_graph_info large, small;
    size_t mapped, bytes = LARGEST * sizeof(float);

    shared_begin(&h);
    large = info_of(shared_add(&h, LARGEST, 1, f->stream));
    mapped = stats_of(h.pool).mapped;
    small = info_of(shared_add(&h, LARGEST / 4, 2, f->stream));
    assert_ptr_equal(h.passes[0].first, h.passes[1].first);
    /* Two bridge buffers, scratch, and three blocks of the pass, of which the third is the first again. */
    assert_int_equal(large.pool_bytes, 5 * bytes);
    assert_int_equal(small.pool_bytes, 5 * (bytes / 4 + 192)); /* each to a multiple of 256 */
    assert_int_equal(large.bridge_bytes, 3 * bytes);
    assert_int_equal(stats_of(h.pool).pinned, 3 * bytes);
    assert_true(stats_of(h.pool).reused >= bytes);
    assert_true(stats_of(h.pool).mapped - mapped < bytes); /* no more than its kept output, a page at most */
    assert_true(stats_of(h.pool).in_use < 2 * bytes + bytes / 4 + 1024);
    expect_all(&h.passes[0].out, 22);
    expect_all(&h.passes[1].out, 44);
    for (int i = 0; i < 4; i++) {
        fill(&h.passes[i % 2].out, -1);
        EXPECT_OK(bg_replay(h.graphs[i % 2], f->stream));
        expect_all(&h.passes[i % 2].out, i % 2 ? 44 : 22);
    }
    shared_end(&h);
}

/* Bit for bit what graphs with memory of their own compute, in any order, on two streams, without waiting. */
static void test_random_order_of_many(void **state)
{
    enum { REPLAYS = 60 };
    fixture *f = *state;
    const char *wanted = getenv("BREAKGRAPH_TEST_SEED");
    unsigned random = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 1;
    float *expected[GRAPHS_MAX], *memory, *results, *got = malloc(LARGEST * sizeof(float));
    int order[REPLAYS];
    shared h;

    print_message("seed %u (BREAKGRAPH_TEST_SEED)\n", random);
    assert_non_null(got);
    shared_begin(&h);
    EXPECT_CUDA(cudaMalloc((void **)&memory, 4 * LARGEST * sizeof(float)));
    EXPECT_CUDA(cudaMalloc((void **)&results, (size_t)REPLAYS * LARGEST * sizeof(float)));
    for (int i = 0; i < LARGEST; i++)
        got[i] = 1.0f + (float)i / 3.0f;
    EXPECT_CUDA(cudaMemcpy(h.x.data, got, LARGEST * sizeof(float), cudaMemcpyHostToDevice));
    for (int i = 0; i < GRAPHS_MAX; i++) { /* the largest first */
        int64_t count = LARGEST - i * (LARGEST / GRAPHS_MAX);
        sized own = {.spare = memory, .count = count, .factor = 0.1f * (float)(i + 1)};
        bg_graph *graph;
        own.x = bg_tensor_1d(h.x.data, BG_F32, count);
        own.out = bg_tensor_1d(memory + 3 * LARGEST, BG_F32, count);
        graph = capture(&own, "own", f->stream);
        fill(&own.out, -1);
        EXPECT_OK(bg_replay(graph, f->stream));
        expected[i] = malloc((size_t)count * sizeof(float));
        assert_non_null(expected[i]);
        EXPECT_CUDA(cudaDeviceSynchronize());
        EXPECT_CUDA(cudaMemcpy(expected[i], own.out.data, (size_t)count * sizeof(float), cudaMemcpyDeviceToHost));
        bg_graph_destroy(graph);
        shared_add(&h, count, own.factor, i % 2 ? f->stream : f->other);
        fill(&h.passes[i].out, -1);
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
    shared_end(&h);
}

/* Each replay's result is read before the next replay writes over what it was made from. */
static void test_two_graphs_on_two_streams(void **state)
{
    enum { ROUNDS = 8 };
    fixture *f = *state;
    shared h;
    float *results;
    shared_begin(&h);
    shared_add(&h, LARGEST, 1, f->stream);
    shared_add(&h, LARGEST, 3, f->stream);
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
        expect_all(&result, i % 2 ? 66 : 22);
    }
    EXPECT_CUDA(cudaFree(results));
    shared_end(&h);
}

/* A capture runs its bodies and segments in memory that a replay on another stream may still be using. */
static void test_a_capture_comes_after_replays_in_flight(void **state)
{
    fixture *f = *state;
    shared h;
    shared_begin(&h);
    shared_add(&h, LARGEST, 1, f->stream);
    fill(&h.passes[0].out, -1);
    EXPECT_OK(bg_replay(h.graphs[0], f->other));
    h.passes[1] = (sized){.pool = h.pool, .count = LARGEST, .factor = 3, .x = h.x};
    h.passes[1].out = keep(h.pool, LARGEST);
    h.graphs[h.count++] = capture(&h.passes[1], "second", f->stream);
    EXPECT_OK(bg_replay(h.graphs[0], f->other)); /* after the capture's own work */
    expect_all(&h.passes[0].out, 22);
    expect_all(&h.passes[1].out, 66);
    shared_end(&h);
}

/* ---- forks ---- */

typedef struct forked {
    fixture *f;
    bg_pool *pool;
    bg_tensor x, left, right;
    void *reused[2];
} forked;

/* What the origin released is still read there while the fork writes. left = 6 x, right = 7 x */
static bg_status forked_pass(void *user, cudaStream_t stream)
{
    forked *p = user;
    bg_tensor a = p->x, b = p->x;
    NEXT(bg_stream_wait_stream(p->f->other, stream));
    NEXT(bg_pool_alloc(p->pool, bg_tensor_bytes(&p->x), &a.data));
    NEXT(BG_CALL(scale, stream, .x = p->x, .y = a, .factor = 2));
    NEXT(BG_CALL(scale, stream, .x = a, .y = p->left, .factor = 3));
    bg_pool_release(p->pool, a.data);
    NEXT(bg_pool_alloc(p->pool, bg_tensor_bytes(&p->x), &b.data));
    NEXT(BG_CALL(scale, p->f->other, .x = p->x, .y = b, .factor = 7));
    NEXT(BG_CALL(scale, p->f->other, .x = b, .y = p->right, .factor = 1));
    NEXT(bg_stream_wait_stream(stream, p->f->other));
    p->reused[0] = a.data == b.data ? a.data : NULL;
    NEXT(bg_break(stream));
    NEXT(bg_pool_alloc(p->pool, bg_tensor_bytes(&p->x), &b.data));
    p->reused[1] = a.data == b.data ? a.data : NULL;
    return BG_OK;
}

static void test_forked_streams_wait_for_the_break(void **state)
{
    fixture *f = *state;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    forked p = {.f = f, .pool = make_pool()};
    bg_graph *graph;

    p.x = keep(p.pool, LARGEST);
    p.left = keep(p.pool, LARGEST);
    p.right = keep(p.pool, LARGEST);
    fill(&p.x, 1);
    options.pool = p.pool;
    EXPECT_OK(bg_capture_forward(&graph, forked_pass, &p, f->stream, &options));
    assert_null(p.reused[0]);
    assert_non_null(p.reused[1]);
    for (int i = 0; i < 3; i++) {
        expect_all(&p.left, 6);
        expect_all(&p.right, 7);
        fill(&p.left, -1);
        fill(&p.right, -1);
        EXPECT_OK(bg_replay(graph, f->stream));
    }
    bg_graph_destroy(graph);
    bg_pool_destroy(p.pool);
}

/* ---- who may use it when ---- */

static bg_status replay_at_break(bg_tensor *x, cudaStream_t stream)
{
    return BG_CALL(replays, stream, .x = *x);
}

static bg_status fail_at_break(bg_tensor *x, cudaStream_t stream)
{
    return BG_CALL(unlucky, stream, .x = *x);
}

/* The graphs lie in the same memory: neither a capture nor a replay may be mixed with another's replay. */
static void test_graphs_of_a_pool_do_not_nest(void **state)
{
    fixture *f = *state;
    bg_graph *alone;
    shared h;
    sized own = {.spare = NULL, .count = N, .factor = 1, .x = f->x, .out = f->y};

    EXPECT_CUDA(cudaMalloc((void **)&own.spare, 3 * N * sizeof(float)));
    put(&f->x, 1);
    alone = capture(&own, "alone", f->stream);
    shared_begin(&h);
    replayed_by_body = shared_add(&h, N, 1, f->stream);
    h.passes[1] = (sized){.pool = h.pool, .count = N, .factor = 2, .out = keep(h.pool, N), .at_break = replay_at_break};
    h.passes[1].x = bg_tensor_1d(h.x.data, BG_F32, N);
    h.graphs[h.count++] = capture(&h.passes[1], "around", f->stream);
    assert_int_equal(answer_to_body, BG_ERROR_BUSY);
    answer_to_body = BG_OK;
    EXPECT_OK(bg_replay(h.graphs[1], f->stream));
    assert_int_equal(answer_to_body, BG_ERROR_BUSY);
    EXPECT_ERROR("pool");
    expect_all(&h.passes[1].out, 44);
    replayed_by_body = alone;
    EXPECT_OK(bg_replay(h.graphs[1], f->stream));
    assert_int_equal(answer_to_body, BG_OK);
    EXPECT_OK(bg_replay(h.graphs[0], f->stream)); /* again free */
    expect_all(&h.passes[0].out, 22);
    assert_true(get(&f->y) == 22);
    replayed_by_body = NULL;
    bg_graph_destroy(alone);
    EXPECT_CUDA(cudaFree(own.spare));
    shared_end(&h);
}

static void *capture_elsewhere(void *user)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    const shared *h = user;
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

static void test_one_capture_at_a_time(void **state)
{
    fixture *f = *state;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *first;
    bg_graph *graph;
    pthread_t thread;
    void *answer;
    shared h;

    shared_begin(&h);
    shared_add(&h, N, 1, f->stream);
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
    expect_all(&h.passes[0].out, 22);
    shared_end(&h);
}

/* ---- failures ---- */

static void test_failed_captures_give_all_back(void **state)
{
    fixture *f = *state;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *aborted;
    bg_graph *graph;
    bg_pool_stats before;
    void *ptr;
    shared h;

    shared_begin(&h);
    shared_add(&h, LARGEST, 1, f->stream);
    before = stats_of(h.pool);
    options.pool = h.pool;
    h.passes[1] = h.passes[0];
    h.passes[1].at_break = fail_at_break;
    EXPECT_STATUS(bg_capture_forward(&graph, sized_pass, &h.passes[1], f->other, &options), BG_ERROR_OP);
    assert_int_equal(stats_of(h.pool).in_use, before.in_use);
    EXPECT_OK(bg_capture_begin(&aborted, f->other, &options));
    EXPECT_OK(bg_pool_alloc(h.pool, 1000, &ptr));
    assert_ptr_equal(ptr, h.passes[0].first);
    bg_capture_abort(aborted);
    assert_int_equal(stats_of(h.pool).in_use, before.in_use);
    EXPECT_STATUS(bg_capture_begin(&aborted, cudaStreamLegacy, &options), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_OK(bg__pool_bucket_begin(h.pool, "open"));
    EXPECT_OK(bg__pool_bucket_end(h.pool, NULL)); /* none was left open */
    EXPECT_OK(bg__pool_check(h.pool));
    EXPECT_OK(bg_replay(h.graphs[0], f->stream)); /* after what the failed capture had launched */
    expect_all(&h.passes[0].out, 22);
    shared_end(&h);
}

static void test_the_limit_in_a_capture(void **state)
{
    fixture *f = *state;
    bg_pool_options pool_options = BG_POOL_OPTIONS_INIT;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    sized s = {.count = N, .factor = 1, .x = f->x, .out = f->y};
    bg_graph *graph, *large;

    pool_options.limit_bytes = (size_t)4 << 20;
    EXPECT_OK(bg_pool_create(&s.pool, &pool_options));
    put(&f->x, 1);
    graph = capture(&s, "small", f->stream);
    options.pool = s.pool;
    options.name = "tokens-4096";
    more_scratch = (size_t)8 << 20;
    EXPECT_STATUS(bg_capture_forward(&large, sized_pass, &s, f->stream, &options), BG_ERROR_OUT_OF_MEMORY);
    EXPECT_ERROR("doubled#0");
    EXPECT_ERROR("bucket tokens-4096");
    EXPECT_ERROR("limit_bytes");
    more_scratch = 0;
    put(&f->y, -1);
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_true(get(&f->y) == 22);
    bg_graph_destroy(graph);
    bg_pool_destroy(s.pool);
}

/* What a body asks for beyond what it had at capture is not the pool's, whose bucket is closed. */
static void test_more_scratch_in_a_replay(void **state)
{
    fixture *f = *state;
    bg_pool_stats before;
    shared h;
    shared_begin(&h);
    shared_add(&h, LARGEST, 1, f->stream);
    shared_add(&h, LARGEST / 2, 3, f->stream);
    before = stats_of(h.pool);
    more_scratch = 4 * LARGEST * sizeof(float);
    for (int i = 0; i < 4; i++) {
        fill(&h.passes[i % 2].out, -1);
        EXPECT_OK(bg_replay(h.graphs[i % 2], f->stream));
        expect_all(&h.passes[i % 2].out, i % 2 ? 66 : 22);
    }
    more_scratch = 0;
    assert_int_equal(stats_of(h.pool).mapped, before.mapped);
    assert_int_equal(stats_of(h.pool).in_use, before.in_use);
    assert_true(info_of(h.graphs[0]).bridge_bytes > info_of(h.graphs[0]).pool_bytes);
    shared_end(&h);
}

/* Memory is mapped, and that of another pool unmapped, while the stream captures. */
static void test_growth_in_each_mode(void **state)
{
    static const enum cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeGlobal,
                                                       cudaStreamCaptureModeRelaxed};
    fixture *f = *state;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
        bg_pool *other = make_pool();
        bg_capture *capture;
        bg_graph *graph;
        bg_tensor kept, block = f->x;
        size_t mapped;

        kept = keep(other, N);
        options.pool = make_pool();
        options.mode = modes[i];
        put(&f->x, 3);
        put(&kept, 4);
        EXPECT_OK(bg_capture_begin(&capture, f->stream, &options));
        mapped = stats_of(options.pool).mapped;
        EXPECT_OK(bg_pool_alloc(options.pool, (size_t)5 << 20, &block.data));
        assert_true(stats_of(options.pool).mapped > mapped);
        EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = block, .factor = 2));
        bg_pool_destroy(other);
        EXPECT_OK(BG_CALL(scale, f->stream, .x = block, .y = f->y, .factor = 5));
        EXPECT_OK(bg_capture_end(capture, &graph));
        assert_true(get(&f->y) == 30);
        put(&f->x, 1);
        EXPECT_OK(bg_replay(graph, f->stream));
        assert_true(get(&f->y) == 10);
        bg_graph_destroy(graph);
        bg_pool_destroy(options.pool);
    }
}

/* ---- what lives how long ---- */

static void test_graphs_keep_their_pool(void **state)
{
    fixture *f = *state;
    const size_t slack = strcmp(bg_device_kind(), "host") == 0 ? 0 : (size_t)16 << 20; /* what a driver keeps */
    size_t before, after, total;
    cudaStream_t brief;
    shared h;

    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemGetInfo(&before, &total));
    shared_begin(&h);
    (void)keep(h.pool, (int64_t)10 << 20);
    shared_add(&h, LARGEST, 1, f->stream);
    EXPECT_CUDA(cudaStreamCreateWithFlags(&brief, cudaStreamNonBlocking));
    shared_add(&h, LARGEST / 2, 2, brief);
    EXPECT_CUDA(cudaStreamDestroy(brief)); /* of the capture */
    bg_pool_destroy(h.pool);
    h.pool = NULL;
    EXPECT_CUDA(cudaStreamCreateWithFlags(&brief, cudaStreamNonBlocking));
    EXPECT_OK(bg_replay(h.graphs[0], brief));
    bg_graph_destroy(h.graphs[0]);
    EXPECT_CUDA(cudaStreamDestroy(brief)); /* its work may be in flight */
    EXPECT_OK(bg_replay(h.graphs[1], f->stream));
    expect_all(&h.passes[0].out, 22);
    expect_all(&h.passes[1].out, 44);
    EXPECT_OK(bg_replay(h.graphs[1], f->other));
    h.graphs[0] = NULL;
    shared_end(&h);
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemGetInfo(&after, &total));
    assert_true(after + slack >= before);
}

static void *replay_in_thread(void *user)
{
    const shared *h = user;
    static bg_status status;
    status = bg_replay(h->graphs[0], cudaStreamPerThread);
    return &status;
}

/* The per-thread default stream of a thread that is gone by the next replay. */
static void test_a_thread_after_another(void **state)
{
    fixture *f = *state;
    pthread_t thread;
    void *answer;
    shared h;
    shared_begin(&h);
    shared_add(&h, LARGEST, 1, f->stream);
    shared_add(&h, LARGEST, 3, f->stream);
    fill(&h.passes[0].out, -1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&thread, NULL, replay_in_thread, &h), 0);
        assert_int_equal(pthread_join(thread, &answer), 0);
        assert_int_equal(*(bg_status *)answer, BG_OK);
        EXPECT_OK(bg_replay(h.graphs[1], i % 2 ? f->stream : cudaStreamPerThread));
    }
    expect_all(&h.passes[0].out, 22);
    expect_all(&h.passes[1].out, 66);
    shared_end(&h);
}

/* ---- a bucket that someone else has opened, and debug modes ---- */

static void test_a_capture_in_an_open_bucket(void **state)
{
    fixture *f = *state;
    bg__bucket_figures figures;
    shared h;
    void *first;
    shared_begin(&h);
    h.passes[0] = (sized){.pool = h.pool, .count = LARGEST, .factor = 1, .x = h.x, .out = keep(h.pool, LARGEST)};
    h.passes[1] = (sized){.pool = h.pool, .count = LARGEST, .factor = 3, .x = h.x, .out = keep(h.pool, LARGEST)};
    EXPECT_OK(bg__pool_bucket_begin(h.pool, "tokens-64"));
    EXPECT_OK(bg_pool_alloc(h.pool, 1, &first));
    for (int i = 0; i < 2; i++)
        h.graphs[h.count++] = capture(&h.passes[i], "in a bucket", f->stream);
    EXPECT_OK(bg__pool_bucket_end(h.pool, &figures));
    assert_int_equal(figures.bytes, info_of(h.graphs[1]).pool_bytes);
    assert_true(info_of(h.graphs[0]).pool_bytes < figures.bytes);
    assert_int_equal(figures.pinned, 6 * LARGEST * sizeof(float));
    assert_true((char *)h.passes[0].first > (char *)first);
    for (int i = 0; i < 4; i++) {
        EXPECT_OK(bg_replay(h.graphs[i % 2], f->stream));
        expect_all(&h.passes[i % 2].out, i % 2 ? 66 : 22);
    }
    shared_end(&h);
}

static void test_debug_modes(void **state)
{
    static const bg_debug modes[] = {BG_DEBUG_FORWARD, BG_DEBUG_OPS, BG_DEBUG_SYNC};
    fixture *f = *state;
    shared h;
    shared_begin(&h);
    shared_add(&h, LARGEST, 1, f->stream);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
        sized *s = &h.passes[h.count];
        *s = (sized){.pool = h.pool, .count = LARGEST / 2, .factor = (float)(i + 2), .out = keep(h.pool, LARGEST / 2)};
        s->x = bg_tensor_1d(h.x.data, BG_F32, LARGEST / 2);
        options.pool = h.pool;
        options.debug = modes[i];
        EXPECT_OK(bg_capture_forward(&h.graphs[h.count++], sized_pass, s, f->stream, &options));
        expect_all(&s->out, 22 * (float)(i + 2));
    }
    for (int i = 0; i < 8; i++) {
        fill(&h.passes[i % 4].out, -1);
        EXPECT_OK(bg_replay(h.graphs[i % 4], f->stream));
        expect_all(&h.passes[i % 4].out, 22 * (float)(i % 4 + 1));
    }
    EXPECT_OK(bg__pool_check(h.pool));
    shared_end(&h);
}

/* Nothing runs at capture; the first replay is the first pass. */
static void test_without_launching(void **state)
{
    fixture *f = *state;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    shared h;
    shared_begin(&h);
    shared_add(&h, LARGEST, 1, f->stream);
    options.pool = h.pool;
    options.launch_segments = false;
    options.worker_threads = 2;
    h.passes[1] = (sized){.pool = h.pool, .count = LARGEST, .factor = 3, .x = h.x, .out = keep(h.pool, LARGEST)};
    EXPECT_OK(bg_replay(h.graphs[0], f->other));
    EXPECT_OK(bg_capture_forward(&h.graphs[h.count++], sized_pass, &h.passes[1], f->stream, &options));
    EXPECT_OK(bg_replay(h.graphs[1], f->stream));
    EXPECT_OK(bg_replay(h.graphs[0], f->other));
    expect_all(&h.passes[0].out, 22);
    expect_all(&h.passes[1].out, 66);
    shared_end(&h);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_graphs_start_from_the_same_base),
        TEST(test_random_order_of_many),
        TEST(test_two_graphs_on_two_streams),
        TEST(test_a_capture_comes_after_replays_in_flight),
        TEST(test_forked_streams_wait_for_the_break),
        TEST(test_graphs_of_a_pool_do_not_nest),
        TEST(test_one_capture_at_a_time),
        TEST(test_failed_captures_give_all_back),
        TEST(test_the_limit_in_a_capture),
        TEST(test_more_scratch_in_a_replay),
        TEST(test_growth_in_each_mode),
        TEST(test_graphs_keep_their_pool),
        TEST(test_a_thread_after_another),
        TEST(test_a_capture_in_an_open_bucket),
        TEST(test_debug_modes),
        TEST(test_without_launching),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
