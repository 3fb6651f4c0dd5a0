/* The runner: buckets, dispatch, variants, callbacks, what fails. */
#include "tests/support/test.h"
#include "tests/support/runner/sum_model.h"

#include <stdlib.h>
#include <string.h>

/* ---- running ---- */

FIXTURE_TEST(test_batches_run_by_the_smallest_bucket)
{
    bg_runner_config config = sum_model_config(BG_MODE_PIECEWISE, "2,8,32");
    bg_reason reason;
    bg_batch batch;
    sum_model m = {0};

    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_int_equal(bg_runner_bucket_count(m.runner), 3);
    for (int tokens = 1; tokens <= 32; tokens++) {
        int bucket = tokens <= 2 ? 2 : tokens <= 8 ? 8 : 32;
        uint64_t before = counters_now().replays[BG_MODE_PIECEWISE];
        batch = mixed_tokens(tokens);
        assert_true(bg_runner_can_run(m.runner, &batch, &reason));
        assert_int_equal(reason, BG_REASON_NONE);
        expect_run(f, &m, batch, (float)tokens);
        assert_int_equal(counters_now().replays[BG_MODE_PIECEWISE], before + 1);
        assert_true(m.body_had_context && m.nested_was_busy);
        assert_int_equal(m.in_body.padded_tokens, bucket);
        assert_int_equal(m.in_body.batch.tokens, tokens);
        assert_int_equal(m.in_body.mode, BG_MODE_PIECEWISE);
        assert_int_equal(m.in_body.phase, BG_PHASE_REPLAY);
        assert_ptr_equal(m.in_body.user, &m);
    }
    assert_int_equal(m.in_body.replay, 23); /* of the bucket of 32 */
    assert_null(bg_forward_context_get());
    EXPECT_ERROR("not in a run of a runner");
    bg_runner_destroy(m.runner);
}

static bool veto_odd(void *user, const bg_batch *batch, const char **why)
{
    (void)user;
    *why = "odd";
    return batch->tokens % 2 == 1;
}

FIXTURE_TEST(test_eager_runs_and_their_reasons)
{
    bg_runner_config config = sum_model_config(BG_MODE_PIECEWISE, "4,16");
    bg_batch batch;
    sum_model m = {0};

    config.max_padding = 2;
    config.veto = veto_odd;
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    expect_eager(f, &m, mixed_tokens(4), BG_REASON_NOT_CAPTURED);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_eager(f, &m, mixed_tokens(18), BG_REASON_TOO_LARGE);
    expect_eager(f, &m, mixed_tokens(6), BG_REASON_PADDING);
    expect_eager(f, &m, mixed_tokens(1), BG_REASON_PADDING);
    expect_eager(f, &m, mixed_tokens(9), BG_REASON_VETO);
    batch = mixed_tokens(9);
    assert_false(bg_runner_can_run(m.runner, &batch, NULL));
    EXPECT_ERROR("config.veto rejects the batch: odd");
    expect_run(f, &m, mixed_tokens(8), 1);
    bg_runner_destroy(m.runner);

    config = sum_model_config(BG_MODE_NONE, "4,16");
    m = (sum_model){0};
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_eager(f, &m, mixed_tokens(4), BG_REASON_MODE_NONE);
    bg_runner_destroy(m.runner);
}

