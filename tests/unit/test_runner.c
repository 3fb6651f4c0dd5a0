/* The runner: buckets, dispatch, padding, modes, what fails. The model adds up what an eager op and captured ones make
 * of each row, so that every result can be computed by hand. */
#include "tests/support/support.h"

#include <breakgraph/workspace.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 4, TOKENS_MAX = 64 };

/* y = 2 x, captured. */
BG_OP(twice, BG_IN(x), BG_OUT(y), BG_VALUE(int, rows))
{
    return from_cuda(bgk_add(args->y.data, args->x.data, args->x.data, (size_t)args->rows * WIDTH, stream));
}

typedef struct model {
    bg_runner *runner;
    bg_tensor x, y, scale_of_rows;
    bg_tensor hidden;
    const bg_tensor *counted; /* doubled in each pass; NULL: none */
    int passes, eager_bodies, fail_above, fail_status;
    bg_forward_context last, in_body;
    bool body_had_context, nested_was_busy;
} model;

static model *current;

/* x += the context's variant + 1, eagerly. */
BG_EAGER_OP(add_variant, BG_INOUT(x), BG_VALUE(int, rows))
{
    const bg_forward_context *context = bg_forward_context_get();
    bg_batch batch = {.tokens = 1, .requests = 1, .max_query_len = 1};
    float *ones = (float *)current->scale_of_rows.data;

    current->eager_bodies++;
    current->body_had_context = context != NULL;
    if (context == NULL)
        return BG_ERROR_OP;
    current->in_body = *context;
    current->nested_was_busy = bg_runner_run(current->runner, &batch, NULL, NULL, NULL) == BG_ERROR_BUSY;
    for (int i = 0; i <= context->batch.variant; i++) {
        cudaError_t error = bgk_add(args->x.data, args->x.data, ones, (size_t)args->rows * WIDTH, stream);
        if (error != cudaSuccess)
            return from_cuda(error);
    }
    return BG_OK;
}

/* y = 2 x + 1 + variant, in a buffer between. */
static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    model *m = user;
    int rows = context->padded_tokens;

    m->passes++;
    m->last = *context;
    if (m->fail_above > 0 && rows > m->fail_above)
        return m->fail_status;
    if (m->counted != NULL)
        BG_CALL(twice, stream, .x = *m->counted, .y = *m->counted, .rows = 1);
    BG_CALL(twice, stream, .x = m->x, .y = m->hidden, .rows = rows);
    BG_CALL(add_variant, stream, .x = m->hidden, .rows = rows);
    return from_cuda(cudaMemcpyAsync(m->y.data, m->hidden.data, (size_t)rows * WIDTH * sizeof(float),
                                     cudaMemcpyDeviceToDevice, stream));
}

