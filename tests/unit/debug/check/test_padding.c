/* BG_CHECK=padding: what of a padded batch depends on the rows beyond it, and what may. */
#include "tests/support/test.h"
#include "tests/support/tools/finding_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKET = 8, TOKENS = 5, SLOTS = 16 };

static bg_status fetch(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
    return from_cuda(error != cudaSuccess ? error : cudaStreamSynchronize(stream));
}

BG_OP(twice, BG_IN(x), BG_OUT(y))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, (size_t)args->x.dim[0], stream));
}

/* cache[slot[i]] = x[i]; a negative slot is counted from the end (wraps), or skipped. */
BG_EAGER_OP(write_cache, BG_IN(x), BG_IN(slot), BG_INOUT(cache), BG_VALUE(bool, wraps))
{
    float x[BUCKET], cache[SLOTS];
    int slot[BUCKET];
    const int rows = (int)args->x.dim[0];

    EXPECT_OK(fetch(x, args->x.data, (size_t)rows * sizeof *x, stream));
    EXPECT_OK(fetch(slot, args->slot.data, (size_t)rows * sizeof *slot, stream));
    EXPECT_OK(fetch(cache, args->cache.data, sizeof cache, stream));
    for (int i = 0; i < rows; i++)
        if (slot[i] >= 0 || args->wraps)
            cache[(slot[i] + SLOTS) % SLOTS] = x[i];
    return fetch(args->cache.data, cache, sizeof cache, stream);
}

static float greatest(const float *x, int rows)
{
    float most = 0;
    for (int i = 0; i < rows; i++)
        most = fmaxf(most, x[i]);
    return most;
}

/* Of all rows, or of the batch's; greatest: what the greatest of all rows is above the greatest of the batch's, too. */
BG_EAGER_OP(total, BG_IN(x), BG_OUT(sum), BG_VALUE(bool, all), BG_VALUE(bool, greatest))
{
    float x[BUCKET], sum = 0;
    const int rows = (int)args->x.dim[0], live = bg_forward_context_get()->batch.tokens;

    EXPECT_OK(fetch(x, args->x.data, (size_t)rows * sizeof *x, stream));
    for (int i = 0; i < (args->all ? rows : live); i++)
        sum += x[i];
    if (args->greatest)
        sum += greatest(x, rows) - greatest(x, live);
    return fetch(args->sum.data, &sum, sizeof sum, stream);
}

/* Zeroes the rows beyond the batch. */
BG_EAGER_OP(clear_rest, BG_INOUT(x))
{
    const int rows = (int)args->x.dim[0], live = bg_forward_context_get()->batch.tokens;
    return from_cuda(cudaMemsetAsync((float *)args->x.data + live, 0, (size_t)(rows - live) * sizeof(float), stream));
}

/* The same of its input, and the sum of all rows then. */
BG_EAGER_OP(total_cleared, BG_IN(x), BG_OUT(sum))
{
    float x[BUCKET], sum = 0;
    const int rows = (int)args->x.dim[0], live = bg_forward_context_get()->batch.tokens;

    TRY_BG(from_cuda(cudaMemsetAsync((float *)args->x.data + live, 0, (size_t)(rows - live) * sizeof(float), stream)));
    EXPECT_OK(fetch(x, args->x.data, (size_t)rows * sizeof *x, stream));
    for (int i = 0; i < rows; i++)
        sum += x[i];
    return fetch(args->sum.data, &sum, sizeof sum, stream);
}

BG_EAGER_OP(spread, BG_IN(x), BG_IN(sum), BG_OUT(y))
{
    float x[BUCKET], sum;
    const int rows = (int)args->x.dim[0];

    EXPECT_OK(fetch(x, args->x.data, (size_t)rows * sizeof *x, stream));
    EXPECT_OK(fetch(&sum, args->sum.data, sizeof sum, stream));
    for (int i = 0; i < rows; i++)
        x[i] += sum;
    return fetch(args->y.data, x, (size_t)rows * sizeof *x, stream);
}

/* A number that is another one in each pass. */
static int passes;
BG_EAGER_OP(count_passes, BG_IN(x), BG_OUT(y))
{
    float y[BUCKET];
    for (int i = 0; i < BUCKET; i++)
        y[i] = (float)passes;
    passes++;
    return fetch(args->y.data, y, (size_t)args->x.dim[0] * sizeof *y, stream);
}

