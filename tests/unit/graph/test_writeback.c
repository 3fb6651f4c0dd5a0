/* Write-backs as nodes of the segment that follows: what a body may do from one replay to the next. */
#include "tests/support/ops.h"

#include <string.h>

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

static bg_tensor other[3]; /* memory for bodies */

static int setup(void **state)
{
    int failed = fixture_setup(state);
    for (int i = 0; !failed && i < 3; i++) {
        void *data;
        EXPECT_CUDA(cudaMalloc(&data, N * sizeof(float)));
        other[i] = bg_tensor_1d(data, BG_F32, N);
    }
    memset(leave, 0, sizeof leave);
    return failed;
}

static int teardown(void **state)
{
    for (int i = 0; i < 3; i++)
        EXPECT_CUDA(cudaFree(other[i].data));
    return fixture_teardown(state);
}

#define WRITEBACK_TEST(name) TEST_F(name, setup, teardown, fixture *f)

/* At the capture x is 1, and the body leaves its result in that place. */
static bg_graph *capture(fixture *f, bg_forward pass, void *place)
{
    put(&f->x, 1);
    leave[0].data = place;
    return CAPTURED_BY(pass, f, f->stream, NULL);
}

/* Twice, since the second one finds the body's outputs where the first did. */
static float replay(fixture *f, bg_graph *graph, float x, void *first, void *second)
{
    float results[2];
    leave[0].data = first;
    leave[1].data = second;
    for (int i = 0; i < 2; i++) {
        put(&f->x, i ? x : x + 1);
        put(&f->y, -98);
        put(&f->z, -99);
        EXPECT_OK(bg_replay(graph, f->stream));
        results[i] = get(&f->z);
    }
    if (x > 0)
        assert_true(results[0] != results[1]);
    return results[1];
}

FIXTURE_PASS(one_pass)
{
    BG_CALL(one, stream, .x = f->x, .y = f->y);
    return BG_CALL(plus, stream, .x = f->x, .y = f->y, .z = f->z);
}

/* Elsewhere, elsewhere again, in place, and back. */
WRITEBACK_TEST(test_places_change)
{
    void *a = other[0].data, *b = other[1].data;
    void *const places[] = {a, a, b, NULL, NULL, b, a, NULL, a, b};
    OWN_GRAPH(graph, capture(f, one_pass, a));
    EXPECT_VALUE(&f->z, 3);
    assert_int_equal(info_of(graph).steps, 2);
    assert_int_equal(info_of(graph).nodes, 2);
    for (int i = 0; i < (int)(sizeof places / sizeof *places); i++)
        assert_true(replay(f, graph, (float)i, places[i], NULL) == 3 * (float)i);
}

/* The stored arguments' output is set elsewhere: the result goes there, and the segment reads what it read before. */
WRITEBACK_TEST(test_target_changes)
{
    OWN_GRAPH(graph, capture(f, one_pass, other[0].data));
    assert_true(replay(f, graph, 5, other[0].data, NULL) == 15);
    one_args *args = bg_graph_args(graph, "one#0", sizeof *args);
    assert_non_null(args);
    args->y.data = other[2].data;
    assert_true(replay(f, graph, 5, other[0].data, NULL) == 5 - 98);
    EXPECT_VALUE(&other[2], 10);
    args->y.data = f->y.data;
    assert_true(replay(f, graph, 5, other[1].data, NULL) == 15);
}

FIXTURE_PASS(two_pass)
{
    BG_CALL(two, stream, .x = f->x, .y = f->y, .z = other[2]);
    return BG_CALL(plus, stream, .x = f->y, .y = other[2], .z = f->z);
}

