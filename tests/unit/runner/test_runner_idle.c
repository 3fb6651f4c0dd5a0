/* Captures in the background (BG_LAZY_BACKGROUND): which come first, what batches do meanwhile, and what stays. */
#include "tests/support/test.h"
#include "tests/support/runner/sum_model.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bg_runner_config background(bg_mode mode, const char *schedule)
{
    bg_runner_config config = sum_model_config(mode, schedule);
    config.lazy = BG_LAZY_BACKGROUND;
    return config;
}

/* "x-f": of each bucket, in the order of capture, whether it is captured, missing, or failed. */
static const char *captured(const sum_model *m)
{
    static char text[40];
    const int count = bg_runner_bucket_count(m->runner);
    bg_bucket_info info = BG_BUCKET_INFO_INIT;

    for (int i = 0; i < count; i++) {
        EXPECT_OK(bg_runner_get_bucket(m->runner, i, &info));
        text[i] = "-xf"[info.captured ? 1 : info.failure[0] != '\0' ? 2 : 0];
    }
    text[count] = '\0';
    return text;
}

/* A batch that runs by a bucket of so many rows, of which `more` are beyond its own bucket's. */
static void expect_larger(fixture *f, sum_model *m, bg_batch batch, int rows, int more)
{
    const bg_mode mode = batch.uniform_decode ? BG_MODE_FULL : BG_MODE_PIECEWISE;
    const bg_counters before = counters_now();
    bg_counters after;

    assert_true(bg_runner_can_run(m->runner, &batch, NULL));
    expect_run(f, m, batch, 2);
    after = counters_now();
    assert_int_equal(after.replays[mode] - before.replays[mode], 1);
    assert_int_equal(after.larger_replays - before.larger_replays, more > 0);
    assert_int_equal(after.larger_tokens - before.larger_tokens, more);
    assert_int_equal(after.padded_tokens - before.padded_tokens, rows - more - batch.tokens);
}

FIXTURE_TEST(test_from_large_to_small)
{
    bg_runner_config config = background(BG_MODE_PIECEWISE, "2,4,8,16,32");
    const bg_counters before = counters_now();
    sum_model m = {0};

    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    assert_false(bg_runner_can_run(m.runner, &(bg_batch){.tokens = 3, .requests = 1, .max_query_len = 3}, NULL));
    EXPECT_ERROR("call bg_runner_capture and bg_runner_idle");
    expect_eager(f, &m, mixed_tokens(3), BG_REASON_NOT_CAPTURED);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_string_equal(captured(&m), "x----");
    expect_larger(f, &m, mixed_tokens(3), 32, 28);
    expect_larger(f, &m, mixed_tokens(32), 32, 0);
    EXPECT_OK(bg_runner_idle(m.runner, 0));
    assert_string_equal(captured(&m), "x----");
    EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX));
    assert_string_equal(captured(&m), "xxxxx");
    assert_int_equal(counters_now().idle_captures - before.idle_captures, 4);
    assert_int_equal(counters_now().idle_overruns, before.idle_overruns);
    expect_larger(f, &m, mixed_tokens(3), 4, 0);
    EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX)); /* there is nothing left */
    EXPECT_OK(bg_runner_capture(m.runner));         /* all again */
    assert_string_equal(captured(&m), "xxxxx");
    assert_int_equal(counters_now().recaptures - before.recaptures, 5);
    bg_runner_destroy(m.runner);
}

/* ---- budgets: the passes of warm-ups take a time that is known ---- */

static struct {
    unsigned microseconds; /* of each */
    int order[8], count;   /* the tokens of the captures, one after the other */
} slow;

static bg_status take_time(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    (void)user;
    (void)stream;
    if (context->phase == BG_PHASE_WARMUP && slow.microseconds > 0)
        usleep(slow.microseconds);
    if (context->phase == BG_PHASE_CAPTURE)
        slow.order[slow.count++] = context->padded_tokens;
    return BG_OK;
}

static void open_slow(fixture *f, sum_model *m, unsigned microseconds)
{
    bg_runner_config config = background(BG_MODE_PIECEWISE, "2,4,8,16,32");
    config.prepare = take_time;
    memset(&slow, 0, sizeof slow);
    slow.microseconds = microseconds;
    sum_model_open(f, m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m->runner));
    assert_int_equal(slow.count, 1);
}

