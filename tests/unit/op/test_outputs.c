/* How outputs reach the caller: in place, write-back, bridge buffers, arrays, scratch; shapes that change. */
#include "tests/support/ops.h"

#include <string.h>

/* What the ops below do with their output, changed by the tests between calls. */
static enum { IN_PLACE, ELSEWHERE, NOWHERE, WRONG_SHAPE, WRONG_DTYPE, WRONG_RANK, NEGATIVE } manner;
static float *elsewhere; /* memory of the body's own */

static bg_status leave(bg_tensor *y, const bg_tensor *x, float factor, cudaStream_t stream)
{
    bg_tensor given = *y;
    if (given.rank == 0)
        *y = bg_tensor_1d(given.data, BG_F32, N);
    switch (manner) {
    case IN_PLACE: break;
    case ELSEWHERE: y->data = elsewhere; break;
    case NOWHERE: y->data = NULL; return BG_OK;
    case WRONG_SHAPE: y->dim[0] = N / 2; break;
    case WRONG_DTYPE: y->dtype = BG_I32; break;
    case WRONG_RANK: *y = bg_tensor_2d(y->data, BG_F32, 1, N); break;
    case NEGATIVE: y->dim[0] = -1; return BG_OK;
    }
    return from_cuda(bgk_scale(y->data, x->data, factor, N, stream));
}

BG_EAGER_OP(produce, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return leave(&args->y, &args->x, args->factor, stream);
}

BG_OP(produce_captured, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return leave(&args->y, &args->x, args->factor, stream);
}

static int setup(void **state)
{
    manner = IN_PLACE;
    EXPECT_CUDA(cudaMalloc((void **)&elsewhere, N * sizeof(float)));
    return fixture_setup(state);
}

static int teardown(void **state)
{
    EXPECT_OK(bg_op_set_attributes("produce", NULL));
    EXPECT_CUDA(cudaFree(elsewhere));
    return fixture_teardown(state);
}

/* ---- the caller's own memory ---- */

FIXTURE_PASS(through)
{
    BG_CALL(produce, stream, .x = f->x, .y = f->y, .factor = 2);
    return BG_CALL(scale, stream, .x = f->y, .y = f->z, .factor = 3);
}

/* A replay with that x gives z that value. */
#define EXPECT_Z(graph, from, to)                                                                                      \
    do {                                                                                                               \
        put(&f->y, -99);                                                                                               \
        EXPECT_REPLAY(graph, f->stream, &f->x, from, &f->z, to);                                                       \
    } while (0)

#define OUTPUTS_TEST(name) TEST_F(name, setup, teardown, fixture *f)

OUTPUTS_TEST(test_write_back)
{
    manner = ELSEWHERE;
    put(&f->x, 1);
    CAPTURED_GRAPH(graph, through, f, f->stream, NULL);
    EXPECT_VALUE(&f->z, 6);
    assert_int_equal(info_of(graph).steps, 2); /* call, launch that begins with the copy */
    assert_int_equal(info_of(graph).nodes, 2);
    EXPECT_Z(graph, 5, 30);
    manner = IN_PLACE; /* this time there is nothing to copy */
    put(&f->z, 0);
    EXPECT_Z(graph, 7, 42);
}

OUTPUTS_TEST(test_write_back_that_capture_did_not_see)
{
    CAPTURED_GRAPH(graph, through, f, f->stream, NULL);
    assert_int_equal(info_of(graph).steps, 2);
    manner = ELSEWHERE;
    EXPECT_Z(graph, 5, 30);
}

static void expect_refused(fixture *f, bg_status expected, const char *text)
{
    EXPECT_NO_CAPTURE(through, f, f->stream, NULL, expected, text, "produce#0", "test_outputs.c");
    expect_usable(f, f->stream);
}

