/* The runner: buckets, dispatch, variants, callbacks, what fails. */
#include "tests/support/runner/sum_model.h"

/* ---- running ---- */

FIXTURE_TEST(test_batches_run_by_the_smallest_bucket)
{
    STARTED_SUM_MODEL(m, f, CONFIG(.schedule = "2,8,32"));

    assert_int_equal(bg_runner_bucket_count(m.runner), 3);
    for (int tokens = 1; tokens <= 32; tokens++) {
        uint64_t before = counters_now().replays[BG_MODE_PIECEWISE];
        EXPECT_REASON(m.runner, mixed_batch(tokens), BG_REASON_NONE);
        expect_run(f, &m, mixed_batch(tokens), (float)tokens);
        assert_int_equal(counters_now().replays[BG_MODE_PIECEWISE], before + 1);
        assert_true(m.body_had_context && m.nested_was_busy);
        assert_int_equal(m.in_body.padded_tokens, tokens <= 2 ? 2 : tokens <= 8 ? 8 : 32);
        assert_int_equal(m.in_body.batch.tokens, tokens);
        assert_int_equal(m.in_body.mode, BG_MODE_PIECEWISE);
        assert_int_equal(m.in_body.phase, BG_PHASE_REPLAY);
        assert_ptr_equal(m.in_body.user, &m);
    }
    assert_int_equal(m.in_body.replay, 23); /* of the bucket of 32 */
    assert_null(bg_forward_context_get());
    EXPECT_ERROR("not in a run of a runner");
}

static bool veto_odd(void *user, const bg_batch *batch, const char **why)
{
    (void)user;
    *why = "odd";
    return batch->tokens % 2 == 1;
}

FIXTURE_TEST(test_eager_runs_and_their_reasons)
{
    OPENED_SUM_MODEL(m, f, CONFIG(.max_padding = 2, .veto = veto_odd));

    expect_eager(f, &m, mixed_batch(4), BG_REASON_NOT_CAPTURED);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_eager(f, &m, mixed_batch(18), BG_REASON_TOO_LARGE);
    expect_eager(f, &m, mixed_batch(6), BG_REASON_PADDING);
    expect_eager(f, &m, mixed_batch(1), BG_REASON_PADDING);
    expect_eager(f, &m, mixed_batch(9), BG_REASON_VETO);
    EXPECT_REASON(m.runner, mixed_batch(9), BG_REASON_VETO);
    EXPECT_ERROR("config.veto rejects the batch: odd");
    expect_run(f, &m, mixed_batch(8), 1);
    sum_model_start(f, &m, CONFIG(.mode = BG_MODE_NONE));
    expect_eager(f, &m, mixed_batch(4), BG_REASON_MODE_NONE);
}

/* The static buffers grow where they are: graphs that hold their addresses go on. */
FIXTURE_TEST(test_batches_above_max_tokens)
{
    enum { ROWS = 150000 }; /* more than a page */
    static float rows[ROWS * WIDTH], found[ROWS * WIDTH];
    bg_batch batch = mixed_batch(ROWS);
    bg_tensor input = bg_tensor_2d(rows, BG_F32, ROWS, WIDTH), output = bg_tensor_2d(found, BG_F32, ROWS, WIDTH);
    OWNED_MEMORY(float, own);
    OWNED_SUM_MODEL(m);

    sum_model_open_for(f, &m, CONFIG(), BG_PAD_ZERO, 0, ROWS);
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_REASON(m.runner, batch, BG_REASON_TOO_LARGE);
    for (int i = 0; i < ROWS * WIDTH; i++)
        rows[i] = (float)(i % 1000);
    EXPECT_OK(bg_runner_run(m.runner, &batch, &input, &output, NULL));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    for (int i = 0; i < ROWS * WIDTH; i++)
        if (found[i] != 2 * rows[i] + 1)
            fail_msg("element %d is %g, not %g", i, found[i], 2 * rows[i] + 1);
    expect_run(f, &m, mixed_batch(3), 1);

    EXPECT_CUDA(cudaMalloc((void **)&own, TOKENS_MAX * WIDTH * sizeof(float)));
    sum_model_open(f, &m, CONFIG());
    EXPECT_OK(bg_runner_bind_input(m.runner, "x", own, &m.x));
    EXPECT_FAILS(bg_runner_run(m.runner, &batch, &input, NULL, NULL), BG_ERROR_INVALID_ARGUMENT,
                 "bound to the caller's memory of 64 rows");
    EXPECT_INVALID(run_bare(m.runner, (bg_batch){.tokens = (1 << 24) + 1, .requests = 1, .max_query_len = ROWS}));
}

