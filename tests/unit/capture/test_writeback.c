/* Write-backs as nodes of the segment that follows: what a body may do from one replay to the next. */
#include "tests/support/ops.h"

#include <stdlib.h>

/* Where the body leaves its result this time. */
static struct {
    void *data; /* NULL: in place */
    int calls;
} leave[2];

static bg_status produce_into(bg_tensor *y, const bg_tensor *x, float factor, int which, cudaStream_t stream)
{
    leave[which].calls++;
    if (leave[which].data != NULL)
        y->data = leave[which].data;
    return from_cuda(bgk_scale(y->data, x->data, factor, N, stream));
}

BG_EAGER_OP(one, BG_IN(x), BG_OUT(y))
{
    return produce_into(&args->y, &args->x, 2, 0, stream);
}

static bool misshapes; /* its last output */
BG_EAGER_OP(two, BG_IN(x), BG_OUT(y), BG_OUT(z))
{
    bg_status status = produce_into(&args->y, &args->x, 2, 0, stream);
    if (misshapes)
        args->z.dim[0]--;
    return status != BG_OK ? status : produce_into(&args->z, &args->x, 3, 1, stream);
}

/* Leaves its result in the host's memory, which no node may read later. */
BG_EAGER_OP(from_host, BG_OUT(y))
{
    static float host[N];
    if (leave[0].data == NULL)
        return from_cuda(bgk_fill(args->y.data, 4, N, stream));
    for (int i = 0; i < N; i++)
        host[i] = (float)++leave[0].calls - (float)i;
    args->y.data = host;
    return BG_OK;
}

/* Leaves only the first rows. */
static int rows;

static bg_status leave_rows(bg_tensor *y, const bg_tensor *x, cudaStream_t stream)
{
    if (leave[0].data != NULL)
        y->data = leave[0].data;
    y->dim[0] = rows;
    return from_cuda(bgk_scale(y->data, x->data, 2, rows, stream));
}

BG_EAGER_OP(few, BG_IN(x), BG_OUT(y))
{
    return leave_rows(&args->y, &args->x, stream);
}

BG_OP(few_captured, BG_IN(x), BG_OUT(y))
{
    return leave_rows(&args->y, &args->x, stream);
}

typedef struct memory {
    fixture *f;
    bg_tensor other[3]; /* for bodies */
} memory;

static int setup(void **state)
{
    memory *m = calloc(1, sizeof *m);
    int failed = m == NULL || fixture_setup((void **)&m->f);
    for (int i = 0; !failed && i < 3; i++) {
        void *data;
        EXPECT_CUDA(cudaMalloc(&data, N * sizeof(float)));
        m->other[i] = bg_tensor_1d(data, BG_F32, N);
    }
    leave[0].data = leave[1].data = NULL;
    leave[0].calls = leave[1].calls = 0;
    *state = m;
    return failed;
}

static int teardown(void **state)
{
    memory *m = *state;
    int failed = fixture_teardown((void **)&m->f);
    for (int i = 0; i < 3; i++)
        EXPECT_CUDA(cudaFree(m->other[i].data));
    free(m);
    return failed;
}

static bg_graph *capture(memory *m, bg_forward pass)
{
    bg_graph *graph;
    put(&m->f->x, 1);
    EXPECT_OK(bg_capture_forward(&graph, pass, m, m->f->stream, NULL));
    return graph;
}

/* Twice, since the second one finds the body's outputs where the first did. */
static float replay(memory *m, bg_graph *graph, float x, void *first, void *second)
{
    float results[2];
    leave[0].data = first;
    leave[1].data = second;
    for (int i = 0; i < 2; i++) {
        put(&m->f->x, i ? x : x + 1);
        put(&m->f->y, -98);
        put(&m->f->z, -99);
        EXPECT_OK(bg_replay(graph, m->f->stream));
        results[i] = get(&m->f->z);
    }
    if (x > 0)
        assert_true(results[0] != results[1]);
    return results[1];
}

static bg_status one_pass(void *user, cudaStream_t stream)
{
    fixture *f = ((memory *)user)->f;
    BG_CALL(one, stream, .x = f->x, .y = f->y);
    return BG_CALL(plus, stream, .x = f->x, .y = f->y, .z = f->z);
}

#define WRITEBACK_TEST(name) TEST_F(name, setup, teardown, memory *m)

/* Elsewhere, elsewhere again, in place, and back. */
WRITEBACK_TEST(test_places_change)
{
    void *a = m->other[0].data, *b = m->other[1].data;
    void *const places[] = {a, a, b, NULL, NULL, b, a, NULL, a, b};
    OWNED_GRAPH(graph);
    leave[0].data = a;
    graph = capture(m, one_pass);
    EXPECT_VALUE(&m->f->z, 3);
    assert_int_equal(info_of(graph).steps, 2);
    assert_int_equal(info_of(graph).nodes, 2);
    for (int i = 0; i < (int)(sizeof places / sizeof *places); i++)
        assert_true(replay(m, graph, (float)i, places[i], NULL) == 3 * (float)i);
}