OUTPUTS_TEST(test_refused_at_capture)
{
    manner = WRONG_SHAPE;
    expect_refused(f, BG_ERROR_SHAPE, "output y is f32 [32] where f32 [64] is expected");
    manner = WRONG_DTYPE;
    expect_refused(f, BG_ERROR_DTYPE, "output y is i32 [64] where f32 [64] is expected");
    manner = WRONG_RANK;
    expect_refused(f, BG_ERROR_SHAPE, "output y is f32 [1, 64] where f32 [64] is expected");
    manner = NOWHERE;
    expect_refused(f, BG_ERROR_OP, "output y without memory");
}

OUTPUTS_TEST(test_refused_at_replay)
{
    CAPTURED_GRAPH(graph, through, f, f->stream, NULL);
    manner = WRONG_SHAPE;
    EXPECT_FAILS(bg_replay(graph, f->stream), BG_ERROR_SHAPE, "produce#0", "f32 [32] where f32 [64]");
    assert_int_equal(info_of(graph).replays, 0);
    manner = IN_PLACE;
    EXPECT_Z(graph, 5, 30); /* the graph is reusable */
}

/* ---- plain calls ---- */

OUTPUTS_TEST(test_plain_write_back)
{
    produce_args a = {.x = f->x, .y = f->y, .factor = 4};
    put(&f->x, 2);
    manner = ELSEWHERE;
    EXPECT_OK(BG_CALL_ARGS(produce, f->stream, &a));
    assert_ptr_equal(a.y.data, f->y.data); /* the caller's own, never the body's */
    EXPECT_VALUE(&f->y, 8);
    manner = WRONG_SHAPE;
    EXPECT_FAILS(BG_CALL_ARGS(produce, f->stream, &a), BG_ERROR_SHAPE, "output y");
    assert_ptr_equal(a.y.data, f->y.data);
    assert_int_equal(a.y.dim[0], N);
}

BG_OP(forgetful, BG_IN(x), BG_OUT(y), BG_VALUE(char, flag), BG_VALUE(double, factor))
{
    args->x.data = NULL;
    args->factor = 0;
    return from_cuda(cudaMemsetAsync(args->y.data, 0, N * sizeof(float), stream));
}

OUTPUTS_TEST(test_arguments_are_the_callers)
{
    forgetful_args a = {.x = f->x, .y = f->y, .factor = 4};
    EXPECT_OK(BG_CALL_ARGS(forgetful, f->stream, &a));
    assert_ptr_equal(a.x.data, f->x.data);
    assert_true(a.factor == 4);
}

static bg_status plain_call(fixture *f, float factor, bg_tensor *y)
{
    produce_args a = {.x = f->x, .factor = factor};
    bg_status status = BG_CALL_ARGS(produce, f->stream, &a); /* the place of the bridge buffer */
    *y = a.y;
    return status;
}

OUTPUTS_TEST(test_plain_bridge)
{
    bg_tensor first, second;
    put(&f->x, 2);
    manner = ELSEWHERE;
    EXPECT_OK(plain_call(f, 3, &first));
    EXPECT_VALUE(&first, 6);
    assert_ptr_not_equal(first.data, elsewhere);
    EXPECT_OK(plain_call(f, 4, &second));
    assert_ptr_equal(first.data, second.data);
    EXPECT_VALUE(&second, 8);
}

/* ---- bridge buffers ---- */

FIXTURE_PASS(bridged)
{
    produce_args known = {.x = f->x, .y = bg_tensor_1d(NULL, BG_F32, N), .factor = 2};
    produce_args open = {.x = f->x, .factor = 3};
    TRY_BG(BG_CALL_ARGS(produce, stream, &known));
    TRY_BG(BG_CALL_ARGS(produce, stream, &open));
    assert_non_null(known.y.data);
    assert_non_null(open.y.data);
    assert_ptr_not_equal(known.y.data, open.y.data);
    assert_ptr_not_equal(open.y.data, elsewhere);
    assert_int_equal(open.y.rank, 1);
    assert_int_equal(open.y.dim[0], N);
    return from_cuda(bgk_add(f->z.data, known.y.data, open.y.data, N, stream));
}