/* What the model adds up takes batches of that many rows; the buffer between grows with them. */
static void open_for(fixture *f, model *m, const bg_runner_config *config, bg_padding padding, double value, int rows)
{
    size_t count = (size_t)rows * WIDTH;
    float *ones = malloc(count * sizeof *ones);
    int64_t dim[] = {0, WIDTH}, fixed[] = {rows, WIDTH};

    current = m;
    assert_non_null(ones);
    for (size_t i = 0; i < count; i++)
        ones[i] = 1;
    EXPECT_OK(bg_runner_create(&m->runner, config, forward, m, f->stream));
    EXPECT_OK(bg_runner_add_input(m->runner, "x", BG_F32, 2, dim, padding, value, &m->x));
    EXPECT_OK(bg_runner_add_output(m->runner, "y", BG_F32, 2, dim, &m->y));
    EXPECT_OK(bg_runner_add_buffer(m->runner, "hidden", BG_F32, 2, dim, &m->hidden));
    EXPECT_OK(bg_runner_add_buffer(m->runner, "ones", BG_F32, 2, fixed, &m->scale_of_rows));
    EXPECT_CUDA(cudaMemcpyAsync(m->scale_of_rows.data, ones, count * sizeof *ones, cudaMemcpyHostToDevice, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    free(ones);
}

static void open_with(fixture *f, model *m, const bg_runner_config *config, bg_padding padding, double value)
{
    open_for(f, m, config, padding, value, TOKENS_MAX);
}

static bg_runner_config small_config(bg_mode mode, const char *schedule)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    config.mode = mode;
    config.schedule = schedule;
    config.max_tokens = TOKENS_MAX;
    return config;
}

static bg_batch mixed(int tokens)
{
    return (bg_batch){.tokens = tokens, .requests = 1, .max_query_len = tokens};
}

static bg_batch decode(int tokens)
{
    return (bg_batch){.tokens = tokens, .requests = tokens, .max_query_len = 1, .uniform_decode = true};
}

/* Runs a batch of rows that begin with `first`, and checks them. */
static void expect_run(fixture *f, model *m, bg_batch batch, float first)
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

static bg_counters counters(void)
{
    bg_counters now = BG_COUNTERS_INIT;
    bg_counters_get(&now);
    return now;
}

/* ---- running ---- */

static void test_batches_run_by_the_smallest_bucket(void **state)
{
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_PIECEWISE, "2,8,32");
    bg_reason reason;
    bg_batch batch;
    model m = {NULL};

    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_int_equal(bg_runner_bucket_count(m.runner), 3);
    for (int tokens = 1; tokens <= 32; tokens++) {
        int bucket = tokens <= 2 ? 2 : tokens <= 8 ? 8 : 32;
        uint64_t before = counters().replays[BG_MODE_PIECEWISE];
        batch = mixed(tokens);
        assert_true(bg_runner_can_run(m.runner, &batch, &reason));
        assert_int_equal(reason, BG_REASON_NONE);
        expect_run(f, &m, batch, (float)tokens);
        assert_int_equal(counters().replays[BG_MODE_PIECEWISE], before + 1);
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

static void expect_eager(fixture *f, model *m, bg_batch batch, bg_reason why)
{
    uint64_t before = counters().eager[why];
    bg_reason reason = BG_REASON_NONE;
    assert_false(bg_runner_can_run(m->runner, &batch, &reason));
    assert_int_equal(reason, why);
    expect_run(f, m, batch, 3);
    assert_int_equal(counters().eager[why], before + 1);
    assert_int_equal(m->last.mode, BG_MODE_NONE);
    assert_int_equal(m->last.padded_tokens, batch.tokens);
    assert_int_equal(m->last.phase, BG_PHASE_PLAIN);
}

static bool veto_odd(void *user, const bg_batch *batch, const char **why)
{
    (void)user;
    *why = "odd";
    return batch->tokens % 2 == 1;
}

static void test_eager_runs_and_their_reasons(void **state)
{
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_PIECEWISE, "4,16");
    bg_batch batch;
    model m = {NULL};

    config.max_padding = 2;
    config.veto = veto_odd;
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    expect_eager(f, &m, mixed(4), BG_REASON_NOT_CAPTURED);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_eager(f, &m, mixed(18), BG_REASON_TOO_LARGE);
    expect_eager(f, &m, mixed(6), BG_REASON_PADDING);
    expect_eager(f, &m, mixed(1), BG_REASON_PADDING);
    expect_eager(f, &m, mixed(9), BG_REASON_VETO);
    batch = mixed(9);
    assert_false(bg_runner_can_run(m.runner, &batch, NULL));
    EXPECT_ERROR("config.veto rejects the batch: odd");
    expect_run(f, &m, mixed(8), 1);
    bg_runner_destroy(m.runner);

    config = small_config(BG_MODE_NONE, "4,16");
    m = (model){NULL};
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_eager(f, &m, mixed(4), BG_REASON_MODE_NONE);
    bg_runner_destroy(m.runner);
}

/* The static buffers grow where they are: graphs that hold their addresses go on. */
static void test_batches_above_max_tokens(void **state)
{
    enum { ROWS = 150000 }; /* more than a page */
    static float rows[ROWS * WIDTH], found[ROWS * WIDTH];
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_PIECEWISE, "4,16");
    bg_batch batch = mixed(ROWS);
    bg_tensor input = bg_tensor_2d(rows, BG_F32, ROWS, WIDTH), output = bg_tensor_2d(found, BG_F32, ROWS, WIDTH);
    bg_reason reason;
    float *own;
    model m = {NULL};

    open_for(f, &m, &config, BG_PAD_ZERO, 0, ROWS);
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
    expect_run(f, &m, mixed(3), 1);
    bg_runner_destroy(m.runner);

    EXPECT_CUDA(cudaMalloc((void **)&own, TOKENS_MAX * WIDTH * sizeof(float)));
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_bind_input(m.runner, "x", own, &m.x));
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, &input, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("bound to the caller's memory of 64 rows");
    batch.tokens = (1 << 24) + 1;
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    bg_runner_destroy(m.runner);
    EXPECT_CUDA(cudaFree(own));
}

/* ---- modes ---- */

static void test_full_and_piecewise(void **state)
{
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_FULL_AND_PIECEWISE, "4,16");
    bg_counters before;
    int bodies;
    model m = {NULL};

    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_int_equal(bg_runner_bucket_count(m.runner), 4);
    for (int i = 0; i < 4; i++) {
        bg_bucket_info info = BG_BUCKET_INFO_INIT;
        EXPECT_OK(bg_runner_get_bucket(m.runner, i, &info));
        assert_true(info.captured);
        assert_int_equal(info.tokens, i < 2 ? 16 : 4);
        assert_int_equal(info.segments, info.mode == BG_MODE_FULL ? 1 : 2);
        assert_true(info.decode == (info.mode == BG_MODE_FULL));
    }
    before = counters();
    bodies = m.eager_bodies;
    expect_run(f, &m, decode(3), 1);
    expect_run(f, &m, decode(4), 1);
    assert_int_equal(m.eager_bodies, bodies); /* all in the graph */
    expect_run(f, &m, mixed(3), 1);
    assert_int_equal(m.eager_bodies, bodies + 1);
    assert_int_equal(counters().replays[BG_MODE_FULL], before.replays[BG_MODE_FULL] + 2);
    assert_int_equal(counters().replays[BG_MODE_PIECEWISE], before.replays[BG_MODE_PIECEWISE] + 1);
    assert_int_equal(counters().padded_tokens, before.padded_tokens + 2);
    bg_runner_destroy(m.runner);
}