WRITEBACK_TEST(test_several_outputs)
{
    void *a = other[0].data, *b = other[1].data;
    leave[1].data = b;
    OWN_GRAPH(graph, capture(f, two_pass, a));
    EXPECT_VALUE(&f->z, 5);
    assert_int_equal(info_of(graph).nodes, 2); /* both outputs are one */
    assert_true(replay(f, graph, 2, a, b) == 10);
    assert_true(replay(f, graph, 3, NULL, b) == 15);
    assert_true(replay(f, graph, 4, b, a) == 20);
    assert_true(replay(f, graph, 5, a, NULL) == 25);
    assert_true(replay(f, graph, 6, NULL, NULL) == 30);
    assert_true(replay(f, graph, 7, a, b) == 35);
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
    for (int i = 0; i < MANY; i++) {
        if ((many_leave.in_place >> i & 1) == 0)
            args->y[i].data = many_leave.elsewhere + (ptrdiff_t)i * N;
        TRY_BG(from_cuda(bgk_fill(args->y[i].data, many_leave.value + (float)i, N, stream)));
    }
    return BG_OK;
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
    OWNED_MEMORY(float, targets);
    OWNED_MEMORY(float, elsewhere);

    EXPECT_CUDA(cudaMalloc((void **)&targets, (MANY + 1) * N * sizeof(float)));
    EXPECT_CUDA(cudaMalloc((void **)&elsewhere, 2 * MANY * N * sizeof(float)));
    many_leave.in_place = 0;
    many_leave.elsewhere = elsewhere;
    CAPTURED_GRAPH(graph, many_pass, &targets, f->stream, NULL);
    assert_int_equal(info_of(graph).nodes, 3);
    for (int round = 0; round < (int)(sizeof in_place / sizeof *in_place); round++) {
        many_leave.in_place = in_place[round];
        many_leave.elsewhere = elsewhere + (round % 3 == 2 ? MANY * N : 0);
        many_leave.value = (float)(100 * round);
        EXPECT_CUDA(cudaMemset(targets, 0, (MANY + 1) * N * sizeof(float)));
        EXPECT_CUDA(cudaDeviceSynchronize());
        EXPECT_OK(bg_replay(graph, f->stream));
        for (int i = 0; i < MANY; i++) {
            bg_tensor target = bg_tensor_1d(targets + (ptrdiff_t)i * N, BG_F32, N);
            EXPECT_VALUE(&target, (float)(100 * round + i));
        }
    }
}

/* A replay that failed may have changed the nodes of some outputs. */
WRITEBACK_TEST(test_after_a_failed_replay)
{
    void *a = other[0].data, *b = other[1].data;
    void *const firsts[] = {b, NULL};
    OWN_GRAPH(graph, capture(f, two_pass, a));
    for (int i = 0; i < 2; i++) {
        assert_true(replay(f, graph, 2, a, NULL) == 10);
        misshapes = true;
        leave[0].data = firsts[i];
        EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_SHAPE);
        misshapes = false;
        assert_true(replay(f, graph, 3, a, NULL) == 15);
    }
}

/* No segment follows, another call does, or a bare break: the copy is a step of its own. */
FIXTURE_PASS(without_segment)
{
    BG_CALL(one, stream, .x = f->x, .y = f->y);
    BG_CALL(one, stream, .x = f->y, .y = other[2]);
    bg_break(stream);
    return BG_CALL(one, stream, .x = other[2], .y = f->z);
}

WRITEBACK_TEST(test_no_segment_follows)
{
    OWN_GRAPH(graph, capture(f, without_segment, other[0].data));
    EXPECT_VALUE(&f->z, 8);
    assert_int_equal(info_of(graph).segments, 0);
    assert_int_equal(info_of(graph).steps, 6); /* call, copy; three times */
    assert_true(replay(f, graph, 2, other[0].data, NULL) == 16);
    assert_true(replay(f, graph, 3, NULL, NULL) == 24);
    assert_true(replay(f, graph, 4, other[1].data, NULL) == 32);
}

/* The copies come before the forks. */
FIXTURE_PASS(forked)
{
    bg_stream_wait_stream(f->other, stream);
    BG_CALL(one, stream, .x = f->x, .y = f->y);
    BG_CALL(plus, f->other, .x = f->y, .y = f->y, .z = other[2]);
    bg_stream_wait_stream(stream, f->other);
    return BG_CALL(plus, stream, .x = f->y, .y = other[2], .z = f->z);
}

WRITEBACK_TEST(test_before_the_forks)
{
    OWN_GRAPH(graph, capture(f, forked, other[0].data));
    EXPECT_VALUE(&f->z, 6);
    assert_true(replay(f, graph, 2, other[0].data, NULL) == 12);
    assert_true(replay(f, graph, 3, other[1].data, NULL) == 18);
}

FIXTURE_PASS(host_pass)
{
    BG_CALL(from_host, stream, .y = f->y);
    return BG_CALL(plus, stream, .x = f->x, .y = f->y, .z = f->z);
}

WRITEBACK_TEST(test_host_memory_at_capture)
{
    OWN_GRAPH(graph, capture(f, host_pass, leave));
    EXPECT_VALUE(&f->y, 1);
    assert_int_equal(info_of(graph).steps, 3); /* the copy stays a step */
    assert_true(replay(f, graph, 2, leave, NULL) == 2 + 2 * N + 1);
    assert_true(replay(f, graph, 2, NULL, NULL) == 6);
}