FIXTURE_TEST(test_what_batches_want)
{
    const int wanted[] = {32, 4, 8, 16, 2}; /* of 4 two batches, of 8 one */
    sum_model m = {0};

    open_slow(f, &m, 0);
    expect_run(f, &m, mixed_tokens(7), 1);
    expect_run(f, &m, mixed_tokens(3), 1);
    expect_run(f, &m, mixed_tokens(4), 1);
    EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX));
    assert_int_equal(slow.count, 5);
    assert_memory_equal(slow.order, wanted, sizeof wanted);
    bg_runner_destroy(m.runner);
}

FIXTURE_TEST(test_budgets)
{
    const bg_counters before = counters_now();
    sum_model m = {0};

    open_slow(f, &m, 50000);
    EXPECT_OK(bg_runner_idle(m.runner, 49999)); /* a capture has taken longer */
    assert_string_equal(captured(&m), "x----");
    assert_int_equal(counters_now().idle_captures, before.idle_captures);
    EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX));
    assert_string_equal(captured(&m), "xxxxx");
    assert_int_equal(counters_now().idle_overruns, before.idle_overruns);
    bg_runner_destroy(m.runner);
}

/* The estimate is far below the budget, and the capture takes longer: no other one begins. */
FIXTURE_TEST(test_overruns)
{
    const bg_counters before = counters_now();
    sum_model m = {0};

    open_slow(f, &m, 0);
    slow.microseconds = 2100000;
    EXPECT_OK(bg_runner_idle(m.runner, 2000000));
    assert_string_equal(captured(&m), "xx---");
    assert_int_equal(counters_now().idle_captures - before.idle_captures, 1);
    assert_int_equal(counters_now().idle_overruns - before.idle_overruns, 1);
    bg_runner_destroy(m.runner);
}

/* ---- kinds of buckets ---- */

FIXTURE_TEST(test_variants_and_decode)
{
    bg_runner_config config = background(BG_MODE_FULL_AND_PIECEWISE, "4,16");
    bg_batch batch = decode_tokens(3);
    sum_model m = {0};

    config.variants = 2;
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_string_equal(captured(&m), "xxxx----"); /* 16 tokens: mixed and decode, of two variants */
    for (batch.variant = 0; batch.variant < 2; batch.variant++)
        expect_larger(f, &m, batch, 16, 12);
    expect_larger(f, &m, mixed_tokens(3), 16, 12);
    EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX));
    assert_string_equal(captured(&m), "xxxxxxxx");
    expect_larger(f, &m, decode_tokens(3), 4, 0);
    bg_runner_destroy(m.runner);
}

FIXTURE_TEST(test_too_much_padding)
{
    bg_runner_config config = background(BG_MODE_PIECEWISE, "2,4,8,16,32");
    sum_model m = {0};

    config.max_padding = 4;
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_larger(f, &m, mixed_tokens(8), 32, 24);
    expect_eager(f, &m, mixed_tokens(7), BG_REASON_NOT_CAPTURED);
    bg_runner_destroy(m.runner);
}

FIXTURE_TEST(test_failures)
{
    bg_runner_config config = background(BG_MODE_PIECEWISE, "2,4,8,16,32");
    sum_model m = {0};

    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    m.fail_above = 16;
    m.fail_status = BG_ERROR_TIMEOUT;
    EXPECT_STATUS(bg_runner_capture(m.runner), BG_ERROR_TIMEOUT);
    assert_string_equal(captured(&m), "f----");
    m.fail_above = 4;
    EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX)); /* no time is known: the largest first */
    assert_string_equal(captured(&m), "fffxx");
    m.fail_above = 0;
    expect_eager(f, &m, mixed_tokens(8), BG_REASON_CAPTURE_FAILED);
    expect_larger(f, &m, mixed_tokens(3), 4, 0);
    EXPECT_OK(bg_runner_capture(m.runner)); /* another attempt */
    assert_string_equal(captured(&m), "xxxxx");
    bg_runner_destroy(m.runner);
}

/* ---- what stays ---- */