static void test_full_decode_only(void **state)
{
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_FULL_DECODE_ONLY, "4,6,16");
    bg_batch longer = {.tokens = 6, .requests = 2, .max_query_len = 3, .uniform_decode = true};
    bg_batch single = decode(4);
    bg_bucket_info info = BG_BUCKET_INFO_INIT;
    uint64_t before;
    model m = {NULL};

    config.max_query_len = 3;
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_int_equal(bg_runner_bucket_count(m.runner), 2); /* 6 and 18: 4 rounds up to whole requests, too */
    EXPECT_OK(bg_runner_get_bucket(m.runner, 0, &info));
    assert_int_equal(info.tokens, 18);
    assert_int_equal(info.max_query_len, 3);
    before = counters().replays[BG_MODE_FULL];
    expect_run(f, &m, longer, 2);
    assert_int_equal(counters().replays[BG_MODE_FULL], before + 1);
    expect_eager(f, &m, single, BG_REASON_MODE_NONE); /* other queries than the graphs have */
    expect_eager(f, &m, mixed(6), BG_REASON_MODE_NONE);
    longer = (bg_batch){.tokens = 21, .requests = 7, .max_query_len = 3, .uniform_decode = true};
    expect_eager(f, &m, longer, BG_REASON_TOO_LARGE);
    bg_runner_destroy(m.runner);
}

static bg_batch uniform(int requests, int query_len)
{
    return (bg_batch){
        .tokens = requests * query_len, .requests = requests, .max_query_len = query_len, .uniform_decode = true};
}

/* Runs it, by a graph of that mode and so many rows; padded 0: eagerly. */
static void expect_graph(fixture *f, model *m, bg_batch batch, bg_mode mode, int query_len, int padded)
{
    for (int i = 0; i < bg_runner_bucket_count(m->runner); i++) {
        bg_bucket_info before = BG_BUCKET_INFO_INIT, after = BG_BUCKET_INFO_INIT;
        bool is_it;
        EXPECT_OK(bg_runner_get_bucket(m->runner, i, &before));
        is_it = before.mode == mode && before.tokens == padded &&
                (before.decode ? before.max_query_len == query_len : query_len == 0);
        expect_run(f, m, batch, 2);
        EXPECT_OK(bg_runner_get_bucket(m->runner, i, &after));
        if (after.replays != before.replays + is_it)
            fail_msg("%d tokens of query length %d: bucket %d (%d tokens, query length %d) was replayed %d times",
                     batch.tokens, batch.max_query_len, i, before.tokens, before.max_query_len,
                     (int)(after.replays - before.replays));
    }
}

static bg_runner_config query_lens_config(bg_mode mode)
{
    bg_runner_config config = small_config(mode, "4,6,16");
    config.query_lens = "1,3,4";
    return config;
}

/* Each size, rounded to whole requests, for each query length; from large to small. */
static void test_buckets_of_query_lengths(void **state)
{
    static const int tokens[] = {18, 16, 16, 16, 8, 6, 6, 6, 4, 4, 4}, lens[] = {3, 0, 4, 1, 4, 0, 3, 1, 0, 4, 1};
    fixture *f = *state;
    bg_runner_config config = query_lens_config(BG_MODE_FULL_AND_PIECEWISE);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    model m = {NULL};

    assert_non_null(out);
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    m.fail_above = 17;
    m.fail_status = BG_ERROR_TIMEOUT;
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_int_equal(bg_runner_bucket_count(m.runner), 11);
    for (int i = 0; i < 11; i++) {
        bg_bucket_info info = BG_BUCKET_INFO_INIT;
        EXPECT_OK(bg_runner_get_bucket(m.runner, i, &info));
        assert_int_equal(info.tokens, tokens[i]);
        assert_int_equal(info.decode, lens[i] > 0);
        assert_int_equal(info.max_query_len, lens[i] > 0 ? lens[i] : tokens[i]);
        assert_true(info.captured == (i > 0));
    }
    bg_runner_print(m.runner, out);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "\nfull      decode      16         4       0 "));
    assert_non_null(strstr(text, "\nfull      decode      16         1       0 "));
    assert_non_null(strstr(text, "\npiecewise mixed       16         -       0 "));
    free(text);
    bg_runner_destroy(m.runner);
}