/* Pinned memory of the host in place of the device's: CUDA may refuse it for the node. */
WRITEBACK_TEST(test_kind_changes)
{
    void *pinned;
    EXPECT_CUDA(cudaMallocHost(&pinned, N * sizeof(float)));
    bg_graph *graph = capture(f, one_pass, other[0].data);
    assert_true(replay(f, graph, 2, pinned, NULL) == 6);
    assert_true(replay(f, graph, 3, other[0].data, NULL) == 9);
    assert_true(replay(f, graph, 4, NULL, NULL) == 12);
    assert_true(replay(f, graph, 5, pinned, NULL) == 15);
    EXPECT_CUDA(cudaGetLastError());
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaFreeHost(pinned));
}

FIXTURE_PASS(few_pass)
{
    BG_CALL(few, stream, .x = f->x, .y = f->y);
    return BG_CALL(plus, stream, .x = f->y, .y = f->y, .z = f->z);
}

FIXTURE_PASS(few_captured_pass)
{
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

static void replay_rows(fixture *f, bg_graph *graph, int count, void *place, bool zero_tail)
{
    rows = count;
    leave[0].data = place;
    for (int i = 0; i < 2; i++) {
        put(&f->y, -1);
        EXPECT_OK(bg_replay(graph, f->stream));
        expect_rows(&f->y, count, 6, zero_tail ? 0 : -1);
        expect_rows(&f->z, count, 12, zero_tail ? 0 : -2);
    }
}

/* Fewer rows than expected, here and there, where the op may leave fewer; what lies beyond stays, or is zeroed. */
WRITEBACK_TEST(test_fewer_rows)
{
    static const bg_debug modes[] = {BG_DEBUG_OFF, BG_DEBUG_OPS, BG_DEBUG_SYNC, BG_DEBUG_FORWARD};
    void *a = other[0].data, *b = other[1].data;
    const struct {
        int rows;
        void *place;
    } replays[] = {{N, NULL}, {7, a}, {9, NULL}, {N, b}, {1, b}, {0, a}, {N, a}};
    EXPECT_OK(bg_op_set_attributes("few", ATTRIBUTES(.allow_fewer_rows = true)));
    for (int i = 0; i < 24; i++) {
        rows = i / 2 % 3 == 1 ? N : 5;
        leave[0].data = i / 2 % 3 ? a : NULL;
        put(&f->x, 3);
        CAPTURED_GRAPH(graph, few_pass, f, f->stream, OPTIONS(.zero_tail = i % 2, .debug = modes[i / 6]));
        for (size_t k = 0; k < sizeof replays / sizeof *replays; k++)
            replay_rows(f, graph, replays[k].rows, replays[k].place, i % 2);
    }
    EXPECT_OK(bg_op_set_attributes("few", NULL));
}

WRITEBACK_TEST(test_fewer_rows_captured)
{
    EXPECT_OK(bg_op_set_attributes("few_captured", ATTRIBUTES(.allow_fewer_rows = true)));
    rows = 3;
    leave[0].data = other[0].data;
    put(&f->x, 3);
    CAPTURED_GRAPH(graph, few_captured_pass, f, f->stream, OPTIONS(.zero_tail = true));
    put(&f->y, -1);
    EXPECT_OK(bg_replay(graph, f->stream));
    expect_rows(&f->y, 3, 6, 0);
    put(&f->y, -1);
    EXPECT_OK(few_captured_pass(f, f->stream)); /* no capture, no option */
    expect_rows(&f->y, 3, 6, -1);
    EXPECT_OK(bg_op_set_attributes("few_captured", NULL));
}

WRITEBACK_TEST(test_fewer_rows_refused)
{
    rows = N;
    OWN_GRAPH(graph, capture(f, few_pass, other[0].data));
    rows = 7;
    EXPECT_FAILS(bg_replay(graph, f->stream), BG_ERROR_SHAPE, "few#0", "7");
    for (int i = 0; i < 2; i++) { /* in another place, and in its own, where nothing is to do */
        leave[0].data = i ? NULL : other[0].data;
        EXPECT_OK(bg_op_set_attributes("few", ATTRIBUTES(.allow_fewer_rows = true)));
        EXPECT_OK(bg_replay(graph, f->stream));
        EXPECT_OK(bg_replay(graph, f->stream));
        EXPECT_OK(bg_op_set_attributes("few", NULL));
        EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_SHAPE);
    }
}
