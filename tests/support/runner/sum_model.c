#include "sum_model.h"

/* y = 2 x, captured. */
BG_DEFINE_OP(double_rows)
{
    return from_cuda(bgk_add(args->y.data, args->x.data, args->x.data, (size_t)args->rows * WIDTH, stream));
}

static sum_model *current;

/* x += the context's variant + 1, eagerly. */
BG_EAGER_OP(add_variant, BG_INOUT(x), BG_VALUE(int, rows))
{
    const bg_forward_context *context = bg_forward_context_get();
    float *ones = (float *)current->scale_of_rows.data;

    current->eager_bodies++;
    current->body_had_context = context != NULL;
    if (context == NULL)
        return BG_ERROR_OP;
    current->in_body = *context;
    current->nested_was_busy = run_bare(current->runner, mixed_batch(1)) == BG_ERROR_BUSY;
    for (int i = 0; i <= context->batch.variant; i++)
        TRY_BG(from_cuda(bgk_add(args->x.data, args->x.data, ones, (size_t)args->rows * WIDTH, stream)));
    return BG_OK;
}

bg_status sum_model_forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    sum_model *m = user;
    int rows = context->padded_tokens;

    m->passes++;
    m->last = *context;
    if (m->fail_above > 0 && rows > m->fail_above)
        return m->fail_status;
    if (m->counted != NULL)
        BG_CALL(double_rows, stream, .x = *m->counted, .y = *m->counted, .rows = 1);
    BG_CALL(double_rows, stream, .x = m->x, .y = m->hidden, .rows = rows);
    BG_CALL(add_variant, stream, .x = m->hidden, .rows = rows);
    return from_cuda(cudaMemcpyAsync(m->y.data, m->hidden.data, (size_t)rows * WIDTH * sizeof(float),
                                     cudaMemcpyDeviceToDevice, stream));
}

void sum_model_open_for(fixture *f, sum_model *m, const bg_runner_config *config, bg_padding padding, double value,
                        int rows)
{
    int64_t dim[] = {0, WIDTH}, fixed[] = {rows, WIDTH};

    current = m;
    bg_runner_destroy(m->runner);
    EXPECT_OK(bg_runner_create(&m->runner, config, sum_model_forward, m, f->stream));
    EXPECT_OK(bg_runner_add_input(m->runner, "x", BG_F32, 2, dim, padding, value, &m->x));
    EXPECT_OK(bg_runner_add_output(m->runner, "y", BG_F32, 2, dim, &m->y));
    EXPECT_OK(bg_runner_add_buffer(m->runner, "hidden", BG_F32, 2, dim, &m->hidden));
    EXPECT_OK(bg_runner_add_buffer(m->runner, "ones", BG_F32, 2, fixed, &m->scale_of_rows));
    EXPECT_CUDA(bgk_fill(m->scale_of_rows.data, 1, (size_t)rows * WIDTH, f->stream));
}

void sum_model_open(fixture *f, sum_model *m, const bg_runner_config *config)
{
    sum_model_open_for(f, m, config, BG_PAD_ZERO, 0, TOKENS_MAX);
}

void sum_model_start(fixture *f, sum_model *m, const bg_runner_config *config)
{
    sum_model_open(f, m, config);
    EXPECT_OK(bg_runner_capture(m->runner));
}

void close_sum_model(sum_model *m)
{
    bg_runner_destroy(m->runner);
    m->runner = NULL;
}

void expect_run(fixture *f, sum_model *m, bg_batch batch, float first)
{
    float rows[TOKENS_MAX * WIDTH], found[TOKENS_MAX * WIDTH];
    bg_tensor input = bg_tensor_2d(rows, BG_F32, batch.tokens, WIDTH);
    bg_tensor output = bg_tensor_2d(found, BG_F32, batch.tokens, WIDTH);

    for (int i = 0; i < batch.tokens * WIDTH; i++)
        rows[i] = first + (float)i;
    EXPECT_OK(bg_runner_run(m->runner, &batch, &input, &output, m));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    for (int i = 0; i < batch.tokens * WIDTH; i++)
        if (found[i] != 2 * rows[i] + 1 + (float)batch.variant)
            fail_msg("%d tokens: element %d is %g, not %g", batch.tokens, i, found[i], 2 * rows[i] + 1 + batch.variant);
}

void expect_eager(fixture *f, sum_model *m, bg_batch batch, bg_reason why)
{
    uint64_t before = counters_now().eager[why];
    EXPECT_REASON(m->runner, batch, why);
    expect_run(f, m, batch, 3);
    assert_int_equal(counters_now().eager[why], before + 1);
    assert_int_equal(m->last.mode, BG_MODE_NONE);
    assert_int_equal(m->last.padded_tokens, batch.tokens);
    assert_int_equal(m->last.phase, BG_PHASE_PLAIN);
}