static void test_dispatch_by_query_length(void **state)
{
    fixture *f = *state;
    bg_runner_config config = query_lens_config(BG_MODE_FULL_AND_PIECEWISE);
    model m = {NULL};

    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_graph(f, &m, uniform(4, 1), BG_MODE_FULL, 1, 4);
    expect_graph(f, &m, uniform(5, 1), BG_MODE_FULL, 1, 6);
    expect_graph(f, &m, uniform(1, 3), BG_MODE_FULL, 3, 6);
    expect_graph(f, &m, uniform(6, 3), BG_MODE_FULL, 3, 18);
    expect_graph(f, &m, uniform(1, 4), BG_MODE_FULL, 4, 4);
    expect_graph(f, &m, uniform(3, 4), BG_MODE_FULL, 4, 16);
    /* Not rounded up to a length of the list: mixed. */
    expect_graph(f, &m, uniform(2, 2), BG_MODE_PIECEWISE, 0, 4);
    expect_graph(f, &m, uniform(1, 5), BG_MODE_PIECEWISE, 0, 6);
    expect_graph(f, &m, mixed(4), BG_MODE_PIECEWISE, 0, 4);
    bg_runner_destroy(m.runner);

    config.mode = BG_MODE_FULL_DECODE_ONLY;
    m = (model){NULL};
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_graph(f, &m, uniform(2, 3), BG_MODE_FULL, 3, 6);
    expect_eager(f, &m, uniform(2, 2), BG_REASON_MODE_NONE);
    expect_eager(f, &m, uniform(7, 3), BG_REASON_TOO_LARGE);
    bg_runner_destroy(m.runner);
}

/* An op of single tokens leaves the other query lengths to the mixed batches' graphs. */
static void test_ops_lower_the_query_lengths(void **state)
{
    fixture *f = *state;

    EXPECT_OK(bg_op_set_attributes("add_variant", ATTRIBUTES(.graph_support = BG_SUPPORT_SINGLE_TOKEN_DECODE)));
    for (int lazy = 0; lazy < 2; lazy++) {
        bg_runner_config config = query_lens_config(BG_MODE_FULL_AND_PIECEWISE);
        model m = {NULL};
        config.lazy = lazy;
        open_with(f, &m, &config, BG_PAD_ZERO, 0);
        EXPECT_OK(bg_runner_capture(m.runner));
        expect_run(f, &m, uniform(1, 4), 1); /* a lazy runner finds out in this run */
        assert_int_equal(bg_runner_mode(m.runner), BG_MODE_FULL_AND_PIECEWISE);
        assert_int_equal(bg_runner_bucket_count(m.runner), 6);
        expect_graph(f, &m, uniform(4, 1), BG_MODE_FULL, 1, 4);
        expect_graph(f, &m, uniform(1, 4), BG_MODE_PIECEWISE, 0, 4);
        bg_runner_destroy(m.runner);
    }
    EXPECT_OK(bg_op_set_attributes("add_variant", NULL));
}

static void test_query_lengths_are_copied(void **state)
{
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_FULL_DECODE_ONLY, "4,16");
    char list[] = "1,4";
    bg_runner *runner;
    model m = {NULL};

    config.query_lens = list;
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    memset(list, 'x', sizeof list - 1);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_graph(f, &m, uniform(1, 4), BG_MODE_FULL, 4, 4);
    bg_runner_destroy(m.runner);
    EXPECT_STATUS(bg_runner_create(&runner, &config, forward, &m, f->stream), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("runner configuration: max_query_len: element 1, \"xxx\"");
    assert_int_equal(setenv("BG_RUNNER_MAX_QUERY_LEN", "2", 1), 0); /* in place of the list */
    config.query_lens = "1,4";
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    assert_int_equal(unsetenv("BG_RUNNER_MAX_QUERY_LEN"), 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_graph(f, &m, uniform(2, 2), BG_MODE_FULL, 2, 4);
    expect_eager(f, &m, uniform(1, 4), BG_REASON_MODE_NONE);
    bg_runner_destroy(m.runner);
}

static void test_full(void **state)
{
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_FULL, "4,16");
    int bodies;
    model m = {NULL};

    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    bodies = m.eager_bodies;
    expect_run(f, &m, mixed(3), 1);
    expect_run(f, &m, decode(16), 1);
    assert_int_equal(m.eager_bodies, bodies);
    bg_runner_destroy(m.runner);
}

static void expect_run_in(fixture *f, model *m, bg_batch batch, bg_mode mode)
{
    bg_counters before = counters();
    expect_run(f, m, batch, 1);
    if (mode == BG_MODE_NONE)
        before.eager[BG_REASON_MODE_NONE]++;
    else
        before.replays[mode]++;
    assert_memory_equal(before.eager, counters().eager, sizeof before.eager);
    assert_memory_equal(before.replays, counters().replays, sizeof before.replays);
}