static void expect_bridges(fixture *f, int steps)
{
    put(&f->x, 1);
    CAPTURED_GRAPH(graph, bridged, f, f->stream, NULL);
    EXPECT_VALUE(&f->z, 5);
    assert_int_equal(info_of(graph).steps, steps);
    assert_int_equal(info_of(graph).bridge_bytes, 2 * N * sizeof(float));
    for (int i = 0; i < 4; i++) {
        manner = i % 2 ? IN_PLACE : ELSEWHERE;
        EXPECT_Z(graph, (float)i, 5 * (float)i);
    }
}

/* A bridge buffer that the body is given; one whose shape it tells by leaving its own memory. */
OUTPUTS_TEST(test_bridges)
{
    manner = ELSEWHERE;
    expect_bridges(f, 4); /* call, copy, call, launch that begins with the second copy */
    manner = NEGATIVE;
    EXPECT_NO_CAPTURE(bridged, f, f->stream, NULL, BG_ERROR_SHAPE);
}

static bg_status tell_shape(void *args)
{
    ((produce_args *)args)->y = bg_tensor_1d(NULL, BG_F32, N);
    return BG_OK;
}

static bg_status tell_nonsense(void *args)
{
    ((produce_args *)args)->y.rank = 99;
    return BG_OK;
}

OUTPUTS_TEST(test_bridge_by_shape_function)
{
    EXPECT_OK(bg_op_set_attributes("produce", ATTRIBUTES(.shape = tell_shape)));
    manner = IN_PLACE; /* the body finds memory, though its caller gave neither memory nor shape */
    expect_bridges(f, 3);
    EXPECT_OK(bg_op_set_attributes("produce", ATTRIBUTES(.shape = tell_nonsense)));
    EXPECT_NO_CAPTURE(bridged, f, f->stream, NULL, BG_ERROR_INVALID_ARGUMENT, "rank 99");
}

static int runs;
BG_EAGER_OP(open_output, BG_OUT(y))
{
    runs++;
    args->y = bg_tensor_1d(elsewhere, BG_F32, N);
    return from_cuda(bgk_fill(elsewhere, 5, N, stream));
}

FIXTURE_PASS(open_pass)
{
    open_output_args a = {.y = {0}};
    TRY_BG(BG_CALL_ARGS(open_output, stream, &a));
    return BG_CALL(scale, stream, .x = a.y, .y = f->z, .factor = 2);
}

static bg_status shape_of_open(void *args)
{
    ((open_output_args *)args)->y = bg_tensor_1d(NULL, BG_F32, N);
    return BG_OK;
}

OUTPUTS_TEST(test_without_launching_a_body_runs_only_for_its_shape)
{
    for (int known = 0; known < 2; known++) {
        EXPECT_OK(bg_op_set_attributes("open_output", ATTRIBUTES(.shape = known ? shape_of_open : NULL)));
        runs = 0;
        CAPTURED_GRAPH(graph, open_pass, f, f->stream, UNLAUNCHED_OPTIONS());
        assert_int_equal(runs, known ? 0 : 1);
        EXPECT_OK(bg_replay(graph, f->stream));
        EXPECT_VALUE(&f->z, 10);
    }
    EXPECT_OK(bg_op_set_attributes("open_output", NULL));
}

FIXTURE_PASS(bridged_captured)
{
    produce_captured_args a = {.x = f->x, .factor = 2};
    TRY_BG(BG_CALL_ARGS(produce_captured, stream, &a));
    return BG_CALL(scale, stream, .x = a.y, .y = f->z, .factor = 3);
}

OUTPUTS_TEST(test_bridge_of_a_captured_op)
{
    manner = ELSEWHERE;
    CAPTURED_GRAPH(graph, bridged_captured, f, f->stream, NULL);
    assert_int_equal(info_of(graph).segments, 1);
    assert_int_equal(info_of(graph).nodes, 3); /* scale, copy, scale */
    assert_int_equal(info_of(graph).kernel_nodes, 2);
    EXPECT_Z(graph, 4, 24);
}

/* ---- several outputs, arrays ---- */

