/* The language model through the runner: in every mode, batches of 1 to 8 texts, prompts on, between and above buckets.
 * Every batch is run twice more by plain calls: at the padded size, to be equal bit for bit though the runner's padding
 * holds NaN and the other one zeros; and at its own size, where products have other shapes and roundings. */
#include "examples/llama/engine.h"
#include "tests/support/llama/batch_ways.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* max |difference| / max |reference| between products of different shapes. */
static const double TOLERANCE = 1e-4;

enum { TEXTS = LLAMA_SERVE_MAX_TEXTS, ROWS = BATCH_MAX_ROWS, CAPACITY = BATCH_CAPACITY };

static const llama_config shape = {.layers = 2,
                                   .width = 64,
                                   .hidden = 96,
                                   .heads = 4,
                                   .kv_heads = 2,
                                   .head_dim = 16,
                                   .vocabulary = 101,
                                   .context = 128,
                                   .rope_base = 10000.0f,
                                   .norm_epsilon = 1e-5f};

static const int sizes[] = {1, 2, 4, 6, 8, 16, 24}; /* some batches lie above all of them */

static int set_up(void **state)
{
    cudaStream_t stream;
    EXPECT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    *state = random_model(&shape, 7, CAPACITY, stream);
    return 0;
}

/* ---- three ways side by side ---- */

/* Plain calls over `padded` rows, of which the first `rows` are the batch's. */
static void run_plain(batch_runner *p, const int *token, const int *position, const int *slot, int rows, int padded,
                      float *logits)
{
    int all[3][ROWS] = {{0}}, next[ROWS];
    memcpy(all[0], token, (size_t)rows * sizeof *token);
    memcpy(all[1], position, (size_t)rows * sizeof *position);
    memcpy(all[2], slot, (size_t)rows * sizeof *slot);
    for (int i = rows; i < padded; i++)
        all[2][i] = -1;
    EXPECT_OK(llama_buffers_run(&p->buffers, NULL, all[0], all[1], all[2], padded, logits, next));
}

typedef struct trio {
    llama_engine engine;
    batch_runner padded, exact;
    bg_mode mode;
    int replays[5], eager[7]; /* counted here, as they should be */
    int ties;
} trio;

static void open_trio(trio *t, llama_model *model, const bg_runner_config *config)
{
    memset(t, 0, sizeof *t);
    t->mode = config->mode;
    EXPECT_OK(
        llama_engine_create(&t->engine, llama_get_weights(model), TEXTS, CAPACITY, config, llama_get_stream(model)));
    batch_runner_open(&t->padded, model, TEXTS, WAY_EAGER, false);
    batch_runner_open(&t->exact, model, TEXTS, WAY_EAGER, false);
    EXPECT_OK(bg_runner_capture(t->engine.runner));
}

static void close_trio(trio *t)
{
    llama_engine_free(&t->engine);
    batch_runner_close(&t->padded);
    batch_runner_close(&t->exact);
}

/* What should run the batch: its mode, and the rows of its bucket or its own. */
static bg_mode expected_mode(const trio *t, const llama_serve_batch *batch, int rows, int *padded)
{
    bg_mode mode = batch->uniform_decode ? bg_mode_decode(t->mode) : bg_mode_mixed(t->mode);
    *padded = rows;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && mode != BG_MODE_NONE; i++)
        if (sizes[i] >= rows) {
            *padded = sizes[i];
            return mode;
        }
    return BG_MODE_NONE;
}

static void compare_row(trio *t, const float *found, const float *exact, int next)
{
    int n = shape.vocabulary;
    double bound = TOLERANCE * largest(exact, (size_t)n);
    for (int i = 0; i < n; i++)
        if (!(fabs((double)found[i] - exact[i]) <= bound))
            fail_msg("logit %d is %g, at the batch's own size %g", i, found[i], exact[i]);
    if (next == argmax(exact, n))
        return;
    assert_true(margin(exact, n) <= 2 * bound);
    t->ties++;
}

static bg_status run_trio(void *user, const llama_serve_batch *batch, const int *token, const int *position,
                          const int *slot, int rows, float *logits, int *next)
{
    static float padded_logits[ROWS * 128], exact_logits[ROWS * 128];
    trio *t = user;
    bg_counters before = BG_COUNTERS_INIT, after = BG_COUNTERS_INIT;
    int padded;
    bg_mode mode = expected_mode(t, batch, rows, &padded);
    bg_mode wanted = batch->uniform_decode ? bg_mode_decode(t->mode) : bg_mode_mixed(t->mode);
    bg_reason reason = wanted == BG_MODE_NONE ? BG_REASON_MODE_NONE : BG_REASON_TOO_LARGE;

    assert_true(shape.vocabulary <= 128);
    bg_counters_get(&before);
    EXPECT_OK(llama_engine_run(&t->engine, batch, token, position, slot, rows, logits, next));
    bg_counters_get(&after);
    assert_int_equal(t->engine.last.mode, mode);
    assert_int_equal(t->engine.last.padded_tokens, padded);
    if (mode != BG_MODE_NONE) {
        before.replays[mode]++;
        before.padded_tokens += (uint64_t)(padded - rows);
        t->replays[mode]++;
    } else {
        before.eager[reason]++;
        t->eager[reason]++;
    }
    assert_memory_equal(before.replays, after.replays, sizeof before.replays);
    assert_memory_equal(before.eager, after.eager, sizeof before.eager);
    assert_int_equal(before.padded_tokens, after.padded_tokens);

    run_plain(&t->padded, token, position, slot, rows, padded, padded_logits);
    assert_memory_equal(logits, padded_logits, (size_t)rows * shape.vocabulary * sizeof *logits);
    run_plain(&t->exact, token, position, slot, rows, rows, exact_logits);
    for (int i = 0; i < rows; i++) {
        assert_int_equal(next[i], argmax(logits + (ptrdiff_t)i * shape.vocabulary, shape.vocabulary));
        compare_row(t, logits + (ptrdiff_t)i * shape.vocabulary, exact_logits + (ptrdiff_t)i * shape.vocabulary,
                    next[i]);
    }
    return BG_OK;
}