FIXTURE_TEST(test_buffers_stay)
{
    bg_runner_config config = background(BG_MODE_PIECEWISE, "4,16");
    float rows[3 * WIDTH], found[3 * WIDTH], next[3 * WIDTH], counted;
    bg_batch batch = mixed_tokens(3);
    bg_tensor input = bg_tensor_2d(rows, BG_F32, 3, WIDTH), view = {.data = NULL};
    sum_model m = {.counted = &f->x};

    for (int i = 0; i < 3 * WIDTH; i++)
        rows[i] = (float)i, next[i] = (float)(100 + i);
    config.state = &f->x;
    config.state_count = 1;
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    put(&f->x, 21);
    EXPECT_OK(bg_runner_run(m.runner, &batch, &input, &view, NULL));
    assert_ptr_equal(view.data, m.y.data);
    EXPECT_CUDA(cudaMemcpyAsync(m.x.data, next, sizeof next, cudaMemcpyHostToDevice, f->stream));
    EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX));
    assert_string_equal(captured(&m), "xx");
    EXPECT_CUDA(cudaMemcpyAsync(found, view.data, sizeof found, cudaMemcpyDeviceToHost, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    for (int i = 0; i < 3 * WIDTH; i++)
        assert_true(found[i] == 2 * rows[i] + 1); /* the view is still the last batch's */
    EXPECT_CUDA(cudaMemcpy(&counted, f->x.data, sizeof counted, cudaMemcpyDeviceToHost));
    assert_true(counted == 42);                                    /* the run's own pass alone */
    EXPECT_OK(bg_runner_run(m.runner, &batch, NULL, &view, NULL)); /* the next one is in place already */
    EXPECT_CUDA(cudaMemcpyAsync(found, view.data, sizeof found, cudaMemcpyDeviceToHost, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    for (int i = 0; i < 3 * WIDTH; i++)
        assert_true(found[i] == 2 * next[i] + 1);
    bg_runner_destroy(m.runner);
}

/* ---- misuse ---- */

static bg_status idle_in_run;

static bg_status call_idle(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    sum_model *m = user;
    (void)stream;
    if (context->phase == BG_PHASE_REPLAY)
        idle_in_run = bg_runner_idle(m->runner, 1);
    return BG_OK;
}

/* It is no start: bg_runner_capture still captures the largest alone. */
FIXTURE_TEST(test_idle_first)
{
    bg_runner_config config = background(BG_MODE_PIECEWISE, "2,4,8,16,32");
    sum_model m = {0};

    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX));
    assert_string_equal(captured(&m), "-----");
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_string_equal(captured(&m), "x----");
    bg_runner_destroy(m.runner);
}

static bool reject_small(void *user, const bg_batch *batch, const char **why)
{
    (void)user;
    *why = "it is small";
    return batch->tokens <= 2;
}

/* No batch wants a bucket that it may not use. */
FIXTURE_TEST(test_vetoed)
{
    const int wanted[] = {32, 8, 16, 4, 2};
    bg_runner_config config = background(BG_MODE_PIECEWISE, "2,4,8,16,32");
    sum_model m = {0};

    memset(&slow, 0, sizeof slow);
    config.prepare = take_time;
    config.veto = reject_small;
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    for (int i = 0; i < 3; i++)
        expect_eager(f, &m, mixed_tokens(2), BG_REASON_VETO);
    expect_run(f, &m, mixed_tokens(7), 1);
    EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX));
    assert_memory_equal(slow.order, wanted, sizeof wanted);
    bg_runner_destroy(m.runner);
}

FIXTURE_TEST(test_misuse)
{
    bg_runner_config config = background(BG_MODE_PIECEWISE, "4,16");
    sum_model m = {0};
    bg_capture *capture;
    bg_graph *graph;

    config.prepare = call_idle;
    config.callback_user = &m;
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_STATUS(bg_runner_idle(NULL, 1), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_idle(m.runner, -1), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("budget_us is -1; allowed are 0 and more");
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_run(f, &m, mixed_tokens(3), 1);
    assert_int_equal(idle_in_run, BG_ERROR_BUSY);
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_STATUS(bg_runner_idle(m.runner, INT64_MAX), BG_ERROR_ALREADY_CAPTURING);
    EXPECT_OK(bg_capture_end(capture, &graph));
    bg_graph_destroy(graph);
    assert_string_equal(captured(&m), "x-");
    EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX));
    expect_run(f, &m, mixed_tokens(3), 1);
    bg_runner_destroy(m.runner);
    for (int lazy = BG_LAZY_NO; lazy <= BG_LAZY_ON_DEMAND; lazy++) {
        config.lazy = (uint8_t)lazy;
        sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
        EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX));
        assert_string_equal(captured(&m), "--");
        bg_runner_destroy(m.runner);
    }
}