/* The static buffers grow where they are: graphs that hold their addresses go on. */
FIXTURE_TEST(test_batches_above_max_tokens)
{
    enum { ROWS = 150000 }; /* more than a page */
    static float rows[ROWS * WIDTH], found[ROWS * WIDTH];
    bg_runner_config config = sum_model_config(BG_MODE_PIECEWISE, "4,16");
    bg_batch batch = mixed_tokens(ROWS);
    bg_tensor input = bg_tensor_2d(rows, BG_F32, ROWS, WIDTH), output = bg_tensor_2d(found, BG_F32, ROWS, WIDTH);
    bg_reason reason;
    float *own;
    sum_model m = {0};

    sum_model_open_for(f, &m, &config, BG_PAD_ZERO, 0, ROWS);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_false(bg_runner_can_run(m.runner, &batch, &reason));
    assert_int_equal(reason, BG_REASON_TOO_LARGE);
    for (int i = 0; i < ROWS * WIDTH; i++)
        rows[i] = (float)(i % 1000);
    EXPECT_OK(bg_runner_run(m.runner, &batch, &input, &output, NULL));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    for (int i = 0; i < ROWS * WIDTH; i++)
        if (found[i] != 2 * rows[i] + 1)
            fail_msg("element %d is %g, not %g", i, found[i], 2 * rows[i] + 1);
    expect_run(f, &m, mixed_tokens(3), 1);
    bg_runner_destroy(m.runner);

    EXPECT_CUDA(cudaMalloc((void **)&own, TOKENS_MAX * WIDTH * sizeof(float)));
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_bind_input(m.runner, "x", own, &m.x));
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, &input, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("bound to the caller's memory of 64 rows");
    batch.tokens = (1 << 24) + 1;
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    bg_runner_destroy(m.runner);
    EXPECT_CUDA(cudaFree(own));
}

/* ---- variants, lazy buckets, failures ---- */

FIXTURE_TEST(test_variants)
{
    bg_runner_config config = sum_model_config(BG_MODE_FULL, "4");
    bg_batch batch = mixed_tokens(3);
    sum_model m = {0};

    config.variants = 3;
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_int_equal(bg_runner_bucket_count(m.runner), 3);
    for (batch.variant = 2; batch.variant >= 0; batch.variant--)
        expect_run(f, &m, batch, 5);
    batch.variant = 3;
    expect_eager(f, &m, batch, BG_REASON_NOT_CAPTURED);
    bg_runner_destroy(m.runner);
}