/* ---- every mode ---- */

static bg_runner_config config_of(bg_mode mode)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    config.mode = mode;
    config.schedule = "1,2,4,6,8,16,24";
    config.max_tokens = ROWS;
    return config;
}

static void check_mode(llama_model *model, bg_mode mode)
{
    bg_runner_config config = config_of(mode);
    FREED_BY(close_trio) trio t;

    open_trio(&t, model, &config);
    for (int texts = 1; texts <= TEXTS; texts += small_workload() ? 3 : 1) {
        batch_work work;
        make_work(&work, texts, shape.vocabulary, texts, true);
        FREED_BY(llama_serve_result_free) llama_serve_result result = serve_work(&work, run_trio, &t);
    }
    /* Prompts of 1 to 9 tokens, 1 to 8 of them: some fill a bucket, most do not, the last ones fit none. */
    if (bg_mode_mixed(mode) != BG_MODE_NONE)
        assert_true(t.replays[bg_mode_mixed(mode)] > 0 && t.eager[BG_REASON_TOO_LARGE] > 0);
    else
        assert_true(t.eager[BG_REASON_MODE_NONE] > 0);
    if (bg_mode_decode(mode) != BG_MODE_NONE)
        assert_true(t.replays[bg_mode_decode(mode)] > 0);
    if (mode == BG_MODE_NONE)
        assert_int_equal(t.replays[BG_MODE_PIECEWISE] + t.replays[BG_MODE_FULL], 0);
    printf("%d piecewise, %d full, %d too large, %d of mode none; %d ties\n", t.replays[BG_MODE_PIECEWISE],
           t.replays[BG_MODE_FULL], t.eager[BG_REASON_TOO_LARGE], t.eager[BG_REASON_MODE_NONE], t.ties);
}

#define LLAMA_RUNNER_TEST(name) TEST_F(name, NULL, NULL, llama_model *model)
#define MODE_TEST(name, mode)                                                                                          \
    LLAMA_RUNNER_TEST(name)                                                                                            \
    {                                                                                                                  \
        check_mode(model, mode);                                                                                       \
    }

MODE_TEST(test_none, BG_MODE_NONE)
MODE_TEST(test_piecewise, BG_MODE_PIECEWISE)
MODE_TEST(test_full, BG_MODE_FULL)
MODE_TEST(test_full_decode_only, BG_MODE_FULL_DECODE_ONLY)
MODE_TEST(test_full_and_piecewise, BG_MODE_FULL_AND_PIECEWISE)

LLAMA_RUNNER_TEST(test_lazy_with_workers)
{
    bg_runner_config config = config_of(BG_MODE_FULL_AND_PIECEWISE);
    FREED_BY(close_trio) trio t;
    batch_work work;

    config.lazy = true;
    config.worker_threads = 2;
    open_trio(&t, model, &config);
    make_work(&work, 4, shape.vocabulary, 1, true);
    FREED_BY(llama_serve_result_free) llama_serve_result result = serve_work(&work, run_trio, &t);
    assert_true(t.replays[BG_MODE_PIECEWISE] > 0 && t.replays[BG_MODE_FULL] > 0);
}

/* ---- one pool for all sizes ---- */

static size_t mapped_by(llama_model *model, const char *schedule, int max_tokens)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    FREED_BY(llama_engine_free) llama_engine engine;

    config.schedule = schedule;
    config.max_tokens = max_tokens;
    config.warmups = 0;
    EXPECT_OK(llama_engine_create(&engine, llama_get_weights(model), 1, 4, &config, llama_get_stream(model)));
    EXPECT_OK(bg_runner_capture(engine.runner));
    EXPECT_OK(bg_pool_get_stats(bg_runner_pool(engine.runner), &stats));
    for (int i = 0; i < bg_runner_bucket_count(engine.runner); i++) {
        bg_bucket_info info = BG_BUCKET_INFO_INIT;
        EXPECT_OK(bg_runner_get_bucket(engine.runner, i, &info));
        assert_true(info.captured && info.pool_bytes > 0);
    }
    printf("%d buckets: %zu bytes mapped, peak %zu\n", bg_runner_bucket_count(engine.runner), stats.mapped, stats.peak);
    return stats.mapped;
}

LLAMA_RUNNER_TEST(test_many_buckets_take_the_memory_of_one)
{
    int largest_bucket = small_workload() ? 1024 : 8192;
    char one[16];

    snprintf(one, sizeof one, "%d", largest_bucket);
    assert_true((double)mapped_by(model, "sglang", largest_bucket) <=
                1.02 * (double)mapped_by(model, one, largest_bucket));
}

TEST_GROUP(set_up, close_small_model);