/* The stored arguments' output is set elsewhere: the result goes there, and the segment reads what it read before. */
WRITEBACK_TEST(test_target_changes)
{
    OWNED_GRAPH(graph);
    one_args *args;
    leave[0].data = m->other[0].data;
    graph = capture(m, one_pass);
    assert_true(replay(m, graph, 5, m->other[0].data, NULL) == 15);
    args = bg_graph_args(graph, "one#0", sizeof *args);
    assert_non_null(args);
    args->y.data = m->other[2].data;
    assert_true(replay(m, graph, 5, m->other[0].data, NULL) == 5 - 98);
    EXPECT_VALUE(&m->other[2], 10);
    args->y.data = m->f->y.data;
    assert_true(replay(m, graph, 5, m->other[1].data, NULL) == 15);
}

PASS(two_pass, memory *m)
{
    BG_CALL(two, stream, .x = m->f->x, .y = m->f->y, .z = m->other[2]);
    return BG_CALL(plus, stream, .x = m->f->y, .y = m->other[2], .z = m->f->z);
}

WRITEBACK_TEST(test_several_outputs)
{
    void *a = m->other[0].data, *b = m->other[1].data;
    OWNED_GRAPH(graph);
    leave[0].data = a;
    leave[1].data = b;
    graph = capture(m, two_pass);
    EXPECT_VALUE(&m->f->z, 5);
    assert_int_equal(info_of(graph).nodes, 2); /* both outputs are one */
    assert_true(replay(m, graph, 2, a, b) == 10);
    assert_true(replay(m, graph, 3, NULL, b) == 15);
    assert_true(replay(m, graph, 4, b, a) == 20);
    assert_true(replay(m, graph, 5, a, NULL) == 25);
    assert_true(replay(m, graph, 6, NULL, NULL) == 30);
    assert_true(replay(m, graph, 7, a, b) == 35);
}

enum { MANY = 20 }; /* more than one node takes */

/* Leaves output i in place where bit i is set, else at that place of elsewhere. */
static struct {
    unsigned in_place;
    float *elsewhere;
    float value;
} many_leave;

BG_EAGER_OP(many, BG_OUTS(y, MANY))
{
    bg_status status = BG_OK;
    for (int i = 0; i < MANY && status == BG_OK; i++) {
        if ((many_leave.in_place >> i & 1) == 0)
            args->y[i].data = many_leave.elsewhere + (ptrdiff_t)i * N;
        status = from_cuda(bgk_fill(args->y[i].data, many_leave.value + (float)i, N, stream));
    }
    return status;
}

static bg_status many_pass(void *user, cudaStream_t stream)
{
    float *targets = *(float **)user;
    many_args args = {0};
    bg_tensor first = bg_tensor_1d(targets, BG_F32, N);
    for (int i = 0; i < MANY; i++)
        args.y[i] = bg_tensor_1d(targets + (ptrdiff_t)i * N, BG_F32, N);
    BG_CALL_ARGS(many, stream, &args);
    return BG_CALL(plus, stream, .x = first, .y = first, .z = bg_tensor_1d(targets + (ptrdiff_t)MANY * N, BG_F32, N));
}

WRITEBACK_TEST(test_many_outputs)
{
    static const unsigned in_place[] = {0, 0, 1, 0xfffff, 0, 0xf0f0f, 0xfffff, 0x10000, 0xeffff, 0};
    float *targets, *elsewhere;
    bg_graph *graph;

    EXPECT_CUDA(cudaMalloc((void **)&targets, (MANY + 1) * N * sizeof(float)));
    EXPECT_CUDA(cudaMalloc((void **)&elsewhere, 2 * MANY * N * sizeof(float)));
    many_leave.in_place = 0;
    many_leave.elsewhere = elsewhere;
    EXPECT_OK(bg_capture_forward(&graph, many_pass, &targets, m->f->stream, NULL));
    assert_int_equal(info_of(graph).nodes, 3);
    for (int round = 0; round < (int)(sizeof in_place / sizeof *in_place); round++) {
        many_leave.in_place = in_place[round];
        many_leave.elsewhere = elsewhere + (round % 3 == 2 ? MANY * N : 0);
        many_leave.value = (float)(100 * round);
        EXPECT_CUDA(cudaMemset(targets, 0, (MANY + 1) * N * sizeof(float)));
        EXPECT_CUDA(cudaDeviceSynchronize());
        EXPECT_OK(bg_replay(graph, m->f->stream));
        for (int i = 0; i < MANY; i++) {
            bg_tensor target = bg_tensor_1d(targets + (ptrdiff_t)i * N, BG_F32, N);
            EXPECT_VALUE(&target, (float)(100 * round + i));
        }
    }
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaFree(targets));
    EXPECT_CUDA(cudaFree(elsewhere));
}