BG_EAGER_OP(split, BG_IN(x), BG_OUT(first), BG_OUTS(parts, 3), BG_INOUT(count))
{
    TRY_BG(from_cuda(bgk_scale(args->first.data, args->x.data, 10, N, stream)));
    for (int i = 0; i < 3; i++) {
        if (manner == ELSEWHERE && i == 1)
            args->parts[i].data = elsewhere;
        TRY_BG(from_cuda(bgk_scale(args->parts[i].data, args->x.data, (float)(i + 1), N, stream)));
    }
    if (manner == WRONG_SHAPE)
        args->parts[2].dim[0] = 3;
    return from_cuda(bgk_add(args->count.data, args->count.data, args->x.data, N, stream));
}

static bg_tensor parts[3], first_part;

FIXTURE_PASS(split_pass)
{
    split_args a = {.x = f->x, .first = bg_tensor_1d(NULL, BG_F32, N), .count = f->y};
    for (int i = 0; i < 3; i++)
        a.parts[i] = bg_tensor_1d(NULL, BG_F32, N);
    TRY_BG(BG_CALL_ARGS(split, stream, &a));
    memcpy(parts, a.parts, sizeof parts);
    first_part = a.first;
    return BG_CALL(scale, stream, .x = a.parts[1], .y = f->z, .factor = 100);
}

OUTPUTS_TEST(test_several_outputs)
{
    manner = ELSEWHERE;
    put(&f->x, 1);
    CAPTURED_GRAPH(graph, split_pass, f, f->stream, NULL);
    put(&f->x, 2);
    put(&f->y, 0);
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_VALUE(&f->z, 400);
    EXPECT_VALUE(&first_part, 20);
    for (int i = 0; i < 3; i++)
        EXPECT_VALUE(&parts[i], 2 * (float)(i + 1));
    EXPECT_VALUE(&f->y, 4);
    manner = WRONG_SHAPE;
    EXPECT_FAILS(bg_replay(graph, f->stream), BG_ERROR_SHAPE, "output parts[2] is f32 [3] where f32 [64] is expected");
}

/* ---- scratch ---- */

static void *blocks[2];
static size_t scratch_bytes;
BG_EAGER_OP(with_scratch, BG_IN(x), BG_OUT(y))
{
    TRY_BG(bg_scratch(args, scratch_bytes, &blocks[0]));
    TRY_BG(bg_scratch(args, 4 * N, &blocks[1]));
    args->y.data = blocks[1];
    return from_cuda(bgk_scale(blocks[1], args->x.data, 2, N, stream));
}

FIXTURE_PASS(scratch_pass)
{
    return BG_CALL(with_scratch, stream, .x = f->x, .y = f->z);
}

OUTPUTS_TEST(test_scratch)
{
    void *before[2], *none = &none;
    scratch_bytes = 1000;
    bg_graph *graph = CAPTURED_BY(scratch_pass, f, f->stream, NULL);
    memcpy(before, blocks, sizeof before);
    assert_ptr_not_equal(blocks[0], blocks[1]);
    assert_int_equal((uintptr_t)blocks[0] % 256, 0);
    EXPECT_Z(graph, 3, 6);
    assert_memory_equal(before, blocks, sizeof before); /* stable across replays */
    scratch_bytes = 100000;                             /* more than before: a larger block */
    EXPECT_Z(graph, 4, 8);
    assert_ptr_not_equal(before[0], blocks[0]);
    assert_ptr_equal(before[1], blocks[1]);
    bg_graph_destroy(graph);

    EXPECT_OK(scratch_pass(f, f->stream)); /* plain */
    EXPECT_VALUE(&f->z, 8);
    EXPECT_STATUS(bg_scratch(before, 8, &none), BG_ERROR_INVALID_ARGUMENT);
    assert_null(none);
    EXPECT_ERROR("bg_scratch");
    EXPECT_STATUS(bg_scratch(NULL, 8, &none), BG_ERROR_INVALID_ARGUMENT);
}

OUTPUTS_TEST(test_scratch_of_no_bytes_keeps_its_place)
{
    void *before;
    scratch_bytes = 0;
    CAPTURED_GRAPH(graph, scratch_pass, f, f->stream, NULL);
    assert_null(blocks[0]);
    before = blocks[1];
    scratch_bytes = 64;
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_non_null(blocks[0]);
    assert_ptr_equal(before, blocks[1]);
}