static void test_ops_lower_the_mode(void **state)
{
    static const struct {
        bg_support support;
        bg_mode asked, got;
    } cases[] = {
        {BG_SUPPORT_NEVER, BG_MODE_FULL, BG_MODE_PIECEWISE},
        {BG_SUPPORT_NEVER, BG_MODE_FULL_AND_PIECEWISE, BG_MODE_PIECEWISE},
        {BG_SUPPORT_NEVER, BG_MODE_FULL_DECODE_ONLY, BG_MODE_NONE},
        {BG_SUPPORT_SINGLE_TOKEN_DECODE, BG_MODE_FULL, BG_MODE_FULL_AND_PIECEWISE},
        {BG_SUPPORT_ALWAYS, BG_MODE_FULL, BG_MODE_FULL},
    };
    fixture *f = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int warmups = 0; warmups < 2; warmups++)
            for (int lazy = 0; lazy < 2; lazy++) {
                bg_runner_config config = small_config(cases[i].asked, "4,16");
                model m = {NULL};
                config.warmups = warmups;
                config.lazy = lazy;
                EXPECT_OK(bg_op_set_attributes("add_variant", ATTRIBUTES(.graph_support = cases[i].support)));
                open_with(f, &m, &config, BG_PAD_ZERO, 0);
                EXPECT_OK(bg_runner_capture(m.runner));
                expect_run(f, &m, decode(3), 1); /* a lazy runner finds out in this run */
                assert_int_equal(bg_runner_mode(m.runner), cases[i].got);
                expect_run_in(f, &m, decode(3), bg_mode_decode(cases[i].got));
                expect_run_in(f, &m, mixed(9), bg_mode_mixed(cases[i].got));
                bg_runner_destroy(m.runner);
            }
    EXPECT_OK(bg_op_set_attributes("add_variant", NULL));
}

/* ---- variants, lazy buckets, failures ---- */

static void test_variants(void **state)
{
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_FULL, "4");
    bg_batch batch = mixed(3);
    model m = {NULL};

    config.variants = 3;
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_int_equal(bg_runner_bucket_count(m.runner), 3);
    for (batch.variant = 2; batch.variant >= 0; batch.variant--)
        expect_run(f, &m, batch, 5);
    batch.variant = 3;
    expect_eager(f, &m, batch, BG_REASON_NOT_CAPTURED);
    bg_runner_destroy(m.runner);
}

static void test_lazy(void **state)
{
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_PIECEWISE, "4,16");
    bg_batch batch = mixed(3);
    uint64_t before = counters().captures;
    float rows[3 * WIDTH] = {7, 8, 9};
    model m = {NULL};

    config.lazy = true;
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_int_equal(counters().captures, before);
    assert_true(bg_runner_can_run(m.runner, &batch, NULL));
    /* What lies in the static buffer already outlives the capture. */
    EXPECT_CUDA(cudaMemcpyAsync(m.x.data, rows, sizeof rows, cudaMemcpyHostToDevice, f->stream));
    EXPECT_OK(bg_runner_run(m.runner, &batch, NULL, NULL, NULL));
    EXPECT_CUDA(cudaMemcpyAsync(rows, m.y.data, sizeof rows, cudaMemcpyDeviceToHost, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    assert_true(rows[0] == 15 && rows[1] == 17 && rows[2] == 19);
    assert_int_equal(counters().captures, before + 1);
    expect_run(f, &m, mixed(4), 1);
    assert_int_equal(counters().captures, before + 1);
    expect_run(f, &m, mixed(5), 1);
    assert_int_equal(counters().captures, before + 2);
    bg_runner_destroy(m.runner);
}

static void test_a_bucket_fails(void **state)
{
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_PIECEWISE, "4,16");
    bg_bucket_info info = BG_BUCKET_INFO_INIT;
    model m = {NULL};

    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    m.fail_above = 8;
    m.fail_status = BG_ERROR_TIMEOUT;
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_OK(bg_runner_get_bucket(m.runner, 0, &info));
    assert_false(info.captured);
    assert_non_null(strstr(info.failure, "BG_ERROR_TIMEOUT"));
    expect_run(f, &m, mixed(4), 1);
    m.fail_above = 0;
    expect_eager(f, &m, mixed(9), BG_REASON_CAPTURE_FAILED);
    EXPECT_OK(bg_runner_capture(m.runner)); /* another attempt */
    EXPECT_OK(bg_runner_get_bucket(m.runner, 0, &info));
    assert_true(info.captured);
    expect_run(f, &m, mixed(9), 1);
    m.fail_above = 1;
    EXPECT_STATUS(bg_runner_capture(m.runner), BG_ERROR_TIMEOUT);
    EXPECT_ERROR("no bucket could be captured");
    m.fail_above = 0;
    expect_eager(f, &m, mixed(4), BG_REASON_CAPTURE_FAILED);
    bg_runner_destroy(m.runner);
}