/* A replay that failed may have changed the nodes of some outputs. */
WRITEBACK_TEST(test_after_a_failed_replay)
{
    void *a = m->other[0].data, *b = m->other[1].data;
    void *const firsts[] = {b, NULL};
    OWNED_GRAPH(graph);
    leave[0].data = a;
    graph = capture(m, two_pass);
    for (int i = 0; i < 2; i++) {
        assert_true(replay(m, graph, 2, a, NULL) == 10);
        misshapes = true;
        leave[0].data = firsts[i];
        EXPECT_STATUS(bg_replay(graph, m->f->stream), BG_ERROR_SHAPE);
        misshapes = false;
        assert_true(replay(m, graph, 3, a, NULL) == 15);
    }
}

/* No segment follows, another call does, or a bare break: the copy is a step of its own. */
PASS(without_segment, memory *m)
{
    BG_CALL(one, stream, .x = m->f->x, .y = m->f->y);
    BG_CALL(one, stream, .x = m->f->y, .y = m->other[2]);
    bg_break(stream);
    return BG_CALL(one, stream, .x = m->other[2], .y = m->f->z);
}

WRITEBACK_TEST(test_no_segment_follows)
{
    OWNED_GRAPH(graph);
    leave[0].data = m->other[0].data;
    graph = capture(m, without_segment);
    EXPECT_VALUE(&m->f->z, 8);
    assert_int_equal(info_of(graph).segments, 0);
    assert_int_equal(info_of(graph).steps, 6); /* call, copy; three times */
    assert_true(replay(m, graph, 2, m->other[0].data, NULL) == 16);
    assert_true(replay(m, graph, 3, NULL, NULL) == 24);
    assert_true(replay(m, graph, 4, m->other[1].data, NULL) == 32);
}

/* The copies come before the forks. */
PASS(forked, memory *m)
{
    fixture *f = m->f;
    bg_stream_wait_stream(f->other, stream);
    BG_CALL(one, stream, .x = f->x, .y = f->y);
    BG_CALL(plus, f->other, .x = f->y, .y = f->y, .z = m->other[2]);
    bg_stream_wait_stream(stream, f->other);
    return BG_CALL(plus, stream, .x = f->y, .y = m->other[2], .z = f->z);
}

WRITEBACK_TEST(test_before_the_forks)
{
    OWNED_GRAPH(graph);
    leave[0].data = m->other[0].data;
    graph = capture(m, forked);
    EXPECT_VALUE(&m->f->z, 6);
    assert_true(replay(m, graph, 2, m->other[0].data, NULL) == 12);
    assert_true(replay(m, graph, 3, m->other[1].data, NULL) == 18);
}

static bg_status host_pass(void *user, cudaStream_t stream)
{
    fixture *f = ((memory *)user)->f;
    BG_CALL(from_host, stream, .y = f->y);
    return BG_CALL(plus, stream, .x = f->x, .y = f->y, .z = f->z);
}

static void expect_host_values(const memory *m, float first)
{
    float found[N];
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(found, m->f->y.data, sizeof found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        assert_true(found[i] == first);
}

WRITEBACK_TEST(test_host_memory_at_capture)
{
    OWNED_GRAPH(graph);
    leave[0].data = leave;
    graph = capture(m, host_pass);
    expect_host_values(m, 1);
    assert_int_equal(info_of(graph).steps, 3); /* the copy stays a step */
    assert_true(replay(m, graph, 2, leave, NULL) == 2 + 2 * N + 1);
    assert_true(replay(m, graph, 2, NULL, NULL) == 6);
}

static bg_status either_pass(void *user, cudaStream_t stream)
{
    fixture *f = ((memory *)user)->f;
    BG_CALL(one, stream, .x = f->x, .y = f->y);
    return BG_CALL(plus, stream, .x = f->x, .y = f->y, .z = f->z);
}

/* Pinned memory of the host in place of the device's: CUDA may refuse it for the node. */
WRITEBACK_TEST(test_kind_changes)
{
    bg_graph *graph;
    void *pinned;
    EXPECT_CUDA(cudaMallocHost(&pinned, N * sizeof(float)));
    leave[0].data = m->other[0].data;
    graph = capture(m, either_pass);
    assert_true(replay(m, graph, 2, pinned, NULL) == 6);
    assert_true(replay(m, graph, 3, m->other[0].data, NULL) == 9);
    assert_true(replay(m, graph, 4, NULL, NULL) == 12);
    assert_true(replay(m, graph, 5, pinned, NULL) == 15);
    EXPECT_CUDA(cudaGetLastError());
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaFreeHost(pinned));
}