/* ---- variants, lazy buckets, failures ---- */

FIXTURE_TEST(test_variants)
{
    bg_batch batch = mixed_batch(3);
    STARTED_SUM_MODEL(m, f, CONFIG(.mode = BG_MODE_FULL, .schedule = "4", .variants = 3));
    assert_int_equal(bg_runner_bucket_count(m.runner), 3);
    for (batch.variant = 2; batch.variant >= 0; batch.variant--)
        expect_run(f, &m, batch, 5);
    batch.variant = 3;
    expect_eager(f, &m, batch, BG_REASON_NOT_CAPTURED);
}

FIXTURE_TEST(test_lazy)
{
    uint64_t before = counters_now().captures;
    float rows[3 * WIDTH] = {7, 8, 9};
    STARTED_SUM_MODEL(m, f, CONFIG(.lazy = true));

    assert_int_equal(counters_now().captures, before);
    EXPECT_REASON(m.runner, mixed_batch(3), BG_REASON_NONE);
    /* What lies in the static buffer already outlives the capture. */
    EXPECT_CUDA(cudaMemcpyAsync(m.x.data, rows, sizeof rows, cudaMemcpyHostToDevice, f->stream));
    EXPECT_OK(run_bare(m.runner, mixed_batch(3)));
    read_device(f, rows, m.y.data, sizeof rows);
    assert_true(rows[0] == 15 && rows[1] == 17 && rows[2] == 19);
    assert_int_equal(counters_now().captures, before + 1);
    expect_run(f, &m, mixed_batch(4), 1);
    assert_int_equal(counters_now().captures, before + 1);
    expect_run(f, &m, mixed_batch(5), 1);
    assert_int_equal(counters_now().captures, before + 2);
}

FIXTURE_TEST(test_a_bucket_fails)
{
    OWNED_SUM_MODEL(m);

    m.fail_above = 8;
    m.fail_status = BG_ERROR_TIMEOUT;
    sum_model_start(f, &m, CONFIG());
    assert_false(bucket_of(m.runner, 0).captured);
    EXPECT_TEXT(bucket_of(m.runner, 0).failure, "BG_ERROR_TIMEOUT");
    expect_run(f, &m, mixed_batch(4), 1);
    m.fail_above = 0;
    expect_eager(f, &m, mixed_batch(9), BG_REASON_CAPTURE_FAILED);
    EXPECT_OK(bg_runner_capture(m.runner)); /* another attempt */
    assert_true(bucket_of(m.runner, 0).captured);
    expect_run(f, &m, mixed_batch(9), 1);
    m.fail_above = 1;
    EXPECT_FAILS(bg_runner_capture(m.runner), BG_ERROR_TIMEOUT, "no bucket could be captured");
    m.fail_above = 0;
    expect_eager(f, &m, mixed_batch(4), BG_REASON_CAPTURE_FAILED);
}

/* ---- inputs in place, outputs as views, state ---- */