/* ---- padding ---- */

static void expect_padding(fixture *f, bg_padding padding, double value, const float *expected)
{
    bg_runner_config config = small_config(BG_MODE_PIECEWISE, "4");
    bg_batch batch = mixed(2);
    float rows[4 * WIDTH], found[4 * WIDTH];
    bg_tensor input = bg_tensor_2d(rows, BG_F32, 4, WIDTH);
    model m = {NULL};

    for (int i = 0; i < 4 * WIDTH; i++)
        rows[i] = 100 + (float)i;
    open_with(f, &m, &config, padding, value);
    EXPECT_OK(bg_runner_capture(m.runner));
    batch = mixed(4);
    EXPECT_OK(bg_runner_run(m.runner, &batch, &input, NULL, NULL));
    for (int i = 0; i < 2 * WIDTH; i++)
        rows[i] = (float)i;
    batch = mixed(2);
    input.dim[0] = 2;
    EXPECT_OK(bg_runner_run(m.runner, &batch, &input, NULL, NULL));
    EXPECT_CUDA(cudaMemcpyAsync(found, m.x.data, sizeof found, cudaMemcpyDeviceToHost, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    for (int i = 0; i < 2 * WIDTH; i++) {
        float want = expected != NULL ? expected[i % WIDTH] : 100 + 2 * WIDTH + (float)i;
        assert_true(found[i] == (float)i);
        if (found[2 * WIDTH + i] != want && !(isnan(want) && isnan(found[2 * WIDTH + i])))
            fail_msg("padding %d: element %d is %g, not %g", (int)padding, i, found[2 * WIDTH + i], want);
    }
    bg_runner_destroy(m.runner);
}

static void test_padding(void **state)
{
    float not_a_number = nanf("");
    expect_padding(*state, BG_PAD_ZERO, 5, (const float[]){0, 0, 0, 0});
    expect_padding(*state, BG_PAD_SENTINEL, -7.5, (const float[]){-7.5, -7.5, -7.5, -7.5});
    expect_padding(*state, BG_PAD_SENTINEL, (double)not_a_number,
                   (const float[]){not_a_number, not_a_number, not_a_number, not_a_number});
    expect_padding(*state, BG_PAD_REPEAT_LAST, 5, (const float[]){4, 5, 6, 7});
    expect_padding(*state, BG_PAD_KEEP, 5, NULL);
}

/* Each dtype's sentinel, as its bytes. */
static void test_sentinels(void **state)
{
    static const struct {
        bg_dtype dtype;
        double value;
        const char *bytes; /* of an element, little-endian; NULL: no value of that dtype */
    } cases[] = {
        {BG_I32, -1, "\xff\xff\xff\xff"},
        {BG_I64, -2, "\xfe\xff\xff\xff\xff\xff\xff\xff"},
        {BG_I8, -128, "\x80"},
        {BG_U8, 255, "\xff"},
        {BG_BOOL, 1, "\x01"},
        {BG_F32, 1, "\x00\x00\x80\x3f"},
        {BG_F64, 1, "\x00\x00\x00\x00\x00\x00\xf0\x3f"},
        {BG_F16, 1, "\x00\x3c"},
        {BG_F16, -65504, "\xff\xfb"},
        {BG_F16, 5.9604644775390625e-08, "\x01\x00"}, /* 2^-24 */
        {BG_F16, 1.0009765625, "\x01\x3c"},           /* 1 + 2^-10 */
        {BG_F16, 1.00048828125, "\x00\x3c"},          /* 1 + 2^-11: to even */
        {BG_F16, (double)INFINITY, "\x00\x7c"},
        {BG_BF16, 1, "\x80\x3f"},
        {BG_BF16, 3.140625, "\x49\x40"},
        {BG_I8, 128, NULL},
        {BG_U8, -1, NULL},
        {BG_BOOL, 2, NULL},
        {BG_I32, 1.5, NULL},
        {BG_I64, 9223372036854775808.0, NULL},
        {BG_I32, (double)NAN, NULL},
        {BG_F16, 65520, NULL},
        {BG_F32, 1e39, NULL},
    };
    fixture *f = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bg_runner_config config = small_config(BG_MODE_PIECEWISE, "4");
        size_t bytes = bg_dtype_bytes(cases[i].dtype);
        bg_batch batch = mixed(3);
        unsigned char found[4 * 8];
        bg_tensor t;
        model m = {NULL};

        open_with(f, &m, &config, BG_PAD_ZERO, 0);
        if (cases[i].bytes == NULL) {
            EXPECT_STATUS(bg_runner_add_input(m.runner, "t", cases[i].dtype, 1, (int64_t[]){0}, BG_PAD_SENTINEL,
                                              cases[i].value, &t),
                          BG_ERROR_INVALID_ARGUMENT);
            EXPECT_ERROR("cannot be represented as");
        } else {
            EXPECT_OK(bg_runner_add_input(m.runner, "t", cases[i].dtype, 1, (int64_t[]){0}, BG_PAD_SENTINEL,
                                          cases[i].value, &t));
            EXPECT_OK(bg_runner_capture(m.runner));
            EXPECT_OK(bg_runner_run(m.runner, &batch, NULL, NULL, NULL));
            EXPECT_CUDA(cudaMemcpyAsync(found, t.data, 4 * bytes, cudaMemcpyDeviceToHost, f->stream));
            EXPECT_CUDA(cudaStreamSynchronize(f->stream));
            assert_memory_equal(found + 3 * bytes, cases[i].bytes, bytes);
        }
        bg_runner_destroy(m.runner);
    }
}

/* ---- inputs in place, outputs as views, state ---- */

static void test_bound_inputs_and_views(void **state)
{
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_PIECEWISE, "4");
    bg_batch batch = mixed(3);
    float rows[3 * WIDTH] = {1, 2, 3}, found[3 * WIDTH];
    bg_tensor output = {.data = NULL};
    bg_tensor input;
    float *own;
    model m = {NULL};

    EXPECT_CUDA(cudaMalloc((void **)&own, TOKENS_MAX * WIDTH * sizeof(float)));
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_STATUS(bg_runner_bind_input(m.runner, "z", own, &m.x), BG_ERROR_NOT_FOUND);
    EXPECT_OK(bg_runner_bind_input(m.runner, "x", own, &m.x));
    assert_ptr_equal(m.x.data, own);
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_STATUS(bg_runner_bind_input(m.runner, "x", own, &m.x), BG_ERROR_BUSY);
    EXPECT_CUDA(cudaMemcpyAsync(own, rows, sizeof rows, cudaMemcpyHostToDevice, f->stream));
    input = bg_tensor_2d(own, BG_F32, 3, WIDTH);
    EXPECT_OK(bg_runner_run(m.runner, &batch, &input, &output, NULL));
    assert_ptr_equal(output.data, m.y.data);
    assert_int_equal(output.dim[0], 3);
    batch = mixed(2); /* the view of one run asks for that of the next */
    input.dim[0] = 2;
    EXPECT_OK(bg_runner_run(m.runner, &batch, &input, &output, NULL));
    assert_ptr_equal(output.data, m.y.data);
    assert_int_equal(output.dim[0], 2);
    EXPECT_CUDA(cudaMemcpyAsync(found, output.data, sizeof found, cudaMemcpyDeviceToHost, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    assert_true(found[0] == 3 && found[1] == 5 && found[2] == 7);
    expect_run(f, &m, mixed(2), 4); /* from elsewhere: copied, and said once */
    expect_run(f, &m, mixed(3), 5);
    bg_runner_destroy(m.runner);
    EXPECT_CUDA(cudaFree(own));
}

static void test_state_is_put_back(void **state)
{
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_PIECEWISE, "4");
    float first;
    model m = {.counted = &f->x};

    put(&f->x, 42);
    config.state = &f->x;
    config.state_count = 1;
    config.warmups = 3;
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_int_equal(m.passes, 4);
    assert_true(get(&f->x) == 42);
    bg_runner_destroy(m.runner);
    config.lazy = true;
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    put(&f->x, 42);
    expect_run(f, &m, mixed(3), 1);
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

static void test_callbacks(void **state)
{
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_PIECEWISE, "4,16");
    called c = {{0}, 0};
    bg_batch batch = mixed(5);
    model m = {NULL};

    config.prepare = prepare;
    config.pad_across_ranks = to_sixteen;
    config.callback_user = &c;
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_int_equal(c.prepared[BG_PHASE_WARMUP], 2);
    assert_int_equal(c.prepared[BG_PHASE_CAPTURE], 2);
    expect_run(f, &m, mixed(2), 1);
    assert_int_equal(m.in_body.padded_tokens, 16); /* as another rank needs */
    assert_int_equal(c.prepared[BG_PHASE_REPLAY], 1);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("returned 3 for 5 tokens");
    batch = mixed(6);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_RANKS);
    EXPECT_ERROR("config.pad_across_ranks: the job failed: rank 1 has ended");
    batch = mixed(7);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_RANKS);
    EXPECT_ERROR("config.pad_across_ranks failed: it returned -2 for 7 tokens, without a message");
    c.fails = 1;
    batch = mixed(2);
    EXPECT_STATUS(bg_runner_run(m.runner, &batch, NULL, NULL, NULL), BG_ERROR_IO);
    EXPECT_ERROR("config.prepare: it returned BG_ERROR_IO");
    c.fails = 0;
    expect_run(f, &m, mixed(2), 1);
    bg_runner_destroy(m.runner);
}

