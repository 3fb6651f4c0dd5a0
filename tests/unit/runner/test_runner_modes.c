/* Which batches the runner's modes run by which graphs: of one query length, of mixed ones, and what ops allow. */
#include "tests/support/test.h"
#include "tests/support/runner/sum_model.h"

#include <stdlib.h>
#include <string.h>

FIXTURE_TEST(test_full_and_piecewise)
{
    bg_runner_config config = sum_model_config(BG_MODE_FULL_AND_PIECEWISE, "4,16");
    bg_counters before;
    int bodies;
    sum_model m = {0};

    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
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
    before = counters_now();
    bodies = m.eager_bodies;
    expect_run(f, &m, decode_tokens(3), 1);
    expect_run(f, &m, decode_tokens(4), 1);
    assert_int_equal(m.eager_bodies, bodies); /* all in the graph */
    expect_run(f, &m, mixed_tokens(3), 1);
    assert_int_equal(m.eager_bodies, bodies + 1);
    assert_int_equal(counters_now().replays[BG_MODE_FULL], before.replays[BG_MODE_FULL] + 2);
    assert_int_equal(counters_now().replays[BG_MODE_PIECEWISE], before.replays[BG_MODE_PIECEWISE] + 1);
    assert_int_equal(counters_now().padded_tokens, before.padded_tokens + 2);
    bg_runner_destroy(m.runner);
}

FIXTURE_TEST(test_full_decode_only)
{
    bg_runner_config config = sum_model_config(BG_MODE_FULL_DECODE_ONLY, "4,6,16");
    bg_batch longer = {.tokens = 6, .requests = 2, .max_query_len = 3, .uniform_decode = true};
    bg_batch single = decode_tokens(4);
    bg_bucket_info info = BG_BUCKET_INFO_INIT;
    uint64_t before;
    sum_model m = {0};

    config.max_query_len = 3;
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    assert_int_equal(bg_runner_bucket_count(m.runner), 2); /* 6 and 18: 4 rounds up to whole requests, too */
    EXPECT_OK(bg_runner_get_bucket(m.runner, 0, &info));
    assert_int_equal(info.tokens, 18);
    assert_int_equal(info.max_query_len, 3);
    before = counters_now().replays[BG_MODE_FULL];
    expect_run(f, &m, longer, 2);
    assert_int_equal(counters_now().replays[BG_MODE_FULL], before + 1);
    expect_eager(f, &m, single, BG_REASON_MODE_NONE); /* other queries than the graphs have */
    expect_eager(f, &m, mixed_tokens(6), BG_REASON_MODE_NONE);
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
static void expect_graph(fixture *f, sum_model *m, bg_batch batch, bg_mode mode, int query_len, int padded)
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
    bg_runner_config config = sum_model_config(mode, "4,6,16");
    config.query_lens = "1,3,4";
    return config;
}

