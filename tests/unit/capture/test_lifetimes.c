/* What lives how long: bridge buffers beside what the program allocates, graphs and their work in flight, outputs of
 * calls that failed, and what a replay leaves of the capture or thread beside it. */
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

BG_OP(scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, (size_t)args->x.dim[0], stream));
}

/* Leaves its result in scratch. */
BG_EAGER_OP(doubled, BG_IN(x), BG_OUT(y))
{
    void *memory;
    TRY_BG(bg_scratch(args, bg_tensor_bytes(&args->x), &memory));
    args->y = bg_tensor_1d(memory, BG_F32, args->x.dim[0]);
    return from_cuda(bgk_scale(memory, args->x.data, 2, (size_t)args->x.dim[0], stream));
}

static bg_capture *aborted_by_body;
static bg_status answer_of_body;
BG_EAGER_OP(unlucky, BG_OUT(y))
{
    bg_capture_abort(aborted_by_body);
    return answer_of_body;
}

/* y = 6x, for the first elements of x: the output of each call is a bridge buffer. */
typedef struct sized {
    fixture *f;
    int64_t count;
} sized;

PASS(bridged, const sized *s)
{
    bg_tensor x = bg_tensor_1d(s->f->x.data, BG_F32, s->count), y = bg_tensor_1d(s->f->y.data, BG_F32, s->count);
    scale_args before = {.x = x, .y = bg_tensor_1d(NULL, BG_F32, s->count), .factor = 3};
    TRY_BG(BG_CALL_ARGS(scale, stream, &before));
    doubled_args at_break = {.x = before.y};
    TRY_BG(BG_CALL_ARGS(doubled, stream, &at_break));
    return BG_CALL(scale, stream, .x = at_break.y, .y = y, .factor = 1);
}

#define BRIDGED(count)             CAPTURED_BY(bridged, (&(sized){f, count}), f->stream, NULL)
#define BRIDGED_GRAPH(name, count) CAPTURED_GRAPH(name, bridged, (&(sized){f, count}), f->stream, NULL)

/* Allocates and frees blocks of the sizes that bridge buffers have, and writes over all that it is given. */
static void churn(unsigned *state)
{
    enum { BLOCKS = 12 };
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        size_t bytes;
        *state = *state * 1664525u + 1013904223u;
        bytes = (size_t)(*state >> 16) % (2 * N * sizeof(float)) + 1;
        EXPECT_CUDA(cudaMalloc(&blocks[i], bytes));
        EXPECT_CUDA(cudaMemset(blocks[i], 0x7b, bytes));
    }
    for (int i = 0; i < BLOCKS; i++)
        EXPECT_CUDA(cudaFree(blocks[(i * 5) % BLOCKS]));
}

static void expect_first(const fixture *f, int64_t count, float value)
{
    float found[N];
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(found, f->y.data, sizeof found, cudaMemcpyDeviceToHost));
    for (int64_t i = 0; i < N; i++)
        assert_float_equal(found[i], i < count ? value : -1, 0);
}

/* No bridge buffer is anyone else's while its graph lives: not the allocator's, nor a capture's of another size, nor
 * that of a graph that takes the place of one destroyed. */
FIXTURE_TEST(test_bridges_are_not_reused)
{
    enum { GRAPHS = 4, ROUNDS = 12 };
    static const int64_t sizes[GRAPHS] = {N, N / 4, N / 2, N};
    bg_graph *graphs[GRAPHS];
    unsigned random = 1;

    for (int i = 0; i < GRAPHS; i++) {
        churn(&random);
        graphs[i] = BRIDGED(sizes[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < GRAPHS; i++) {
            churn(&random);
            put(&f->x, (float)(round + i + 1));
            put(&f->y, -1);
            EXPECT_OK(bg_replay(graphs[i], f->stream));
            expect_first(f, sizes[i], (float)(6 * (round + i + 1)));
        }
        bg_graph_destroy(graphs[round % GRAPHS]);
        churn(&random);
        graphs[round % GRAPHS] = BRIDGED(sizes[round % GRAPHS]);
    }
    for (int i = 0; i < GRAPHS; i++)
        bg_graph_destroy(graphs[i]);
}

/* The work in flight reads bridge buffers and scratch, which go when it is done. */
FIXTURE_TEST(test_destroy_with_bridges_in_flight)
{
    unsigned random = 7;
    for (int i = 1; i <= 4; i++) {
        bg_graph *graph = BRIDGED(N);
        put(&f->x, (float)i);
        EXPECT_OK(bg_replay(graph, i % 2 ? f->stream : f->other));
        bg_graph_destroy(graph);
        churn(&random);
        expect_first(f, N, (float)(6 * i));
    }
}

/* ---- other threads ---- */

typedef struct replays {
    bg_graph *graph;
    cudaStream_t stream;
    bg_status status;
    bg_phase phase;
} replays;

static void *replay_in_thread(void *user)
{
    replays *r = user;
    r->status = bg_replay(r->graph, r->stream);
    r->phase = bg_current_phase();
    return NULL;
}

static void *replay_and_destroy_in_thread(void *user)
{
    replay_in_thread(user);
    bg_graph_destroy(((replays *)user)->graph);
    return NULL;
}

static void expect_replay_by(void *(*run)(void *), fixture *f, bg_graph *graph, cudaStream_t stream, float result)
{
    replays r = {.graph = graph, .stream = stream, .status = BG_ERROR_CUDA};
    in_new_thread(run, &r);
    assert_int_equal(r.status, BG_OK);
    assert_int_equal(r.phase, BG_PHASE_PLAIN);
    expect_first(f, N, result);
}

FIXTURE_TEST(test_replay_in_other_threads)
{
    bg_graph *graph = BRIDGED(N);
    const cudaStream_t streams[] = {f->stream, f->other, cudaStreamPerThread, f->other};
    put(&f->x, 2);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        put(&f->y, 0);
        expect_replay_by(replay_in_thread, f, graph, streams[i], 12);
    }
    put(&f->y, 0);
    expect_replay_by(replay_and_destroy_in_thread, f, graph, f->stream, 12);
}