/* ---- bad input ---- */

static void test_bad_batches(void **state)
{
    static const bg_batch bad[] = {
        {.tokens = 0, .requests = 1, .max_query_len = 1},
        {.tokens = -1},
        {.tokens = 4, .requests = 5},
        {.tokens = 4, .max_query_len = 5},
        {.tokens = 4, .variant = -1},
        {.tokens = 4, .requests = 3, .max_query_len = 1, .uniform_decode = true},
    };
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_PIECEWISE, "4");
    bg_batch batch = mixed(3);
    bg_tensor input, output;
    model m = {NULL};

    open_with(f, &m, &config, BG_PAD_ZERO, 0);
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

static void test_bad_declarations(void **state)
{
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_PIECEWISE, "4");
    bg_runner *runner;
    bg_tensor t;
    model m = {NULL};

    EXPECT_STATUS(bg_runner_create(&runner, NULL, forward, &m, f->stream), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_create(&runner, &config, NULL, &m, f->stream), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_create(&runner, &config, forward, &m, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_runner_create(NULL, &config, forward, &m, f->stream), BG_ERROR_INVALID_ARGUMENT);
    config.schedule = "4,3";
    EXPECT_STATUS(bg_runner_create(&runner, &config, forward, &m, f->stream), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("schedule");
    assert_null(runner);
    config.schedule = "4";
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
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
    expect_run(f, &m, mixed(2), 1);
    bg_runner_destroy(m.runner);
    bg_runner_destroy(NULL);
}

static void test_debug_modes(void **state)
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
    fixture *f = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int mode = BG_MODE_PIECEWISE; mode <= BG_MODE_FULL; mode++) {
            bg_runner_config config = small_config((bg_mode)mode, "4,16");
            bg_bucket_info info = BG_BUCKET_INFO_INIT;
            int passes;
            model m = {NULL};
            config.debug = cases[i].debug;
            open_with(f, &m, &config, BG_PAD_ZERO, 0);
            EXPECT_OK(bg_runner_capture(m.runner));
            EXPECT_OK(bg_runner_get_bucket(m.runner, 0, &info));
            assert_int_equal(info.segments, cases[i].segments[mode]);
            assert_int_equal(info.nodes > 1, cases[i].nodes);
            passes = m.passes;
            expect_run(f, &m, mixed(3), 1);
            assert_int_equal(m.passes, passes + (cases[i].debug == BG_DEBUG_FORWARD));
            expect_run(f, &m, mixed(16), 2);
            expect_run(f, &m, mixed(4), 3);
            bg_runner_destroy(m.runner);
        }
}