OUTPUTS_TEST(test_growing_scratch_stays_small)
{
    enum { STEP = 4096, REPLAYS = 200 };
    scratch_bytes = STEP;
    CAPTURED_GRAPH(graph, scratch_pass, f, f->stream, NULL);
    for (int i = 0; i < REPLAYS; i++) {
        scratch_bytes += STEP;
        EXPECT_OK(bg_replay(graph, f->stream));
    }
    assert_true(info_of(graph).bridge_bytes < 4 * scratch_bytes);
}

/* ---- outputs that get in each other's way ---- */

static enum { SWAP, SAME, SHIFT, HUGE_RANK } trick;
BG_EAGER_OP(tricky, BG_INOUT(a), BG_INOUT(b))
{
    bg_tensor a = args->a;
    switch (trick) {
    case SWAP: args->a = args->b, args->b = a; break;
    case SAME: args->b = args->a; break;
    case SHIFT: args->a.data = (float *)a.data + 4; break;
    case HUGE_RANK: args->a.rank = 500; break;
    }
    (void)stream;
    return BG_OK;
}

FIXTURE_PASS(tricky_pass)
{
    return BG_CALL(tricky, stream, .a = f->x, .b = f->y);
}

OUTPUTS_TEST(test_outputs_cannot_change_places)
{
    put(&f->x, 1);
    put(&f->y, 2);
    trick = SWAP;
    EXPECT_FAILS(tricky_pass(f, f->stream), BG_ERROR_OP, "output a in the memory of output b");
    EXPECT_NO_CAPTURE(tricky_pass, f, f->stream, NULL, BG_ERROR_OP);
    trick = SHIFT;
    EXPECT_STATUS(tricky_pass(f, f->stream), BG_ERROR_OP);
    trick = HUGE_RANK;
    EXPECT_FAILS(tricky_pass(f, f->stream), BG_ERROR_SHAPE, "rank 500");
    assert_true(get(&f->x) == 1 && get(&f->y) == 2);
    trick = SAME; /* one result for both: no harm */
    CAPTURED_GRAPH(graph, tricky_pass, f, f->stream, NULL);
    EXPECT_VALUE(&f->y, 1);
    put(&f->x, 5);
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_VALUE(&f->y, 5);
    trick = SWAP;
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_OP);
}

OUTPUTS_TEST(test_no_bridge_after_a_failure)
{
    bg_capture *capture;
    bg_graph *graph;
    produce_captured_args a = {.x = f->x, .y = bg_tensor_1d(NULL, BG_F32, N), .factor = 1};
    manner = WRONG_SHAPE;
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_STATUS(BG_CALL_ARGS(produce_captured, f->stream, &a), BG_ERROR_SHAPE);
    assert_null(a.y.data);
    EXPECT_STATUS(bg_capture_end(capture, &graph), BG_ERROR_SHAPE);
}

OUTPUTS_TEST(test_invalid_tensors)
{
    bg_tensor bad = f->x;
    bad.rank = 9;
    EXPECT_STATUS(BG_CALL(scale, f->stream, .x = bad, .y = f->y, .factor = 1), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("x is not a valid tensor");
    bad = f->x;
    bad.dim[0] = -4;
    EXPECT_STATUS(BG_CALL(scale, f->stream, .x = f->x, .y = bad, .factor = 1), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("y is not a valid tensor");
    bad = f->x;
    bad.dtype = (bg_dtype)77;
    EXPECT_STATUS(BG_CALL(scale, f->stream, .x = bad, .y = f->y, .factor = 1), BG_ERROR_INVALID_ARGUMENT);
    bad = bg_tensor_1d(NULL, BG_F32, N);
    split_args a = {.x = f->x, .first = f->y, .parts = {f->y, f->y, f->y}, .count = bad};
    EXPECT_FAILS(BG_CALL_ARGS(split, f->stream, &a), BG_ERROR_INVALID_ARGUMENT, "count has no memory");
}