FIXTURE_TEST(test_bound_inputs_and_views)
{
    float rows[3 * WIDTH] = {1, 2, 3}, found[3 * WIDTH];
    bg_tensor output = {.data = NULL}, input;
    OWNED_MEMORY(float, own);
    OWNED_SUM_MODEL(m);

    EXPECT_CUDA(cudaMalloc((void **)&own, TOKENS_MAX * WIDTH * sizeof(float)));
    sum_model_open(f, &m, CONFIG(.schedule = "4"));
    EXPECT_FAILS(bg_runner_bind_input(m.runner, "z", own, &m.x), BG_ERROR_NOT_FOUND,
                 "bg_runner_bind_input: the runner has no input z; declare it");
    EXPECT_FAILS(bg_runner_bind_input(m.runner, "X", own, &m.x), BG_ERROR_NOT_FOUND,
                 "bg_runner_bind_input: the runner has no input X (did you mean x?); declare it");
    EXPECT_OK(bg_runner_bind_input(m.runner, "x", own, &m.x));
    assert_ptr_equal(m.x.data, own);
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_STATUS(bg_runner_bind_input(m.runner, "x", own, &m.x), BG_ERROR_BUSY);
    EXPECT_CUDA(cudaMemcpyAsync(own, rows, sizeof rows, cudaMemcpyHostToDevice, f->stream));
    for (int tokens = 3; tokens >= 2; tokens--) { /* the view of one run asks for that of the next */
        bg_batch batch = mixed_batch(tokens);
        input = bg_tensor_2d(own, BG_F32, tokens, WIDTH);
        EXPECT_OK(bg_runner_run(m.runner, &batch, &input, &output, NULL));
        assert_ptr_equal(output.data, m.y.data);
        assert_int_equal(output.dim[0], tokens);
    }
    read_device(f, found, output.data, sizeof found);
    assert_true(found[0] == 3 && found[1] == 5 && found[2] == 7);
    expect_run(f, &m, mixed_batch(2), 4); /* from elsewhere: copied, and said once */
    expect_run(f, &m, mixed_batch(3), 5);
}

FIXTURE_TEST(test_state_is_put_back)
{
    OWNED_SUM_MODEL(m);

    m.counted = &f->x;
    put(&f->x, 42);
    sum_model_start(f, &m, CONFIG(.schedule = "4", .state = &f->x, .state_count = 1, .warmups = 3));
    assert_int_equal(m.passes, 4);
    assert_true(get(&f->x) == 42);
    sum_model_open(f, &m, CONFIG(.schedule = "4", .state = &f->x, .state_count = 1, .warmups = 3, .lazy = true));
    put(&f->x, 42);
    expect_run(f, &m, mixed_batch(3), 1);
    assert_true(first_of(f, f->x.data) == 84); /* the run's own pass alone */
}

/* ---- callbacks ---- */

typedef struct called {
    int prepared[5]; /* by phase */
    int fails;
} called;

static bg_status prepare(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    called *c = user;
    (void)stream;
    c->prepared[context->phase]++;
    assert_ptr_equal(bg_forward_context_get(), context);
    return c->fails ? BG_ERROR_IO : BG_OK;
}

static int to_sixteen(void *user, int tokens)
{
    (void)user;
    if (tokens == 6)
        return bg_report_failure(BG_ERROR_RANKS, "the job", "rank 1 has ended", "see there") == BG_OK ? 16 : -1;
    if (tokens == 7)
        return -2;
    return tokens == 5 ? 3 : 16;
}

FIXTURE_TEST(test_callbacks)
{
    called c = {{0}, 0};
    STARTED_SUM_MODEL(m, f, CONFIG(.prepare = prepare, .pad_across_ranks = to_sixteen, .callback_user = &c));

    assert_int_equal(c.prepared[BG_PHASE_WARMUP], 2);
    assert_int_equal(c.prepared[BG_PHASE_CAPTURE], 2);
    expect_run(f, &m, mixed_batch(2), 1);
    assert_int_equal(m.in_body.padded_tokens, 16); /* as another rank needs */
    assert_int_equal(c.prepared[BG_PHASE_REPLAY], 1);
    EXPECT_FAILS(run_bare(m.runner, mixed_batch(5)), BG_ERROR_INVALID_ARGUMENT, "returned 3 for 5 tokens");
    EXPECT_FAILS(run_bare(m.runner, mixed_batch(6)), BG_ERROR_RANKS,
                 "config.pad_across_ranks: the job failed: rank 1 has ended");
    EXPECT_FAILS(run_bare(m.runner, mixed_batch(7)), BG_ERROR_RANKS,
                 "config.pad_across_ranks failed: it returned -2 for 7 tokens, without a message");
    c.fails = 1;
    EXPECT_FAILS(run_bare(m.runner, mixed_batch(2)), BG_ERROR_IO, "config.prepare: it returned BG_ERROR_IO");
    c.fails = 0;
    expect_run(f, &m, mixed_batch(2), 1);
}

