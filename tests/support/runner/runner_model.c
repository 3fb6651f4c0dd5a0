#include "runner_model.h"

BG_OP(runner_double, BG_IN(x), BG_OUT(y), BG_VALUE(int, rows))
{
    return from_cuda(bgk_add(args->y.data, args->x.data, args->x.data, (size_t)args->rows * WIDTH, stream));
}

BG_EAGER_OP(runner_seen, BG_VALUE(runner_model *, m))
{
    (void)stream;
    return bg_forward_context_get() != NULL ? args->m->body_status : BG_ERROR_OP;
}

bg_status runner_model_forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    runner_model *m = user;
    if (m->counted != NULL)
        TRY_BG(BG_CALL(runner_double, stream, .x = *m->counted, .y = *m->counted, .rows = 1));
    TRY_BG(BG_CALL(runner_double, stream, .x = m->x, .y = m->y, .rows = context->padded_tokens));
    TRY_BG(BG_CALL(runner_seen, stream, .m = m));
    return m->also != NULL ? m->also(m, context, stream) : BG_OK;
}

/* Where the context is noted in replays, too. */
bg_status runner_model_note(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    runner_model *m = user;
    (void)stream;
    m->last = *context;
    return BG_OK;
}

void runner_model_open(fixture *f, runner_model *m, const bg_runner_config *config)
{
    const int64_t dim[] = {0, WIDTH};
    bg_runner_config noting;

    if (config->callback_user == NULL) {
        noting = *config;
        noting.prepare = config->prepare != NULL ? config->prepare : runner_model_note;
        noting.callback_user = m;
        config = &noting;
    }
    bg_runner_destroy(m->runner);
    EXPECT_OK(bg_runner_create(&m->runner, config, runner_model_forward, m, f->stream));
    EXPECT_OK(bg_runner_add_input(m->runner, "x", BG_F32, 2, dim, BG_PAD_REPEAT_LAST, 0, &m->x));
    EXPECT_OK(bg_runner_add_output(m->runner, "y", BG_F32, 2, dim, &m->y));
}

void runner_model_start(fixture *f, runner_model *m, const bg_runner_config *config)
{
    runner_model_open(f, m, config);
    EXPECT_OK(bg_runner_capture(m->runner));
}

void close_runner_model(runner_model *m)
{
    bg_runner_destroy(m->runner);
    m->runner = NULL;
}

void runner_model_run(fixture *f, const runner_model *m, int tokens)
{
    float rows[TOKENS_MAX * WIDTH], found[TOKENS_MAX * WIDTH];
    bg_batch batch = mixed_batch(tokens);
    bg_tensor input = bg_tensor_2d(rows, BG_F32, tokens, WIDTH), output = bg_tensor_2d(found, BG_F32, tokens, WIDTH);

    for (int i = 0; i < tokens * WIDTH; i++)
        rows[i] = (float)(i + tokens);
    EXPECT_OK(bg_runner_run(m->runner, &batch, &input, &output, NULL));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    for (int i = 0; i < tokens * WIDTH; i++)
        if (found[i] != 2 * rows[i])
            fail_msg("%d tokens: element %d is %g, not %g", tokens, i, (double)found[i], (double)(2 * rows[i]));
    assert_null(bg_forward_context_get());
    assert_int_equal(bg_current_phase(), BG_PHASE_PLAIN);
}

void expect_run_in(fixture *f, const runner_model *m, int tokens, bg_mode mode, const char *file, int line)
{
    runner_model_run(f, m, tokens);
    _assert_int_equal((uintmax_t)m->last.mode, (uintmax_t)mode, file, line);
}
