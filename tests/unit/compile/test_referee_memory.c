/* Memory of a run in a proof: what outputs, scratch and inputs hold, and how tensors share memory. In each pass y is
 * made of x, and z of y; the rules are wrong but for what a first pass has left, or right but for what a pattern would
 * do. */
#include "tests/support/runner/shared.h"

static struct {
    const char *op; /* whose rule may be used */
    int row;        /* of x, which the second call of forward_rows reads */
    void *hidden;   /* device memory */
    bool keep_tail; /* rows that are not written stay (no zero_tail) */
} now;

enum { HALF = N / 2, ROW = 16 };

static bg_status doubled(const bg_tensor *y, const bg_tensor *x, size_t count, cudaStream_t stream)
{
    return from_cuda(bgk_scale(y->data, x->data, 2, count, stream));
}

/* ---- calls ---- */

BG_OP(made, BG_IN(x), BG_OUT(y))
{
    return doubled(&args->y, &args->x, (size_t)args->y.dim[0], stream);
}

BG_OP(made_in_part, BG_IN(x), BG_OUT(y))
{
    return doubled(&args->y, &args->x, HALF, stream);
}

BG_OP(made_again, BG_OUT(y), BG_IN(x)) /* y before x, which is the same memory */
{
    return doubled(&args->y, &args->x, N, stream);
}

BG_OP(masked, BG_IN(y), BG_IN(mask), BG_OUT(z))
{
    return from_cuda(bgk_silu_gate(args->z.data, args->mask.data, args->y.data, N, stream));
}

BG_OP(hidden, BG_VALUE(int, number)) /* writes what no field names */
{
    (void)args;
    return from_cuda(cudaMemsetAsync(now.hidden, 0, 1, stream));
}

/* ---- ops that stand for them ---- */

BG_OP(leaves_y, BG_IN(x), BG_OUT(y), BG_OUT(z))
{
    return from_cuda(bgk_scale(args->z.data, args->x.data, 8, N, stream));
}

BG_RULE(leaves_y, made, made_again, made)
{
    *args = (leaves_y_args){.x = a0->x, .y = a0->y, .z = a2->y};
    return strcmp(now.op, "leaves_y") == 0;
}

BG_OP(first_row, BG_IN(x), BG_OUT(y), BG_OUT(z))
{
    TRY_BG(doubled(&args->y, &args->x, ROW, stream));
    return from_cuda(bgk_scale(args->z.data, (float *)args->x.data + ROW, 2, ROW, stream));
}

BG_RULE(first_row, made, made)
{
    *args = (first_row_args){.x = a0->x, .y = a0->y, .z = a1->y};
    return strcmp(now.op, "first_row") == 0;
}

BG_OP(two_rows_and_all, BG_IN(x), BG_OUT(y0), BG_OUT(y1), BG_OUT(z)) /* takes the second row */
{
    TRY_BG(doubled(&args->y0, &args->x, ROW, stream));
    TRY_BG(from_cuda(bgk_scale(args->y1.data, (float *)args->x.data + ROW, 2, ROW, stream)));
    return doubled(&args->z, &args->x, N, stream);
}

BG_RULE(two_rows_and_all, made, made, made)
{
    *args = (two_rows_and_all_args){.x = a2->x, .y0 = a0->y, .y1 = a1->y, .z = a2->y};
    return strcmp(now.op, "two_rows_and_all") == 0;
}

BG_OP(set_index, BG_OUT(index))
{
    return from_cuda(bgk_set_counter(args->index.data, 5, stream));
}

BG_OP(pick, BG_IN(x), BG_IN(index), BG_OUT(y))
{
    return from_cuda(bgk_embedding(args->y.data, args->x.data, args->index.data, 1, 1, N, stream));
}

BG_OP(add_to_index, BG_IN(x), BG_OUT(index), BG_OUT(y))
{
    TRY_BG(from_cuda(bgk_increment(args->index.data, 5, stream)));
    return from_cuda(bgk_embedding(args->y.data, args->x.data, args->index.data, 1, 1, N, stream));
}

BG_RULE(add_to_index, set_index, pick)
{
    *args = (add_to_index_args){.x = a1->x, .index = a0->index, .y = a1->y};
    return true;
}

BG_OP(half_of_both, BG_IN(x), BG_OUT(y), BG_OUT(z))
{
    TRY_BG(doubled(&args->y, &args->x, HALF, stream));
    return from_cuda(bgk_scale(args->z.data, args->x.data, 4, HALF, stream));
}

BG_RULE(half_of_both, made_in_part, made)
{
    *args = (half_of_both_args){.x = a0->x, .y = a0->y, .z = a1->y};
    return strcmp(now.op, "half_of_both") == 0;
}