/* ---- bad input ---- */

FIXTURE_TEST(test_bad_batches)
{
    static const bg_batch bad[] = {
        {.tokens = 0, .requests = 1, .max_query_len = 1},
        {.tokens = -1},
        {.tokens = 4, .requests = 5},
        {.tokens = 4, .max_query_len = 5},
        {.tokens = 4, .variant = -1},
        {.tokens = 4, .requests = 3, .max_query_len = 1, .uniform_decode = true},
    };
    bg_batch batch = mixed_batch(3);
    bg_tensor input, output;
    STARTED_SUM_MODEL(m, f, CONFIG(.schedule = "4"));

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT_INVALID(bg_runner_run(m.runner, &bad[i], NULL, NULL, NULL));
        assert_false(bg_runner_can_run(m.runner, &bad[i], NULL));
    }
    EXPECT_INVALID(bg_runner_run(NULL, &batch, NULL, NULL, NULL));
    EXPECT_INVALID(bg_runner_run(m.runner, NULL, NULL, NULL, NULL));
    assert_false(bg_runner_can_run(m.runner, NULL, NULL));
    input = bg_tensor_2d(m.hidden.data, BG_F32, 4, WIDTH);
    EXPECT_FAILS(bg_runner_run(m.runner, &batch, &input, NULL, NULL), BG_ERROR_SHAPE,
                 "input x has 4 rows, but the batch has 3 tokens");
    input = bg_tensor_2d(m.hidden.data, BG_I32, 3, WIDTH);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, &input, NULL, NULL), BG_ERROR_DTYPE);
    input = bg_tensor_2d(m.hidden.data, BG_F32, 3, WIDTH + 1);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, &input, NULL, NULL), BG_ERROR_SHAPE);
    output = bg_tensor_1d(m.hidden.data, BG_F32, 3);
    EXPECT_FAILS(bg_runner_run(m.runner, &batch, NULL, &output, NULL), BG_ERROR_SHAPE, "output y has rank 1");
    expect_run(f, &m, batch, 1);
}

FIXTURE_TEST(test_bad_declarations)
{
    bg_runner *runner;
    bg_tensor t;
    OWNED_SUM_MODEL(m);

    EXPECT_INVALID(bg_runner_create(&runner, NULL, sum_model_forward, &m, f->stream));
    EXPECT_INVALID(bg_runner_create(&runner, CONFIG(), NULL, &m, f->stream));
    EXPECT_INVALID(bg_runner_create(&runner, CONFIG(), sum_model_forward, &m, NULL));
    EXPECT_INVALID(bg_runner_create(NULL, CONFIG(), sum_model_forward, &m, f->stream));
    EXPECT_INVALID(bg_runner_create(&runner, CONFIG(.schedule = "4,3"), sum_model_forward, &m, f->stream));
    EXPECT_ERROR("schedule");
    assert_null(runner);
    sum_model_open(f, &m, CONFIG(.schedule = "4"));
    EXPECT_FAILS(bg_runner_add_input(m.runner, "x", BG_F32, 1, (int64_t[]){0}, BG_PAD_ZERO, 0, &t),
                 BG_ERROR_INVALID_ARGUMENT, "already has a buffer named x");
    EXPECT_INVALID(bg_runner_add_output(m.runner, "hidden", BG_F32, 1, (int64_t[]){0}, &t));
    EXPECT_INVALID(bg_runner_add_input(m.runner, "a", BG_F32, 0, (int64_t[]){0}, BG_PAD_ZERO, 0, &t));
    EXPECT_INVALID(bg_runner_add_input(m.runner, "a", BG_F32, 2, (int64_t[]){0, 0}, BG_PAD_ZERO, 0, &t));
    EXPECT_INVALID(bg_runner_add_input(m.runner, "a", (bg_dtype)77, 1, (int64_t[]){0}, BG_PAD_ZERO, 0, &t));
    EXPECT_INVALID(bg_runner_add_input(m.runner, "a", BG_F32, 1, (int64_t[]){0}, (bg_padding)9, 0, &t));
    EXPECT_INVALID(bg_runner_add_buffer(m.runner, "a", BG_F32, 1, (int64_t[]){-1}, &t));
    EXPECT_INVALID(bg_runner_add_buffer(m.runner, "a", BG_F32, 2, (int64_t[]){0, 0}, &t));
    EXPECT_INVALID(bg_runner_add_output(m.runner, "a", BG_F32, 3, (int64_t[]){0, INT64_MAX / 2, INT64_MAX / 2}, &t));
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_STATUS(bg_runner_add_input(m.runner, "a", BG_F32, 1, (int64_t[]){0}, BG_PAD_ZERO, 0, &t), BG_ERROR_BUSY);
    EXPECT_INVALID(bg_runner_capture(NULL));
    expect_run(f, &m, mixed_batch(2), 1);
    bg_runner_destroy(NULL);
}