static bg_status few_pass(void *user, cudaStream_t stream)
{
    fixture *f = ((memory *)user)->f;
    BG_CALL(few, stream, .x = f->x, .y = f->y);
    return BG_CALL(plus, stream, .x = f->y, .y = f->y, .z = f->z);
}

static bg_status few_captured_pass(void *user, cudaStream_t stream)
{
    fixture *f = ((memory *)user)->f;
    return BG_CALL(few_captured, stream, .x = f->x, .y = f->y);
}

static void expect_rows(const bg_tensor *tensor, int count, float value, float beyond)
{
    float found[N];
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(found, tensor->data, sizeof found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        if (found[i] != (i < count ? value : beyond))
            fail_msg("row %d is %g, expected %g (%d rows)", i, found[i], i < count ? value : beyond, count);
}

static void replay_rows(memory *m, bg_graph *graph, int count, void *place, bool zero_tail)
{
    rows = count;
    leave[0].data = place;
    for (int i = 0; i < 2; i++) {
        put(&m->f->y, -1);
        EXPECT_OK(bg_replay(graph, m->f->stream));
        expect_rows(&m->f->y, count, 6, zero_tail ? 0 : -1);
        expect_rows(&m->f->z, count, 12, zero_tail ? 0 : -2);
    }
}

/* Fewer rows than expected, here and there, where the op may leave fewer; what lies beyond stays, or is zeroed. */
WRITEBACK_TEST(test_fewer_rows)
{
    static const bg_debug modes[] = {BG_DEBUG_OFF, BG_DEBUG_OPS, BG_DEBUG_SYNC, BG_DEBUG_FORWARD};
    EXPECT_OK(bg_op_set_attributes("few", ATTRIBUTES(.allow_fewer_rows = true)));
    for (int i = 0; i < 24; i++) {
        bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
        void *a = m->other[0].data, *first = i / 2 % 3 ? a : NULL;
        bg_graph *graph;
        options.zero_tail = i % 2;
        options.debug = modes[i / 6];
        rows = i / 2 % 3 == 1 ? N : 5;
        leave[0].data = first;
        put(&m->f->x, 3);
        EXPECT_OK(bg_capture_forward(&graph, few_pass, m, m->f->stream, &options));
        replay_rows(m, graph, N, NULL, options.zero_tail);
        replay_rows(m, graph, 7, a, options.zero_tail);
        replay_rows(m, graph, 9, NULL, options.zero_tail);
        replay_rows(m, graph, N, m->other[1].data, options.zero_tail);
        replay_rows(m, graph, 1, m->other[1].data, options.zero_tail);
        replay_rows(m, graph, 0, a, options.zero_tail);
        replay_rows(m, graph, N, a, options.zero_tail);
        bg_graph_destroy(graph);
    }
    EXPECT_OK(bg_op_set_attributes("few", NULL));
}

WRITEBACK_TEST(test_fewer_rows_captured)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *graph;
    EXPECT_OK(bg_op_set_attributes("few_captured", ATTRIBUTES(.allow_fewer_rows = true)));
    options.zero_tail = true;
    rows = 3;
    leave[0].data = m->other[0].data;
    put(&m->f->x, 3);
    EXPECT_OK(bg_capture_forward(&graph, few_captured_pass, m, m->f->stream, &options));
    put(&m->f->y, -1);
    EXPECT_OK(bg_replay(graph, m->f->stream));
    expect_rows(&m->f->y, 3, 6, 0);
    bg_graph_destroy(graph);
    put(&m->f->y, -1);
    EXPECT_OK(few_captured_pass(m, m->f->stream)); /* no capture, no option */
    expect_rows(&m->f->y, 3, 6, -1);
    EXPECT_OK(bg_op_set_attributes("few_captured", NULL));
}

WRITEBACK_TEST(test_fewer_rows_refused)
{
    OWNED_GRAPH(graph);
    rows = N;
    leave[0].data = m->other[0].data;
    graph = capture(m, few_pass);
    rows = 7;
    EXPECT_FAILS(bg_replay(graph, m->f->stream), BG_ERROR_SHAPE, "few#0", "7");
    for (int i = 0; i < 2; i++) { /* in another place, and in its own, where nothing is to do */
        leave[0].data = i ? NULL : m->other[0].data;
        EXPECT_OK(bg_op_set_attributes("few", ATTRIBUTES(.allow_fewer_rows = true)));
        EXPECT_OK(bg_replay(graph, m->f->stream));
        EXPECT_OK(bg_replay(graph, m->f->stream));
        EXPECT_OK(bg_op_set_attributes("few", NULL));
        EXPECT_STATUS(bg_replay(graph, m->f->stream), BG_ERROR_SHAPE);
    }
}