BG_OP(by_zeroed_scratch, BG_IN(x), BG_OUT(y))
{
    void *sum;
    TRY_BG(bg_scratch(args, N * sizeof(float), &sum));
    TRY_BG(from_cuda(bgk_add(sum, sum, args->x.data, N, stream)));
    TRY_BG(from_cuda(bgk_scale(args->y.data, sum, 2, N, stream)));
    return from_cuda(bgk_fill(sum, 0, N, stream));
}

BG_RULE(by_zeroed_scratch, made)
{
    *args = (by_zeroed_scratch_args){.x = a0->x, .y = a0->y};
    return strcmp(now.op, "by_zeroed_scratch") == 0;
}

BG_OP(made_and_masked, BG_IN(x), BG_IN(mask), BG_OUT(y), BG_OUT(z))
{
    TRY_BG(doubled(&args->y, &args->x, HALF, stream));
    TRY_BG(from_cuda(bgk_fill(args->z.data, 0, N, stream)));
    return from_cuda(bgk_silu_gate(args->z.data, args->mask.data, args->y.data, HALF, stream));
}

BG_RULE(made_and_masked, made_in_part, masked)
{
    *args = (made_and_masked_args){.x = a0->x, .mask = a1->mask, .y = a0->y, .z = a1->z};
    return strcmp(now.op, "made_and_masked") == 0;
}

BG_OP(fewer_rows, BG_IN(x), BG_OUT(y))
{
    args->y.dim[0] = HALF; /* the graph sets the others to zero (zero_tail), which the call does not */
    return doubled(&args->y, &args->x, HALF, stream);
}

BG_RULE(fewer_rows, made_in_part)
{
    *args = (fewer_rows_args){.x = a0->x, .y = a0->y};
    return strcmp(now.op, "fewer_rows") == 0;
}

BG_OP(something_else, BG_VALUE(int, number))
{
    (void)args;
    return from_cuda(cudaMemsetAsync(now.hidden, 1, 1, stream));
}

BG_RULE(something_else, hidden)
{
    *args = (something_else_args){.number = a0->number};
    return strcmp(now.op, "something_else") == 0;
}

/* ---- passes ---- */

static bg_status forward_three(void *user, cudaStream_t stream)
{
    fixture *f = user;
    TRY_BG(BG_CALL(made, stream, .x = f->x, .y = f->y));
    TRY_BG(BG_CALL(made_again, stream, .y = f->y, .x = f->y));
    return BG_CALL(made, stream, .x = f->y, .y = f->z);
}

static bg_status forward_rows(void *user, cudaStream_t stream)
{
    fixture *f = user;
    bg_tensor row = bg_tensor_1d((float *)f->x.data + (ptrdiff_t)now.row * ROW, BG_F32, ROW);
    TRY_BG(BG_CALL(made, stream, .x = f->x, .y = bg_tensor_1d(f->y.data, BG_F32, ROW)));
    return BG_CALL(made, stream, .x = row, .y = bg_tensor_1d(f->z.data, BG_F32, ROW));
}

static bg_status forward_rows_and_all(void *user, cudaStream_t stream)
{
    fixture *f = user;
    float *x = f->x.data, *y = f->y.data;
    TRY_BG(BG_CALL(made, stream, .x = bg_tensor_1d(x, BG_F32, ROW), .y = bg_tensor_1d(y, BG_F32, ROW)));
    TRY_BG(BG_CALL(made, stream, .x = bg_tensor_1d(x + (ptrdiff_t)now.row * ROW, BG_F32, ROW),
                   .y = bg_tensor_1d(y + ROW, BG_F32, ROW)));
    return BG_CALL(made, stream, .x = f->x, .y = f->z);
}

static bg_status forward_index(void *user, cudaStream_t stream)
{
    fixture *f = user;
    bg_tensor index = bg_tensor_1d(now.hidden, BG_I32, 1), y = bg_tensor_1d(f->y.data, BG_F32, 1);
    TRY_BG(BG_CALL(set_index, stream, .index = index));
    return BG_CALL(pick, stream, .x = f->x, .index = index, .y = y);
}

static bg_status forward_parts(void *user, cudaStream_t stream)
{
    fixture *f = user;
    TRY_BG(BG_CALL(made_in_part, stream, .x = f->x, .y = f->y));
    return BG_CALL(made, stream, .x = f->y, .y = f->z);
}