static void test_environment(void **state)
{
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_PIECEWISE, "4");
    bg_runner *runner;
    model m = {NULL};

    assert_int_equal(setenv("BG_RUNNER_SCHEDULE", "2,4,8", 1), 0);
    assert_int_equal(setenv("BG_RUNNER_MODE", "full", 1), 0);
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    assert_int_equal(bg_runner_bucket_count(m.runner), 3);
    assert_int_equal(bg_runner_mode(m.runner), BG_MODE_FULL);
    bg_runner_destroy(m.runner);
    assert_int_equal(setenv("BG_RUNNER_MOOD", "full", 1), 0);
    EXPECT_STATUS(bg_runner_create(&runner, &config, forward, &m, f->stream), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("BG_RUNNER_MOOD");
    unsetenv("BG_RUNNER_MOOD");
    unsetenv("BG_RUNNER_MODE");
    unsetenv("BG_RUNNER_SCHEDULE");
}

static void test_figures(void **state)
{
    fixture *f = *state;
    bg_runner_config config = small_config(BG_MODE_PIECEWISE, "4,16");
    bg_bucket_info info = BG_BUCKET_INFO_INIT;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    model m = {NULL};

    assert_non_null(out);
    open_with(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    bg_counters_reset();
    expect_run(f, &m, mixed(3), 1);
    expect_run(f, &m, mixed(40), 1);
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_batches_run_by_the_smallest_bucket),
        TEST(test_eager_runs_and_their_reasons),
        TEST(test_batches_above_max_tokens),
        TEST(test_full_and_piecewise),
        TEST(test_full_decode_only),
        TEST(test_buckets_of_query_lengths),
        TEST(test_dispatch_by_query_length),
        TEST(test_ops_lower_the_query_lengths),
        TEST(test_query_lengths_are_copied),
        TEST(test_full),
        TEST(test_ops_lower_the_mode),
        TEST(test_variants),
        TEST(test_lazy),
        TEST(test_a_bucket_fails),
        TEST(test_padding),
        TEST(test_sentinels),
        TEST(test_bound_inputs_and_views),
        TEST(test_state_is_put_back),
        TEST(test_callbacks),
        TEST(test_bad_batches),
        TEST(test_bad_declarations),
        TEST(test_debug_modes),
        TEST(test_environment),
        TEST(test_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