typedef struct model {
    fixture *f;
    bg_runner *runner;
    bg_tensor x, slot, y, cache, doubled, sum;
    bool wraps, all, greatest, varies;
    int clears; /* 1: rows of padding are zeroed before all are added; 2: by the op that adds them */
    bool whole; /* an op gets static buffers with all their rows, of which there are more than in the bucket */
} model;

static bg_tensor rows_of(const bg_tensor *buffer, int rows)
{
    return bg_tensor_1d(buffer->data, buffer->dtype, rows);
}

/* doubled = 2 x; cache[slot] = doubled; y = doubled + sum(doubled) */
static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    model *m = user;
    const int rows = context->padded_tokens;
    bg_tensor x = rows_of(&m->x, rows), doubled = rows_of(&m->doubled, rows), y = rows_of(&m->y, rows);

    if (m->whole)
        BG_CALL(twice, stream, .x = m->x, .y = m->doubled);
    else
        BG_CALL(twice, stream, .x = x, .y = doubled);
    BG_CALL(write_cache, stream, .x = doubled, .slot = rows_of(&m->slot, rows), .cache = m->cache, .wraps = m->wraps);
    if (m->clears == 1)
        BG_CALL(clear_rest, stream, .x = doubled);
    if (m->clears == 2)
        BG_CALL(total_cleared, stream, .x = doubled, .sum = m->sum);
    else
        BG_CALL(total, stream, .x = doubled, .sum = m->sum, .all = m->all, .greatest = m->greatest);
    if (m->varies)
        return BG_CALL(count_passes, stream, .x = doubled, .y = y);
    return BG_CALL(spread, stream, .x = doubled, .sum = m->sum, .y = y);
}

/* Findings are wrapped. */
static void unwrap(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; at++)
        if (*at != '\n' && !(*at == ' ' && to > text && to[-1] == ' '))
            *to++ = *at;
        else if (*at == '\n')
            *to++ = ' ';
    *to = '\0';
}

static void open_runner(model *m, bg_padding slots, double slot)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;

    config.schedule = "8";
    config.max_tokens = m->whole ? 2 * BUCKET : BUCKET;
    EXPECT_OK(bg_runner_create(&m->runner, &config, forward, m, m->f->stream));
    EXPECT_OK(bg_runner_add_input(m->runner, "x", BG_F32, 1, (int64_t[]){0}, BG_PAD_ZERO, 0, &m->x));
    EXPECT_OK(bg_runner_add_input(m->runner, "slot", BG_I32, 1, (int64_t[]){0}, slots, slot, &m->slot));
    EXPECT_OK(bg_runner_add_output(m->runner, "y", BG_F32, 1, (int64_t[]){0}, &m->y));
    EXPECT_OK(bg_runner_add_buffer(m->runner, "doubled", BG_F32, 1, (int64_t[]){0}, &m->doubled));
    EXPECT_OK(bg_runner_add_buffer(m->runner, "cache", BG_F32, 1, (int64_t[]){SLOTS}, &m->cache));
    EXPECT_OK(bg_runner_add_buffer(m->runner, "sum", BG_F32, 1, (int64_t[]){1}, &m->sum));
    EXPECT_OK(bg_runner_capture(m->runner));
}

/* Rows 1, 2, ... go to slots 2, 3, ...; what comes of them is looked at. */
static void run_batch(model *m, int tokens)
{
    const bg_batch batch = {.tokens = tokens, .requests = tokens, .max_query_len = 1};
    float x[BUCKET], y[BUCKET], cache[SLOTS], sum = 0;
    int slot[BUCKET];
    bg_tensor inputs[] = {bg_tensor_1d(x, BG_F32, tokens), bg_tensor_1d(slot, BG_I32, tokens)};
    bg_tensor output = bg_tensor_1d(y, BG_F32, tokens);

    for (int i = 0; i < tokens; i++) {
        x[i] = (float)(i + 1);
        slot[i] = i + 2;
        sum += 2 * x[i];
    }
    EXPECT_OK(bg_runner_run(m->runner, &batch, inputs, &output, NULL));
    EXPECT_CUDA(cudaStreamSynchronize(m->f->stream));
    EXPECT_OK(fetch(cache, m->cache.data, sizeof cache, m->f->stream));
    for (int i = 0; i < tokens; i++) {
        assert_true(cache[slot[i]] == 2 * x[i] || m->wraps);
        if (!m->varies)
            assert_true(y[i] == 2 * x[i] + sum);
    }
    for (int i = tokens + 2; i < SLOTS - 1; i++)
        assert_true(cache[i] == 0);
}