FIXTURE_TEST(test_debug_modes)
{
    static const struct {
        bg_debug debug;
        int segments[BG_MODE_FULL + 1]; /* by mode */
        bool nodes;                     /* of the ops; else at most the pass's own copy */
    } cases[] = {
        {BG_DEBUG_FORWARD, {0, 0, 0}, false},
        {BG_DEBUG_OPS, {0, 1, 1}, false},
        {BG_DEBUG_SYNC, {0, 2, 1}, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int mode = BG_MODE_PIECEWISE; mode <= BG_MODE_FULL; mode++) {
            int passes;
            STARTED_SUM_MODEL(m, f, CONFIG(.mode = (bg_mode)mode, .debug = cases[i].debug));
            assert_int_equal(bucket_of(m.runner, 0).segments, cases[i].segments[mode]);
            assert_int_equal(bucket_of(m.runner, 0).nodes > 1, cases[i].nodes);
            passes = m.passes;
            expect_run(f, &m, mixed_batch(3), 1);
            assert_int_equal(m.passes, passes + (cases[i].debug == BG_DEBUG_FORWARD));
            expect_run(f, &m, mixed_batch(16), 2);
            expect_run(f, &m, mixed_batch(4), 3);
        }
}

FIXTURE_TEST(test_environment)
{
    bg_runner *runner;
    OWNED_SUM_MODEL(m);

    set_variable("BG_RUNNER_SCHEDULE", "2,4,8");
    set_variable("BG_RUNNER_MODE", "full");
    sum_model_open(f, &m, CONFIG(.schedule = "4"));
    assert_int_equal(bg_runner_bucket_count(m.runner), 3);
    assert_int_equal(bg_runner_mode(m.runner), BG_MODE_FULL);
    set_variable("BG_RUNNER_MOOD", "full");
    EXPECT_FAILS(bg_runner_create(&runner, CONFIG(), sum_model_forward, &m, f->stream), BG_ERROR_NOT_FOUND,
                 "BG_RUNNER_MOOD");
    unsetenv("BG_RUNNER_MOOD");
    unsetenv("BG_RUNNER_MODE");
    unsetenv("BG_RUNNER_SCHEDULE");
}

FIXTURE_TEST(test_figures)
{
    bg_bucket_info info = BG_BUCKET_INFO_INIT;
    STARTED_SUM_MODEL(m, f, CONFIG());

    bg_counters_reset();
    expect_run(f, &m, mixed_batch(3), 1);
    expect_run(f, &m, mixed_batch(40), 1);
    OWNED_TEXT(text, m.runner, print_figures);
    EXPECT_TEXT(text, "piecewise mixed       16");
    EXPECT_TEXT(text, "replays: 1 piecewise, 0 full; padding rows: 1\n");
    EXPECT_TEXT(text, "\"replays\": {\"none\": 0, \"piecewise\": 1, \"full\": 0");
    EXPECT_TEXT(text, "\"too_large\": 1");
    assert_int_equal(bucket_of(m.runner, 1).replays, 1);
    assert_true(bucket_of(m.runner, 1).capture_ms > 0);
    EXPECT_STATUS(bg_runner_get_bucket(m.runner, 2, &info), BG_ERROR_NOT_FOUND);
    EXPECT_STATUS(bg_runner_get_bucket(m.runner, -1, &info), BG_ERROR_NOT_FOUND);
    assert_non_null(bg_runner_pool(m.runner));
}