FIXTURE_TEST(test_lazy)
{
    bg_runner_config config = sum_model_config(BG_MODE_PIECEWISE, "4,16");
    bg_batch batch = mixed_tokens(3);
    uint64_t before = counters_now().captures;
    float rows[3 * WIDTH] = {7, 8, 9};
    sum_model m = {0};

    config.lazy = true;
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_int_equal(counters_now().captures, before);
    assert_true(bg_runner_can_run(m.runner, &batch, NULL));
    /* What lies in the static buffer already outlives the capture. */
    EXPECT_CUDA(cudaMemcpyAsync(m.x.data, rows, sizeof rows, cudaMemcpyHostToDevice, f->stream));
    EXPECT_OK(bg_runner_run(m.runner, &batch, NULL, NULL, NULL));
    EXPECT_CUDA(cudaMemcpyAsync(rows, m.y.data, sizeof rows, cudaMemcpyDeviceToHost, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    assert_true(rows[0] == 15 && rows[1] == 17 && rows[2] == 19);
    assert_int_equal(counters_now().captures, before + 1);
    expect_run(f, &m, mixed_tokens(4), 1);
    assert_int_equal(counters_now().captures, before + 1);
    expect_run(f, &m, mixed_tokens(5), 1);
    assert_int_equal(counters_now().captures, before + 2);
    bg_runner_destroy(m.runner);
}

FIXTURE_TEST(test_a_bucket_fails)
{
    bg_runner_config config = sum_model_config(BG_MODE_PIECEWISE, "4,16");
    bg_bucket_info info = BG_BUCKET_INFO_INIT;
    sum_model m = {0};

    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    m.fail_above = 8;
    m.fail_status = BG_ERROR_TIMEOUT;
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_OK(bg_runner_get_bucket(m.runner, 0, &info));
    assert_false(info.captured);
    assert_non_null(strstr(info.failure, "BG_ERROR_TIMEOUT"));
    expect_run(f, &m, mixed_tokens(4), 1);
    m.fail_above = 0;
    expect_eager(f, &m, mixed_tokens(9), BG_REASON_CAPTURE_FAILED);
    EXPECT_OK(bg_runner_capture(m.runner)); /* another attempt */
    EXPECT_OK(bg_runner_get_bucket(m.runner, 0, &info));
    assert_true(info.captured);
    expect_run(f, &m, mixed_tokens(9), 1);
    m.fail_above = 1;
    EXPECT_STATUS(bg_runner_capture(m.runner), BG_ERROR_TIMEOUT);
    EXPECT_ERROR("no bucket could be captured");
    m.fail_above = 0;
    expect_eager(f, &m, mixed_tokens(4), BG_REASON_CAPTURE_FAILED);
    bg_runner_destroy(m.runner);
}

/* ---- inputs in place, outputs as views, state ---- */

FIXTURE_TEST(test_bound_inputs_and_views)
{
    bg_runner_config config = sum_model_config(BG_MODE_PIECEWISE, "4");
    bg_batch batch = mixed_tokens(3);
    float rows[3 * WIDTH] = {1, 2, 3}, found[3 * WIDTH];
    bg_tensor output = {.data = NULL};
    bg_tensor input;
    float *own;
    sum_model m = {0};

    EXPECT_CUDA(cudaMalloc((void **)&own, TOKENS_MAX * WIDTH * sizeof(float)));
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_STATUS(bg_runner_bind_input(m.runner, "z", own, &m.x), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("bg_runner_bind_input: the runner has no input z; declare it");
    EXPECT_STATUS(bg_runner_bind_input(m.runner, "X", own, &m.x), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("bg_runner_bind_input: the runner has no input X (did you mean x?); declare it");
    EXPECT_OK(bg_runner_bind_input(m.runner, "x", own, &m.x));
    assert_ptr_equal(m.x.data, own);
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_STATUS(bg_runner_bind_input(m.runner, "x", own, &m.x), BG_ERROR_BUSY);
    EXPECT_CUDA(cudaMemcpyAsync(own, rows, sizeof rows, cudaMemcpyHostToDevice, f->stream));
    input = bg_tensor_2d(own, BG_F32, 3, WIDTH);
    EXPECT_OK(bg_runner_run(m.runner, &batch, &input, &output, NULL));
    assert_ptr_equal(output.data, m.y.data);
    assert_int_equal(output.dim[0], 3);
    batch = mixed_tokens(2); /* the view of one run asks for that of the next */
    input.dim[0] = 2;
    EXPECT_OK(bg_runner_run(m.runner, &batch, &input, &output, NULL));
    assert_ptr_equal(output.data, m.y.data);
    assert_int_equal(output.dim[0], 2);
    EXPECT_CUDA(cudaMemcpyAsync(found, output.data, sizeof found, cudaMemcpyDeviceToHost, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    assert_true(found[0] == 3 && found[1] == 5 && found[2] == 7);
    expect_run(f, &m, mixed_tokens(2), 4); /* from elsewhere: copied, and said once */
    expect_run(f, &m, mixed_tokens(3), 5);
    bg_runner_destroy(m.runner);
    EXPECT_CUDA(cudaFree(own));
}

FIXTURE_TEST(test_state_is_put_back)
{
    bg_runner_config config = sum_model_config(BG_MODE_PIECEWISE, "4");
    float first;
    sum_model m = {.counted = &f->x};

    put(&f->x, 42);
    config.state = &f->x;
    config.state_count = 1;
    config.warmups = 3;
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_int_equal(m.passes, 4);
    assert_true(get(&f->x) == 42);
    bg_runner_destroy(m.runner);
    config.lazy = true;
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    put(&f->x, 42);
    expect_run(f, &m, mixed_tokens(3), 1);
    EXPECT_CUDA(cudaMemcpy(&first, f->x.data, sizeof first, cudaMemcpyDeviceToHost));
    assert_true(first == 84); /* the run's own pass alone */
    bg_runner_destroy(m.runner);
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
    bg_runner_config config = sum_model_config(BG_MODE_PIECEWISE, "4,16");
    called c = {{0}, 0};
    bg_batch batch = mixed_tokens(5);
    sum_model m = {0};

    config.prepare = prepare;
    config.pad_across_ranks = to_sixteen;
    config.callback_user = &c;
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_int_equal(c.prepared[BG_PHASE_WARMUP], 2);
    assert_int_equal(c.prepared[BG_PHASE_CAPTURE], 2);
    expect_run(f, &m, mixed_tokens(2), 1);
    assert_int_equal(m.in_body.padded_tokens, 16); /* as another rank needs */
    assert_int_equal(c.prepared[BG_PHASE_REPLAY], 1);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("returned 3 for 5 tokens");
    batch = mixed_tokens(6);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_RANKS);
    EXPECT_ERROR("config.pad_across_ranks: the job failed: rank 1 has ended");
    batch = mixed_tokens(7);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_RANKS);
    EXPECT_ERROR("config.pad_across_ranks failed: it returned -2 for 7 tokens, without a message");
    c.fails = 1;
    batch = mixed_tokens(2);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_IO);
    EXPECT_ERROR("config.prepare: it returned BG_ERROR_IO");
    c.fails = 0;
    expect_run(f, &m, mixed_tokens(2), 1);
    bg_runner_destroy(m.runner);
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
    bg_runner_config config = sum_model_config(BG_MODE_PIECEWISE, "4");
    bg_batch batch = mixed_tokens(3);
    bg_tensor input, output;
    sum_model m = {0};

    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT_STATUS(bg_runner_run(m.runner, &bad[i], NULL, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
        assert_false(bg_runner_can_run(m.runner, &bad[i], NULL));
    }
    EXPECT_STATUS(bg_runner_run(NULL, &batch, NULL, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_run(m.runner, NULL, NULL, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    assert_false(bg_runner_can_run(m.runner, NULL, NULL));
    input = bg_tensor_2d(m.hidden.data, BG_F32, 4, WIDTH);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, &input, NULL, NULL), BG_ERROR_SHAPE);
    EXPECT_ERROR("input x has 4 rows, but the batch has 3 tokens");
    input = bg_tensor_2d(m.hidden.data, BG_I32, 3, WIDTH);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, &input, NULL, NULL), BG_ERROR_DTYPE);
    input = bg_tensor_2d(m.hidden.data, BG_F32, 3, WIDTH + 1);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, &input, NULL, NULL), BG_ERROR_SHAPE);
    output = bg_tensor_1d(m.hidden.data, BG_F32, 3);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, &output, NULL), BG_ERROR_SHAPE);
    EXPECT_ERROR("output y has rank 1");
    expect_run(f, &m, batch, 1);
    bg_runner_destroy(m.runner);
}