/* What is printed while a batch runs, with the check. */
static const char *check(fixture *f, model m, bg_padding slots, double slot, int tokens)
{
    static char text[2000];
    m.f = f;
    FILE *errors = keep_errors();
    set_variable("BG_CHECK", "padding");
    open_runner(&m, slots, slot);
    set_variable("BG_CHECK", NULL);
    run_batch(&m, tokens);
    run_batch(&m, tokens);
    unwrap(kept_errors(errors, text, sizeof text));
    bg_runner_destroy(m.runner);
    return text;
}

/* Padding rows have slots that they own, or none. */
FIXTURE_TEST(test_right)
{
    static const struct {
        bg_padding padding;
        double slot;
    } slots[] = {{BG_PAD_SENTINEL, -1}, {BG_PAD_SENTINEL, 0}, {BG_PAD_SENTINEL, 1}, {BG_PAD_ZERO, 0}};

    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        assert_string_equal(check(f, (model){.f = NULL}, slots[i].padding, slots[i].slot, TOKENS), "");
}

/* Rows beyond the bucket are padding rows, too. */
FIXTURE_TEST(test_whole_buffers)
{
    assert_string_equal(check(f, (model){.whole = true}, BG_PAD_SENTINEL, -1, TOKENS), "");
    EXPECT_IN(check(f, (model){.whole = true, .all = true}, BG_PAD_SENTINEL, -1, TOKENS),
              "warning [padding] total#0 at ");
}

/* A negative slot is the last one. */
FIXTURE_TEST(test_wraps)
{
    const char *text = check(f, (model){.wraps = true}, BG_PAD_SENTINEL, -1, TOKENS);
    EXPECT_IN(text, "padding of piecewise tokens 8: 1 finding|warning [padding] write_cache#0 at |"
                    "which later passes may read");
    EXPECT_IN(
        text,
        "rows of the batch, 5 to 7 of 8: with other values in these, 1 of its 16 elements differ, the first in row 15");
}

/* Padding rows have the slot of a row of the batch. */
FIXTURE_TEST(test_live_slot)
{
    /* what is in the cache is wrong */
    EXPECT_IN(check(f, (model){.wraps = true}, BG_PAD_REPEAT_LAST, 0, TOKENS), "warning [padding] write_cache#0 at ");
}

/* The first op that lets padding rows in, not the one whose rows are wrong. */
FIXTURE_TEST(test_sum)
{
    EXPECT_IN(check(f, (model){.all = true}, BG_PAD_SENTINEL, -1, TOKENS),
              "warning [padding] total#0 at |1 of its 1 elements differ");
}

/* A maximum leaves out NaN, and zeros and small numbers are below the rows of the batch. */
FIXTURE_TEST(test_maximum)
{
    EXPECT_IN(check(f, (model){.greatest = true}, BG_PAD_SENTINEL, -1, TOKENS),
              "warning [padding] total#0 at |1 of its 1 elements differ");
}

FIXTURE_TEST(test_cleared)
{
    assert_string_equal(check(f, (model){.all = true, .clears = 1}, BG_PAD_SENTINEL, -1, TOKENS), "");
    assert_string_equal(check(f, (model){.clears = 2}, BG_PAD_SENTINEL, -1, TOKENS), "");
}

/* A batch that fills its bucket has no padding rows. */
FIXTURE_TEST(test_full)
{
    assert_string_equal(check(f, (model){.all = true}, BG_PAD_SENTINEL, -1, BUCKET), "");
}

/* What differs anyway tells nothing. */
FIXTURE_TEST(test_varies)
{
    const char *text = check(f, (model){.varies = true}, BG_PAD_SENTINEL, -1, TOKENS);
    EXPECT_IN(text, "note [not-repeatable] count_passes#0");
    EXPECT_NOT_IN(text, "warning");
}