/* A failed replay's work is in flight: the next one comes after it, on a stream of the same name in another thread. */
static bool fails;
BG_EAGER_OP(triple, BG_INOUT(x))
{
    bg_status status = from_cuda(bgk_scale(args->x.data, args->x.data, 3, N, stream));
    return fails ? BG_ERROR_TIMEOUT : status;
}

BG_OP(add, BG_INOUT(x), BG_IN(y))
{
    return from_cuda(bgk_add(args->x.data, args->x.data, args->y.data, N, stream));
}

FIXTURE_PASS(triple_and_add)
{
    TRY_BG(BG_CALL(triple, stream, .x = f->y));
    return BG_CALL(add, stream, .x = f->y, .y = f->x);
}

FIXTURE_TEST(test_per_thread_stream_after_a_failure)
{
    fails = false;
    CAPTURED_GRAPH(graph, triple_and_add, f, f->stream, NULL);
    put(&f->x, 1);
    put(&f->y, 1);
    fails = true;
    EXPECT_STATUS(bg_replay(graph, cudaStreamPerThread), BG_ERROR_TIMEOUT);
    fails = false;
    expect_replay_by(replay_in_thread, f, graph, cudaStreamPerThread, 10); /* 3 * 3 + 1, not 3 * (3 + 1) */
}

/* ---- failures ---- */

/* A bridge buffer goes with its capture: after a failure, or where the body ends the capture, no output shows it. */
FIXTURE_TEST(test_no_bridge_after_a_break_fails)
{
    for (int aborts = 0; aborts < 2; aborts++) {
        unlucky_args a = {.y = bg_tensor_1d(NULL, BG_F32, N)};
        bg_capture *capture;
        bg_graph *graph;
        EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
        EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 3));
        aborted_by_body = aborts ? capture : NULL;
        answer_of_body = aborts ? BG_OK : BG_ERROR_TIMEOUT;
        EXPECT_STATUS(BG_CALL_ARGS(unlucky, f->stream, &a), aborts ? BG_ERROR_NOT_CAPTURING : BG_ERROR_TIMEOUT);
        assert_null(a.y.data);
        if (!aborts)
            EXPECT_STATUS(bg_capture_end(capture, &graph), BG_ERROR_TIMEOUT);
        expect_usable(f, f->stream);
    }
}

/* What the body of a replay handles is no failure of a capture that the thread has on another stream. */
static bool tries;
BG_EAGER_OP(trying, BG_INOUT(x))
{
    if (tries) {
        bg_tensor none = {0};
        if (BG_CALL(unlucky, stream, .y = args->x) == BG_OK || BG_CALL(scale, NULL, .x = none) == BG_OK ||
            bg_event_record(NULL, stream) == BG_OK || bg_stream_wait_event(stream, NULL) == BG_OK ||
            bg_stream_wait_stream(stream, NULL) == BG_OK || bg_break(NULL) == BG_OK)
            return BG_ERROR_OP;
    }
    return from_cuda(bgk_scale(args->x.data, args->x.data, 2, N, stream));
}

FIXTURE_PASS(tried)
{
    return BG_CALL(trying, stream, .x = f->y);
}

FIXTURE_TEST(test_a_body_fails_beside_a_capture)
{
    OWNED_GRAPH(second);
    bg_capture *capture;
    tries = false;
    aborted_by_body = NULL;
    answer_of_body = BG_ERROR_TIMEOUT;
    CAPTURED_GRAPH(graph, tried, f, f->stream, NULL);
    put(&f->x, 1);
    put(&f->y, 3);
    tries = true;
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->z, .factor = 9));
    EXPECT_OK(bg_replay(graph, f->other));
    assert_int_equal(bg_current_phase(), BG_PHASE_CAPTURE);
    EXPECT_OK(bg_capture_end(capture, &second));
    EXPECT_VALUE(&f->y, 6);
    EXPECT_VALUE(&f->z, 9);
}