FIXTURE_TEST(test_bad_declarations)
{
    bg_runner_config config = sum_model_config(BG_MODE_PIECEWISE, "4");
    bg_runner *runner;
    bg_tensor t;
    sum_model m = {0};

    EXPECT_STATUS(bg_runner_create(&runner, NULL, sum_model_forward, &m, f->stream), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_create(&runner, &config, NULL, &m, f->stream), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_create(&runner, &config, sum_model_forward, &m, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_create(NULL, &config, sum_model_forward, &m, f->stream), BG_ERROR_INVALID_ARGUMENT);
    config.schedule = "4,3";
    EXPECT_STATUS(bg_runner_create(&runner, &config, sum_model_forward, &m, f->stream), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("schedule");
    assert_null(runner);
    config.schedule = "4";
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_STATUS(bg_runner_add_input(m.runner, "x", BG_F32, 1, (int64_t[]){0}, BG_PAD_ZERO, 0, &t),
                  BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("already has a buffer named x");
    EXPECT_STATUS(bg_runner_add_output(m.runner, "hidden", BG_F32, 1, (int64_t[]){0}, &t), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_add_input(m.runner, "a", BG_F32, 0, (int64_t[]){0}, BG_PAD_ZERO, 0, &t),
                  BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_add_input(m.runner, "a", BG_F32, 2, (int64_t[]){0, 0}, BG_PAD_ZERO, 0, &t),
                  BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_add_input(m.runner, "a", (bg_dtype)77, 1, (int64_t[]){0}, BG_PAD_ZERO, 0, &t),
                  BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_add_input(m.runner, "a", BG_F32, 1, (int64_t[]){0}, (bg_padding)9, 0, &t),
                  BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_add_buffer(m.runner, "a", BG_F32, 1, (int64_t[]){-1}, &t), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_add_buffer(m.runner, "a", BG_F32, 2, (int64_t[]){0, 0}, &t), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_add_output(m.runner, "a", BG_F32, 3, (int64_t[]){0, INT64_MAX / 2, INT64_MAX / 2}, &t),
                  BG_ERROR_INVALID_ARGUMENT);
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_STATUS(bg_runner_add_input(m.runner, "a", BG_F32, 1, (int64_t[]){0}, BG_PAD_ZERO, 0, &t), BG_ERROR_BUSY);
    EXPECT_STATUS(bg_runner_capture(NULL), BG_ERROR_INVALID_ARGUMENT);
    expect_run(f, &m, mixed_tokens(2), 1);
    bg_runner_destroy(m.runner);
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
            bg_runner_config config = sum_model_config((bg_mode)mode, "4,16");
            bg_bucket_info info = BG_BUCKET_INFO_INIT;
            int passes;
            sum_model m = {0};
            config.debug = cases[i].debug;
            sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
            EXPECT_OK(bg_runner_capture(m.runner));
            EXPECT_OK(bg_runner_get_bucket(m.runner, 0, &info));
            assert_int_equal(info.segments, cases[i].segments[mode]);
            assert_int_equal(info.nodes > 1, cases[i].nodes);
            passes = m.passes;
            expect_run(f, &m, mixed_tokens(3), 1);
            assert_int_equal(m.passes, passes + (cases[i].debug == BG_DEBUG_FORWARD));
            expect_run(f, &m, mixed_tokens(16), 2);
            expect_run(f, &m, mixed_tokens(4), 3);
            bg_runner_destroy(m.runner);
        }
}

FIXTURE_TEST(test_environment)
{
    bg_runner_config config = sum_model_config(BG_MODE_PIECEWISE, "4");
    bg_runner *runner;
    sum_model m = {0};

    assert_int_equal(setenv("BG_RUNNER_SCHEDULE", "2,4,8", 1), 0);
    assert_int_equal(setenv("BG_RUNNER_MODE", "full", 1), 0);
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    assert_int_equal(bg_runner_bucket_count(m.runner), 3);
    assert_int_equal(bg_runner_mode(m.runner), BG_MODE_FULL);
    bg_runner_destroy(m.runner);
    assert_int_equal(setenv("BG_RUNNER_MOOD", "full", 1), 0);
    EXPECT_STATUS(bg_runner_create(&runner, &config, sum_model_forward, &m, f->stream), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("BG_RUNNER_MOOD");
    unsetenv("BG_RUNNER_MOOD");
    unsetenv("BG_RUNNER_MODE");
    unsetenv("BG_RUNNER_SCHEDULE");
}

FIXTURE_TEST(test_figures)
{
    bg_runner_config config = sum_model_config(BG_MODE_PIECEWISE, "4,16");
    bg_bucket_info info = BG_BUCKET_INFO_INIT;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    sum_model m = {0};

    assert_non_null(out);
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    bg_counters_reset();
    expect_run(f, &m, mixed_tokens(3), 1);
    expect_run(f, &m, mixed_tokens(40), 1);
    bg_runner_print(m.runner, out);
    bg_counters_print(out);
    bg_counters_print_json(out);
    fclose(out);
    assert_non_null(strstr(text, "piecewise mixed       16"));
    assert_non_null(strstr(text, "replays: 1 piecewise, 0 full; padding rows: 1\n"));
    assert_non_null(strstr(text, "\"replays\": {\"none\": 0, \"piecewise\": 1, \"full\": 0"));
    assert_non_null(strstr(text, "\"too_large\": 1"));
    free(text);
    EXPECT_OK(bg_runner_get_bucket(m.runner, 1, &info));
    assert_int_equal(info.replays, 1);
    assert_true(info.capture_ms > 0);
    EXPECT_STATUS(bg_runner_get_bucket(m.runner, 2, &info), BG_ERROR_NOT_FOUND);
    EXPECT_STATUS(bg_runner_get_bucket(m.runner, -1, &info), BG_ERROR_NOT_FOUND);
    assert_non_null(bg_runner_pool(m.runner));
    bg_runner_destroy(m.runner);
}