static bg_status forward_mask(void *user, cudaStream_t stream)
{
    fixture *f = user;
    static float *mask;
    if (mask == NULL) {
        TRY_BG(from_cuda(cudaMalloc((void **)&mask, N * sizeof *mask)));
        TRY_BG(from_cuda(bgk_fill(mask, 0, N, stream)));
        TRY_BG(from_cuda(bgk_fill(mask, 1, HALF, stream)));
    }
    TRY_BG(BG_CALL(made_in_part, stream, .x = f->x, .y = f->y));
    return BG_CALL(masked, stream, .y = f->y, .mask = bg_tensor_1d(mask, BG_F32, N), .z = f->z);
}

static bg_status forward_one(void *user, cudaStream_t stream)
{
    fixture *f = user;
    return BG_CALL(made, stream, .x = f->x, .y = f->y);
}

static bg_status forward_part(void *user, cudaStream_t stream)
{
    fixture *f = user;
    return BG_CALL(made_in_part, stream, .x = f->x, .y = f->y);
}

static bg_status forward_hidden(void *user, cudaStream_t stream)
{
    (void)user;
    return BG_CALL(hidden, stream, .number = 1);
}

/* A first pass leaves the right results. x counts from 0. */
static bg_fusion_state prove(fixture *f, bg_forward pass, const char *op)
{
    static bg_fusion fusion;
    float x[N];
    OWNED_GRAPH(graph);

    now.op = op;
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    EXPECT_CUDA(cudaMemcpyAsync(f->x.data, x, sizeof x, cudaMemcpyHostToDevice, f->stream));
    if (pass != forward_index)
        EXPECT_OK(bg_forward_run(pass, f, f->stream, NULL));
    EXPECT_OK(
        bg_capture_forward(&graph, pass, f, f->stream, OPTIONS(.level = BG_LEVEL_ONCE, .zero_tail = !now.keep_tail)));
    for (int i = 0;; i++) {
        fusion = (bg_fusion)BG_FUSION_INIT;
        EXPECT_OK(bg_graph_get_fusion(graph, i, &fusion));
        if (strcmp(fusion.op, op) == 0)
            return fusion.state;
    }
}

FIXTURE_TEST(test_output_that_an_earlier_call_has_written)
{
    assert_int_equal(prove(f, forward_three, "leaves_y"), BG_FUSION_DIFFERS);
}

/* The verdict for one row says nothing about another one. On a GPU no op of these needs to be faster. */
FIXTURE_TEST(test_views)
{
    now.row = 1;
    assert_int_not_equal(prove(f, forward_rows, "first_row"), BG_FUSION_DIFFERS);
    now.row = 2;
    assert_int_equal(prove(f, forward_rows, "first_row"), BG_FUSION_DIFFERS);
    now.row = 1;
    assert_int_not_equal(prove(f, forward_rows_and_all, "two_rows_and_all"), BG_FUSION_DIFFERS);
    now.row = 2;
    assert_int_equal(prove(f, forward_rows_and_all, "two_rows_and_all"), BG_FUSION_DIFFERS);
}

/* Adds to an integer that is 0 before, where the calls set it. */
FIXTURE_TEST(test_integers)
{
    EXPECT_CUDA(cudaMalloc(&now.hidden, sizeof(int)));
    EXPECT_CUDA(cudaMemset(now.hidden, 0, sizeof(int)));
    assert_int_equal(prove(f, forward_index, "add_to_index"), BG_FUSION_DIFFERS);
    EXPECT_CUDA(cudaFree(now.hidden));
}

FIXTURE_TEST(test_outputs_made_of_outputs)
{
    assert_int_equal(prove(f, forward_parts, "half_of_both"), BG_FUSION_DIFFERS);
}

FIXTURE_TEST(test_scratch)
{
    assert_int_equal(prove(f, forward_one, "by_zeroed_scratch"), BG_FUSION_DIFFERS);
}

FIXTURE_TEST(test_mask)
{
    bg_fusion_state state = prove(f, forward_mask, "made_and_masked");
    assert_true(state == BG_FUSION_APPLIED || state == BG_FUSION_SLOWER);
}

FIXTURE_TEST(test_zero_tail)
{
    bg_op_attributes attributes = BG_OP_ATTRIBUTES_INIT;
    attributes.allow_fewer_rows = true;
    EXPECT_OK(bg_op_set_attributes("fewer_rows", &attributes));
    now.keep_tail = true;
    assert_int_not_equal(prove(f, forward_part, "fewer_rows"), BG_FUSION_DIFFERS);
    now.keep_tail = false; /* which is another question */
    assert_int_equal(prove(f, forward_part, "fewer_rows"), BG_FUSION_DIFFERS);
}

FIXTURE_TEST(test_no_tensors)
{
    now.hidden = f->z.data;
    assert_int_equal(prove(f, forward_hidden, "something_else"), BG_FUSION_UNPROVEN);
}