/* No stream is none, while captures run too. */
FIXTURE_TEST(test_no_stream_during_a_capture)
{
    OWNED_GRAPH(second);
    BRIDGED_GRAPH(graph, N);
    bg_capture *capture;
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_FAILS(bg_replay(graph, NULL), BG_ERROR_INVALID_ARGUMENT, "stream is NULL");
    EXPECT_OK(bg_capture_end(capture, &second));
}

/* Arguments whose output has lost its memory. */
FIXTURE_TEST(test_output_without_memory_in_a_replay)
{
    BRIDGED_GRAPH(graph, N);
    doubled_args *args = bg_graph_args(graph, "doubled#0", sizeof *args);
    assert_non_null(args);
    void *bridge = args->y.data;
    args->y.data = NULL;
    EXPECT_FAILS(bg_replay(graph, f->stream), BG_ERROR_OP, "doubled#0", "bg_graph_args");
    args->y.data = bridge;
    put(&f->x, 1);
    EXPECT_OK(bg_replay(graph, f->stream));
    expect_first(f, N, 6);
}

/* The segments after the call rely on what its outputs were. */
FIXTURE_TEST(test_output_of_another_shape_in_a_replay)
{
    BRIDGED_GRAPH(graph, N / 4);
    doubled_args *args = bg_graph_args(graph, "doubled#0", sizeof *args);
    assert_non_null(args);
    args->y.dim[0] = N;
    EXPECT_FAILS(bg_replay(graph, f->stream), BG_ERROR_SHAPE, "call doubled#0",
                 "output y is f32 [64] where f32 [16] is expected");
    args->y.dim[0] = N / 4;
    args->y.dtype = BG_I32;
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_DTYPE);
    args->y.dtype = BG_F32;
    put(&f->x, 1);
    put(&f->y, -1);
    EXPECT_OK(bg_replay(graph, f->stream));
    expect_first(f, N / 4, 6);
}

/* Leaves b behind the rows that a still has, which are to be zeroed. */
static bool crowded;
BG_EAGER_OP(crowd, BG_OUT(a), BG_OUT(b))
{
    float *rows = args->a.data;
    if (crowded) {
        args->a.dim[0] = N / 4;
        args->b.data = rows + N / 2;
    }
    return from_cuda(bgk_fill(args->b.data, 2, (size_t)args->b.dim[0], stream));
}

FIXTURE_PASS(crowd_and_scale)
{
    bg_tensor b = bg_tensor_1d(f->z.data, BG_F32, N / 4);
    TRY_BG(BG_CALL(crowd, stream, .a = f->x, .b = b));
    return BG_CALL(scale, stream, .x = b, .y = f->y, .factor = 1);
}

FIXTURE_TEST(test_an_output_where_another_one_is_zeroed)
{
    EXPECT_OK(bg_op_set_attributes("crowd", ATTRIBUTES(.allow_fewer_rows = true)));
    for (int zeroed = 0; zeroed < 2; zeroed++) {
        crowded = false;
        CAPTURED_GRAPH(graph, crowd_and_scale, f, f->stream, OPTIONS(.zero_tail = zeroed));
        crowded = true;
        put(&f->y, -1);
        if (zeroed) {
            EXPECT_FAILS(bg_replay(graph, f->stream), BG_ERROR_OP, "output b in the memory of output a");
        } else {
            EXPECT_OK(bg_replay(graph, f->stream));
            expect_first(f, N / 4, 2);
        }
    }
}

/* ---- what a graph and a runner own ---- */

static char destroyed[8];

static void note_destroyed(void *object)
{
    strncat(destroyed, object, 1);
}

static bg_status empty_forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    (void)user;
    (void)context;
    (void)stream;
    return BG_OK;
}

FIXTURE_TEST(test_owned)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_capture *capture;
    bg_runner *runner;
    bg_graph *graph;

    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_OK(bg_capture_end(capture, &graph));
    EXPECT_OK(bg_graph_own(graph, "a", note_destroyed));
    EXPECT_OK(bg_graph_own(graph, "b", note_destroyed));
    EXPECT_STATUS(bg_graph_own(NULL, "c", note_destroyed), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_graph_own(graph, "c", NULL), BG_ERROR_INVALID_ARGUMENT);
    bg_graph_destroy(graph);
    assert_string_equal(destroyed, "ba");
    EXPECT_OK(bg_runner_create(&runner, &config, empty_forward, NULL, f->stream));
    EXPECT_OK(bg_runner_own(runner, "r", note_destroyed));
    EXPECT_STATUS(bg_runner_own(NULL, "c", note_destroyed), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_own(runner, "c", NULL), BG_ERROR_INVALID_ARGUMENT);
    bg_runner_destroy(runner);
    assert_string_equal(destroyed, "bar");
}
