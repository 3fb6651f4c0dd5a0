/* Captures in the background (BG_LAZY_BACKGROUND): which come first, what batches do meanwhile, and what stays. */
#include "tests/support/runner/sum_model.h"

#include <unistd.h>

#define BACKGROUND(...) CONFIG(.lazy = BG_LAZY_BACKGROUND, __VA_ARGS__)
#define FIVE_SIZES(...) BACKGROUND(.schedule = "2,4,8,16,32", __VA_ARGS__)

/* "x-f": of each bucket, in the order of capture, whether it is captured, missing, or failed. */
static const char *captured(const sum_model *m)
{
    static char text[40];
    const int count = bg_runner_bucket_count(m->runner);

    for (int i = 0; i < count; i++) {
        const bg_bucket_info info = bucket_of(m->runner, i);
        text[i] = "-xf"[info.captured ? 1 : info.failure[0] != '\0' ? 2 : 0];
    }
    text[count] = '\0';
    return text;
}

/* Between batches, in that time, these are captured. */
#define EXPECT_IDLE(m, budget_us, wanted)                                                                              \
    do {                                                                                                               \
        EXPECT_OK(bg_runner_idle((m)->runner, budget_us));                                                             \
        assert_string_equal(captured(m), wanted);                                                                      \
    } while (0)

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
    const bg_counters before = counters_now();
    OPENED_SUM_MODEL(m, f, FIVE_SIZES());

    EXPECT_REASON(m.runner, mixed_batch(3), BG_REASON_NOT_CAPTURED);
    EXPECT_ERROR("call bg_runner_capture and bg_runner_idle");
    expect_eager(f, &m, mixed_batch(3), BG_REASON_NOT_CAPTURED);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_string_equal(captured(&m), "x----");
    expect_larger(f, &m, mixed_batch(3), 32, 28);
    expect_larger(f, &m, mixed_batch(32), 32, 0);
    EXPECT_IDLE(&m, 0, "x----");
    EXPECT_IDLE(&m, INT64_MAX, "xxxxx");
    assert_int_equal(counters_now().idle_captures - before.idle_captures, 4);
    assert_int_equal(counters_now().idle_overruns, before.idle_overruns);
    expect_larger(f, &m, mixed_batch(3), 4, 0);
    EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX)); /* there is nothing left */
    EXPECT_OK(bg_runner_capture(m.runner));         /* all again */
    assert_string_equal(captured(&m), "xxxxx");
    assert_int_equal(counters_now().recaptures - before.recaptures, 5);
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

#define TAKES_TIME(...) FIVE_SIZES(.prepare = take_time, __VA_ARGS__)
static void open_slow(fixture *f, sum_model *m, const bg_runner_config *config, unsigned microseconds)
{
    memset(&slow, 0, sizeof slow);
    slow.microseconds = microseconds;
    sum_model_start(f, m, config);
    assert_int_equal(slow.count, 1);
}

FIXTURE_TEST(test_what_batches_want)
{
    const int wanted[] = {32, 4, 8, 16, 2}; /* of 4 two batches, of 8 one */
    OWNED_SUM_MODEL(m);

    open_slow(f, &m, TAKES_TIME(), 0);
    expect_run(f, &m, mixed_batch(7), 1);
    expect_run(f, &m, mixed_batch(3), 1);
    expect_run(f, &m, mixed_batch(4), 1);
    EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX));
    assert_int_equal(slow.count, 5);
    assert_memory_equal(slow.order, wanted, sizeof wanted);
}

FIXTURE_TEST(test_budgets)
{
    const bg_counters before = counters_now();
    OWNED_SUM_MODEL(m);

    open_slow(f, &m, TAKES_TIME(), 50000);
    EXPECT_IDLE(&m, 49999, "x----"); /* a capture has taken longer */
    assert_int_equal(counters_now().idle_captures, before.idle_captures);
    EXPECT_IDLE(&m, INT64_MAX, "xxxxx");
    assert_int_equal(counters_now().idle_overruns, before.idle_overruns);
}

/* The estimate is far below the budget, and the capture takes longer: no other one begins. */
FIXTURE_TEST(test_overruns)
{
    const bg_counters before = counters_now();
    OWNED_SUM_MODEL(m);

    open_slow(f, &m, TAKES_TIME(), 0);
    slow.microseconds = 2100000;
    EXPECT_IDLE(&m, 2000000, "xx---");
    assert_int_equal(counters_now().idle_captures - before.idle_captures, 1);
    assert_int_equal(counters_now().idle_overruns - before.idle_overruns, 1);
}

/* ---- kinds of buckets ---- */

FIXTURE_TEST(test_variants_and_decode)
{
    bg_batch batch = decode_batch(3, 1);
    STARTED_SUM_MODEL(m, f, BACKGROUND(.mode = BG_MODE_FULL_AND_PIECEWISE, .variants = 2));

    assert_string_equal(captured(&m), "xxxx----"); /* 16 tokens: mixed and decode, of two variants */
    for (batch.variant = 0; batch.variant < 2; batch.variant++)
        expect_larger(f, &m, batch, 16, 12);
    expect_larger(f, &m, mixed_batch(3), 16, 12);
    EXPECT_IDLE(&m, INT64_MAX, "xxxxxxxx");
    expect_larger(f, &m, decode_batch(3, 1), 4, 0);
}