/* Each size, rounded to whole requests, for each query length; from large to small. */
FIXTURE_TEST(test_buckets_of_query_lengths)
{
    static const int tokens[] = {18, 16, 16, 16, 8, 6, 6, 6, 4, 4, 4}, lens[] = {3, 0, 4, 1, 4, 0, 3, 1, 0, 4, 1};
    bg_runner_config config = query_lens_config(BG_MODE_FULL_AND_PIECEWISE);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    sum_model m = {0};

    assert_non_null(out);
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
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

FIXTURE_TEST(test_dispatch_by_query_length)
{
    bg_runner_config config = query_lens_config(BG_MODE_FULL_AND_PIECEWISE);
    sum_model m = {0};

    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
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
    expect_graph(f, &m, mixed_tokens(4), BG_MODE_PIECEWISE, 0, 4);
    bg_runner_destroy(m.runner);

    config.mode = BG_MODE_FULL_DECODE_ONLY;
    m = (sum_model){0};
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_graph(f, &m, uniform(2, 3), BG_MODE_FULL, 3, 6);
    expect_eager(f, &m, uniform(2, 2), BG_REASON_MODE_NONE);
    expect_eager(f, &m, uniform(7, 3), BG_REASON_TOO_LARGE);
    bg_runner_destroy(m.runner);
}

/* An op of single tokens leaves the other query lengths to the mixed batches' graphs. */
FIXTURE_TEST(test_ops_lower_the_query_lengths)
{
    EXPECT_OK(bg_op_set_attributes("add_variant", ATTRIBUTES(.graph_support = BG_SUPPORT_SINGLE_TOKEN_DECODE)));
    for (int lazy = 0; lazy < 2; lazy++) {
        bg_runner_config config = query_lens_config(BG_MODE_FULL_AND_PIECEWISE);
        sum_model m = {0};
        config.lazy = lazy;
        sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
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

/* The buckets' sizes, from small to large, of decode batches of that length; 0: of mixed ones. */
static void expect_sizes(const sum_model *m, int query_len, const int *sizes)
{
    int at = 0;
    for (int i = bg_runner_bucket_count(m->runner) - 1; i >= 0; i--) {
        bg_bucket_info info = BG_BUCKET_INFO_INIT;
        EXPECT_OK(bg_runner_get_bucket(m->runner, i, &info));
        if ((info.decode ? info.max_query_len : 0) == query_len)
            assert_int_equal(info.tokens, sizes[at++]);
    }
    assert_int_equal(sizes[at], 0);
}

/* No batch is padded across a limit; limits beyond the schedule add no size. */
FIXTURE_TEST(test_row_limits_are_sizes)
{
    static const int mixed[] = {4, 6, 11, 16, 0}, single[] = {4, 6, 11, 16, 0}, three[] = {6, 9, 18, 0},
                     four[] = {4, 8, 16, 0};

    EXPECT_OK(bg_op_set_attributes("add_variant", ATTRIBUTES(.row_limits = {6, 11, 500})));
    for (int lazy = BG_LAZY_NO; lazy <= BG_LAZY_BACKGROUND; lazy++) {
        bg_runner_config config = query_lens_config(BG_MODE_FULL_AND_PIECEWISE);
        sum_model m = {0};
        config.lazy = (uint8_t)lazy;
        sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
        EXPECT_OK(bg_runner_capture(m.runner));
        expect_run(f, &m, mixed_tokens(16), 1); /* a lazy runner finds out in this run */
        assert_int_equal(bg_runner_mode(m.runner), BG_MODE_FULL_AND_PIECEWISE);
        expect_sizes(&m, 0, mixed);
        expect_sizes(&m, 1, single);
        expect_sizes(&m, 3, three);
        expect_sizes(&m, 4, four);
        if (lazy == BG_LAZY_BACKGROUND) { /* the next larger one that is there is beyond the limit */
            expect_eager(f, &m, mixed_tokens(10), BG_REASON_NOT_CAPTURED);
            expect_graph(f, &m, mixed_tokens(12), BG_MODE_PIECEWISE, 0, 16);
            EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX));
        }
        expect_run(f, &m, mixed_tokens(7), 1);
        expect_graph(f, &m, mixed_tokens(7), BG_MODE_PIECEWISE, 0, 11);
        expect_run(f, &m, uniform(3, 3), 1);
        expect_graph(f, &m, uniform(3, 3), BG_MODE_FULL, 3, 9);
        bg_runner_destroy(m.runner);
    }
    EXPECT_OK(bg_op_set_attributes("add_variant", NULL));
}

static char *printed(const bg_runner *runner, void (*print)(const bg_runner *, FILE *))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    print(runner, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void expect_printed(const sum_model *m, const char *table, const char *json)
{
    char *rows = printed(m->runner, bg_runner_print), *object = printed(m->runner, bg_runner_print_json);
    if (strstr(rows, table) == NULL || strstr(object, json) == NULL)
        fail_msg("%s\nlacks \"%s\", or\n%s\nlacks \"%s\"", rows, table, object, json);
    free(rows);
    free(object);
}

/* What was never captured is counted by what it differs in. */
FIXTURE_TEST(test_misses)
{
    bg_runner_config config = query_lens_config(BG_MODE_FULL_AND_PIECEWISE);
    bg_batch other = uniform(2, 2);
    bg_counters before = counters_now(), after;
    sum_model m = {0};

    config.variants = 2;
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_run(f, &m, uniform(4, 1), 1);
    expect_run(f, &m, mixed_tokens(4), 1);
    expect_printed(&m, "\ncaptured: 22 of 22 buckets", "\"families\"");
    for (int i = 0; i < 22; i++)
        expect_run(f, &m, uniform(2, 2), 1);
    assert_int_equal(counters_now().replays[BG_MODE_PIECEWISE], before.replays[BG_MODE_PIECEWISE] + 23);
    other.variant = 2;
    expect_eager(f, &m, other, BG_REASON_NOT_CAPTURED);
    assert_false(bg_runner_can_run(m.runner, &other, NULL));
    EXPECT_ERROR(
        "no graph was captured for batches of query length 2 (captured: 1, 3, 4; config.max_query_len), variant 2 "
        "(captured: 0 to 1; config.variants), so they run eagerly");
    other = mixed_tokens(4);
    other.variant = 5;
    expect_eager(f, &m, other, BG_REASON_NOT_CAPTURED);
    assert_false(bg_runner_can_run(m.runner, &other, NULL));
    EXPECT_ERROR("no graph was captured for batches of variant 5 (captured: 0 to 1; config.variants), so they");
    after = counters_now();
    assert_int_equal(after.missed_query_lens - before.missed_query_lens, 23);
    assert_int_equal(after.missed_variants - before.missed_variants, 2);
    expect_printed(&m, "\nnever captured: 22 batches of query length 2 (captured: 1, 3, 4; config.max_query_len)\n",
                   "\"missed\":[{\"query_len\":2,\"variant\":0,\"batches\":22},{\"query_len\":2,\"variant\":2,"
                   "\"batches\":1},{\"query_len\":0,\"variant\":5,\"batches\":1}]");
    for (int i = 0; i < 20; i++) { /* more than the list has room for */
        other.variant = 10 + i;
        expect_eager(f, &m, other, BG_REASON_NOT_CAPTURED);
    }
    expect_printed(&m, "\nnever captured: 7 batches of others\n", "\"variant\":22,\"batches\":1}]");
    bg_runner_destroy(m.runner);

    config.mode = BG_MODE_FULL_DECODE_ONLY;
    m = (sum_model){0};
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    other = uniform(2, 2);
    expect_eager(f, &m, other, BG_REASON_MODE_NONE);
    assert_false(bg_runner_can_run(m.runner, &other, NULL));
    EXPECT_ERROR(
        "no graph was captured for decode batches of query length 2 (captured: 1, 3, 4; config.max_query_len), "
        "and the mode full_decode_only has none for mixed ones, so they run eagerly");
    other = mixed_tokens(4);
    other.variant = 5; /* what the mode has no graphs for is no miss of a variant */
    before = counters_now();
    expect_eager(f, &m, other, BG_REASON_MODE_NONE);
    assert_false(bg_runner_can_run(m.runner, &other, NULL));
    EXPECT_ERROR("the mode full_decode_only has no graphs for mixed batches, so they run eagerly");
    assert_int_equal(counters_now().missed_variants, before.missed_variants);
    bg_runner_destroy(m.runner);
}

FIXTURE_TEST(test_query_lengths_are_copied)
{
    bg_runner_config config = sum_model_config(BG_MODE_FULL_DECODE_ONLY, "4,16");
    char list[] = "1,4";
    bg_runner *runner;
    sum_model m = {0};

    config.query_lens = list;
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    memset(list, 'x', sizeof list - 1);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_graph(f, &m, uniform(1, 4), BG_MODE_FULL, 4, 4);
    bg_runner_destroy(m.runner);
    EXPECT_STATUS(bg_runner_create(&runner, &config, sum_model_forward, &m, f->stream), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("runner configuration: max_query_len: element 1, \"xxx\"");
    assert_int_equal(setenv("BG_RUNNER_MAX_QUERY_LEN", "2", 1), 0); /* in place of the list */
    config.query_lens = "1,4";
    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    assert_int_equal(unsetenv("BG_RUNNER_MAX_QUERY_LEN"), 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_graph(f, &m, uniform(2, 2), BG_MODE_FULL, 2, 4);
    expect_eager(f, &m, uniform(1, 4), BG_REASON_MODE_NONE);
    bg_runner_destroy(m.runner);
}

FIXTURE_TEST(test_full)
{
    bg_runner_config config = sum_model_config(BG_MODE_FULL, "4,16");
    int bodies;
    sum_model m = {0};

    sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
    EXPECT_OK(bg_runner_capture(m.runner));
    bodies = m.eager_bodies;
    expect_run(f, &m, mixed_tokens(3), 1);
    expect_run(f, &m, decode_tokens(16), 1);
    assert_int_equal(m.eager_bodies, bodies);
    bg_runner_destroy(m.runner);
}

static void expect_run_in(fixture *f, sum_model *m, bg_batch batch, bg_mode mode)
{
    bg_counters before = counters_now();
    expect_run(f, m, batch, 1);
    if (mode == BG_MODE_NONE)
        before.eager[BG_REASON_MODE_NONE]++;
    else
        before.replays[mode]++;
    assert_memory_equal(before.eager, counters_now().eager, sizeof before.eager);
    assert_memory_equal(before.replays, counters_now().replays, sizeof before.replays);
}

FIXTURE_TEST(test_ops_lower_the_mode)
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

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int warmups = 0; warmups < 2; warmups++)
            for (int lazy = 0; lazy < 2; lazy++) {
                bg_runner_config config = sum_model_config(cases[i].asked, "4,16");
                sum_model m = {0};
                config.warmups = warmups;
                config.lazy = lazy;
                EXPECT_OK(bg_op_set_attributes("add_variant", ATTRIBUTES(.graph_support = cases[i].support)));
                sum_model_open(f, &m, &config, BG_PAD_ZERO, 0);
                EXPECT_OK(bg_runner_capture(m.runner));
                expect_run(f, &m, decode_tokens(3), 1); /* a lazy runner finds out in this run */
                assert_int_equal(bg_runner_mode(m.runner), cases[i].got);
                expect_run_in(f, &m, decode_tokens(3), bg_mode_decode(cases[i].got));
                expect_run_in(f, &m, mixed_tokens(9), bg_mode_mixed(cases[i].got));
                bg_runner_destroy(m.runner);
            }
    EXPECT_OK(bg_op_set_attributes("add_variant", NULL));
}