FIXTURE_TEST(test_too_much_padding)
{
    STARTED_SUM_MODEL(m, f, FIVE_SIZES(.max_padding = 4));

    expect_larger(f, &m, mixed_batch(8), 32, 24);
    expect_eager(f, &m, mixed_batch(7), BG_REASON_NOT_CAPTURED);
}

FIXTURE_TEST(test_failures)
{
    OPENED_SUM_MODEL(m, f, FIVE_SIZES());

    m.fail_above = 16;
    m.fail_status = BG_ERROR_TIMEOUT;
    EXPECT_STATUS(bg_runner_capture(m.runner), BG_ERROR_TIMEOUT);
    assert_string_equal(captured(&m), "f----");
    m.fail_above = 4;
    EXPECT_IDLE(&m, INT64_MAX, "fffxx"); /* no time is known: the largest first */
    m.fail_above = 0;
    expect_eager(f, &m, mixed_batch(8), BG_REASON_CAPTURE_FAILED);
    expect_larger(f, &m, mixed_batch(3), 4, 0);
    EXPECT_OK(bg_runner_capture(m.runner)); /* another attempt */
    assert_string_equal(captured(&m), "xxxxx");
}

/* ---- what stays ---- */

FIXTURE_TEST(test_buffers_stay)
{
    float rows[3 * WIDTH], found[3 * WIDTH], next[3 * WIDTH];
    bg_batch batch = mixed_batch(3);
    bg_tensor input = bg_tensor_2d(rows, BG_F32, 3, WIDTH), view = {.data = NULL};
    OWNED_SUM_MODEL(m);

    for (int i = 0; i < 3 * WIDTH; i++)
        rows[i] = (float)i, next[i] = (float)(100 + i);
    m.counted = &f->x;
    sum_model_start(f, &m, BACKGROUND(.state = &f->x, .state_count = 1));
    put(&f->x, 21);
    EXPECT_OK(bg_runner_run(m.runner, &batch, &input, &view, NULL));
    assert_ptr_equal(view.data, m.y.data);
    EXPECT_CUDA(cudaMemcpyAsync(m.x.data, next, sizeof next, cudaMemcpyHostToDevice, f->stream));
    EXPECT_IDLE(&m, INT64_MAX, "xx");
    read_device(f, found, view.data, sizeof found);
    for (int i = 0; i < 3 * WIDTH; i++)
        assert_true(found[i] == 2 * rows[i] + 1);                  /* the view is still the last batch's */
    assert_true(first_of(f, f->x.data) == 42);                     /* the run's own pass alone */
    EXPECT_OK(bg_runner_run(m.runner, &batch, NULL, &view, NULL)); /* the next one is in place already */
    read_device(f, found, view.data, sizeof found);
    for (int i = 0; i < 3 * WIDTH; i++)
        assert_true(found[i] == 2 * next[i] + 1);
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
    OPENED_SUM_MODEL(m, f, FIVE_SIZES());

    EXPECT_IDLE(&m, INT64_MAX, "-----");
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_string_equal(captured(&m), "x----");
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
    OWNED_SUM_MODEL(m);

    open_slow(f, &m, TAKES_TIME(.veto = reject_small), 0);
    for (int i = 0; i < 3; i++)
        expect_eager(f, &m, mixed_batch(2), BG_REASON_VETO);
    expect_run(f, &m, mixed_batch(7), 1);
    EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX));
    assert_memory_equal(slow.order, wanted, sizeof wanted);
}

FIXTURE_TEST(test_misuse)
{
    bg_capture *capture;
    OWNED_GRAPH(graph);
    OPENED_SUM_MODEL(m, f, BACKGROUND(.prepare = call_idle, .callback_user = &m));

    EXPECT_INVALID(bg_runner_idle(NULL, 1));
    EXPECT_FAILS(bg_runner_idle(m.runner, -1), BG_ERROR_INVALID_ARGUMENT, "budget_us is -1; allowed are 0 and more");
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_run(f, &m, mixed_batch(3), 1);
    assert_int_equal(idle_in_run, BG_ERROR_BUSY);
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_STATUS(bg_runner_idle(m.runner, INT64_MAX), BG_ERROR_ALREADY_CAPTURING);
    EXPECT_OK(bg_capture_end(capture, &graph));
    assert_string_equal(captured(&m), "x-");
    EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX));
    expect_run(f, &m, mixed_batch(3), 1);
    for (int lazy = BG_LAZY_NO; lazy <= BG_LAZY_ON_DEMAND; lazy++) {
        sum_model_open(f, &m, CONFIG(.lazy = (uint8_t)lazy, .prepare = call_idle, .callback_user = &m));
        EXPECT_IDLE(&m, INT64_MAX, "--");
    }
}
