/* Which batches the runner's modes run by which graphs: of one query length, of mixed ones, and what ops allow. */
#include "tests/support/runner/sum_model.h"

FIXTURE_TEST(test_full_and_piecewise)
{
    bg_counters before;
    int bodies;
    STARTED_SUM_MODEL(m, f, CONFIG(.mode = BG_MODE_FULL_AND_PIECEWISE));

    assert_int_equal(bg_runner_bucket_count(m.runner), 4);
    for (int i = 0; i < 4; i++) {
        const bg_bucket_info info = bucket_of(m.runner, i);
        assert_true(info.captured);
        assert_int_equal(info.tokens, i < 2 ? 16 : 4);
        assert_int_equal(info.segments, info.mode == BG_MODE_FULL ? 1 : 2);
        assert_true(info.decode == (info.mode == BG_MODE_FULL));
    }
    before = counters_now();
    bodies = m.eager_bodies;
    expect_run(f, &m, decode_batch(3, 1), 1);
    expect_run(f, &m, decode_batch(4, 1), 1);
    assert_int_equal(m.eager_bodies, bodies); /* all in the graph */
    expect_run(f, &m, mixed_batch(3), 1);
    assert_int_equal(m.eager_bodies, bodies + 1);
    assert_int_equal(counters_now().replays[BG_MODE_FULL], before.replays[BG_MODE_FULL] + 2);
    assert_int_equal(counters_now().replays[BG_MODE_PIECEWISE], before.replays[BG_MODE_PIECEWISE] + 1);
    assert_int_equal(counters_now().padded_tokens, before.padded_tokens + 2);
}

FIXTURE_TEST(test_full_decode_only)
{
    uint64_t before;
    STARTED_SUM_MODEL(m, f, CONFIG(.mode = BG_MODE_FULL_DECODE_ONLY, .schedule = "4,6,16", .max_query_len = 3));

    assert_int_equal(bg_runner_bucket_count(m.runner), 2); /* 6 and 18: 4 rounds up to whole requests, too */
    assert_int_equal(bucket_of(m.runner, 0).tokens, 18);
    assert_int_equal(bucket_of(m.runner, 0).max_query_len, 3);
    before = counters_now().replays[BG_MODE_FULL];
    expect_run(f, &m, decode_batch(2, 3), 2);
    assert_int_equal(counters_now().replays[BG_MODE_FULL], before + 1);
    expect_eager(f, &m, decode_batch(4, 1), BG_REASON_MODE_NONE); /* other queries than the graphs have */
    expect_eager(f, &m, mixed_batch(6), BG_REASON_MODE_NONE);
    expect_eager(f, &m, decode_batch(7, 3), BG_REASON_TOO_LARGE);
}

/* Runs it, by a graph of that mode and so many rows; padded 0: eagerly. */
static void expect_graph(fixture *f, sum_model *m, bg_batch batch, bg_mode mode, int query_len, int padded)
{
    for (int i = 0; i < bg_runner_bucket_count(m->runner); i++) {
        const bg_bucket_info before = bucket_of(m->runner, i);
        const bool is_it = before.mode == mode && before.tokens == padded &&
                           (before.decode ? before.max_query_len == query_len : query_len == 0);
        uint64_t replays;
        expect_run(f, m, batch, 2);
        replays = bucket_of(m->runner, i).replays - before.replays;
        if (replays != is_it)
            fail_msg("%d tokens of query length %d: bucket %d (%d tokens, query length %d) was replayed %d times",
                     batch.tokens, batch.max_query_len, i, before.tokens, before.max_query_len, (int)replays);
    }
}

#define QUERY_LENS_CONFIG(...) CONFIG(.schedule = "4,6,16", .query_lens = "1,3,4", __VA_ARGS__)

/* Each size, rounded to whole requests, for each query length; from large to small. */
FIXTURE_TEST(test_buckets_of_query_lengths)
{
    static const int tokens[] = {18, 16, 16, 16, 8, 6, 6, 6, 4, 4, 4}, lens[] = {3, 0, 4, 1, 4, 0, 3, 1, 0, 4, 1};
    OWNED_SUM_MODEL(m);

    m.fail_above = 17;
    m.fail_status = BG_ERROR_TIMEOUT;
    sum_model_start(f, &m, QUERY_LENS_CONFIG(.mode = BG_MODE_FULL_AND_PIECEWISE));
    assert_int_equal(bg_runner_bucket_count(m.runner), 11);
    for (int i = 0; i < 11; i++) {
        const bg_bucket_info info = bucket_of(m.runner, i);
        assert_int_equal(info.tokens, tokens[i]);
        assert_int_equal(info.decode, lens[i] > 0);
        assert_int_equal(info.max_query_len, lens[i] > 0 ? lens[i] : tokens[i]);
        assert_true(info.captured == (i > 0));
    }
    OWNED_TEXT(text, m.runner, bg_runner_print);
    EXPECT_TEXT(text, "\nfull      decode      16         4       0 ");
    EXPECT_TEXT(text, "\nfull      decode      16         1       0 ");
    EXPECT_TEXT(text, "\npiecewise mixed       16         -       0 ");
}

FIXTURE_TEST(test_dispatch_by_query_length)
{
    STARTED_SUM_MODEL(m, f, QUERY_LENS_CONFIG(.mode = BG_MODE_FULL_AND_PIECEWISE));

    expect_graph(f, &m, decode_batch(4, 1), BG_MODE_FULL, 1, 4);
    expect_graph(f, &m, decode_batch(5, 1), BG_MODE_FULL, 1, 6);
    expect_graph(f, &m, decode_batch(1, 3), BG_MODE_FULL, 3, 6);
    expect_graph(f, &m, decode_batch(6, 3), BG_MODE_FULL, 3, 18);
    expect_graph(f, &m, decode_batch(1, 4), BG_MODE_FULL, 4, 4);
    expect_graph(f, &m, decode_batch(3, 4), BG_MODE_FULL, 4, 16);
    /* Not rounded up to a length of the list: mixed. */
    expect_graph(f, &m, decode_batch(2, 2), BG_MODE_PIECEWISE, 0, 4);
    expect_graph(f, &m, decode_batch(1, 5), BG_MODE_PIECEWISE, 0, 6);
    expect_graph(f, &m, mixed_batch(4), BG_MODE_PIECEWISE, 0, 4);

    sum_model_start(f, &m, QUERY_LENS_CONFIG(.mode = BG_MODE_FULL_DECODE_ONLY));
    expect_graph(f, &m, decode_batch(2, 3), BG_MODE_FULL, 3, 6);
    expect_eager(f, &m, decode_batch(2, 2), BG_REASON_MODE_NONE);
    expect_eager(f, &m, decode_batch(7, 3), BG_REASON_TOO_LARGE);
}

/* An op of single tokens leaves the other query lengths to the mixed batches' graphs. */
FIXTURE_TEST(test_ops_lower_the_query_lengths)
{
    EXPECT_OK(bg_op_set_attributes("add_variant", ATTRIBUTES(.graph_support = BG_SUPPORT_SINGLE_TOKEN_DECODE)));
    for (int lazy = 0; lazy < 2; lazy++) {
        STARTED_SUM_MODEL(m, f, QUERY_LENS_CONFIG(.mode = BG_MODE_FULL_AND_PIECEWISE, .lazy = (uint8_t)lazy));
        expect_run(f, &m, decode_batch(1, 4), 1); /* a lazy runner finds out in this run */
        assert_int_equal(bg_runner_mode(m.runner), BG_MODE_FULL_AND_PIECEWISE);
        assert_int_equal(bg_runner_bucket_count(m.runner), 6);
        expect_graph(f, &m, decode_batch(4, 1), BG_MODE_FULL, 1, 4);
        expect_graph(f, &m, decode_batch(1, 4), BG_MODE_PIECEWISE, 0, 4);
    }
    EXPECT_OK(bg_op_set_attributes("add_variant", NULL));
}

/* The buckets' sizes, from small to large, of decode batches of that length; 0: of mixed ones. */
static void expect_sizes(const sum_model *m, int query_len, const int *sizes)
{
    int at = 0;
    for (int i = bg_runner_bucket_count(m->runner) - 1; i >= 0; i--) {
        const bg_bucket_info info = bucket_of(m->runner, i);
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
        STARTED_SUM_MODEL(m, f, QUERY_LENS_CONFIG(.mode = BG_MODE_FULL_AND_PIECEWISE, .lazy = (uint8_t)lazy));
        expect_run(f, &m, mixed_batch(16), 1); /* a lazy runner finds out in this run */
        assert_int_equal(bg_runner_mode(m.runner), BG_MODE_FULL_AND_PIECEWISE);
        expect_sizes(&m, 0, mixed);
        expect_sizes(&m, 1, single);
        expect_sizes(&m, 3, three);
        expect_sizes(&m, 4, four);
        if (lazy == BG_LAZY_BACKGROUND) { /* the next larger one that is there is beyond the limit */
            expect_eager(f, &m, mixed_batch(10), BG_REASON_NOT_CAPTURED);
            expect_graph(f, &m, mixed_batch(12), BG_MODE_PIECEWISE, 0, 16);
            EXPECT_OK(bg_runner_idle(m.runner, INT64_MAX));
        }
        expect_run(f, &m, mixed_batch(7), 1);
        expect_graph(f, &m, mixed_batch(7), BG_MODE_PIECEWISE, 0, 11);
        expect_run(f, &m, decode_batch(3, 3), 1);
        expect_graph(f, &m, decode_batch(3, 3), BG_MODE_FULL, 3, 9);
    }
    EXPECT_OK(bg_op_set_attributes("add_variant", NULL));
}

static void expect_printed(const sum_model *m, const char *table, const char *json)
{
    OWNED_TEXT(rows, m->runner, bg_runner_print);
    OWNED_TEXT(object, m->runner, bg_runner_print_json);
    EXPECT_TEXT(rows, table);
    EXPECT_TEXT(object, json);
}

static bg_batch of_variant(bg_batch batch, int variant)
{
    batch.variant = variant;
    return batch;
}

/* It runs eagerly, and the last error says why. */
#define EXPECT_MISS(f, m, batch, why, text)                                                                            \
    do {                                                                                                               \
        expect_eager(f, m, batch, why);                                                                                \
        EXPECT_REASON((m)->runner, batch, why);                                                                        \
        EXPECT_ERROR(text);                                                                                            \
    } while (0)

/* What was never captured is counted by what it differs in. */
FIXTURE_TEST(test_misses)
{
    bg_counters before = counters_now(), after;
    STARTED_SUM_MODEL(m, f, QUERY_LENS_CONFIG(.mode = BG_MODE_FULL_AND_PIECEWISE, .variants = 2));

    expect_run(f, &m, decode_batch(4, 1), 1);
    expect_run(f, &m, mixed_batch(4), 1);
    expect_printed(&m, "\ncaptured: 22 of 22 buckets", "\"families\"");
    for (int i = 0; i < 22; i++)
        expect_run(f, &m, decode_batch(2, 2), 1);
    assert_int_equal(counters_now().replays[BG_MODE_PIECEWISE], before.replays[BG_MODE_PIECEWISE] + 23);
    EXPECT_MISS(f, &m, of_variant(decode_batch(2, 2), 2), BG_REASON_NOT_CAPTURED,
                "no graph was captured for batches of query length 2 (captured: 1, 3, 4; config.max_query_len), "
                "variant 2 (captured: 0 to 1; config.variants), so they run eagerly");
    EXPECT_MISS(f, &m, of_variant(mixed_batch(4), 5), BG_REASON_NOT_CAPTURED,
                "no graph was captured for batches of variant 5 (captured: 0 to 1; config.variants), so they");
    after = counters_now();
    assert_int_equal(after.missed_query_lens - before.missed_query_lens, 23);
    assert_int_equal(after.missed_variants - before.missed_variants, 2);
    expect_printed(&m, "\nnever captured: 22 batches of query length 2 (captured: 1, 3, 4; config.max_query_len)\n",
                   "\"missed\":[{\"query_len\":2,\"variant\":0,\"batches\":22},{\"query_len\":2,\"variant\":2,"
                   "\"batches\":1},{\"query_len\":0,\"variant\":5,\"batches\":1}]");
    for (int i = 0; i < 20; i++) /* more than the list has room for */
        expect_eager(f, &m, of_variant(mixed_batch(4), 10 + i), BG_REASON_NOT_CAPTURED);
    expect_printed(&m, "\nnever captured: 7 batches of others\n", "\"variant\":22,\"batches\":1}]");

    sum_model_start(f, &m, QUERY_LENS_CONFIG(.mode = BG_MODE_FULL_DECODE_ONLY));
    EXPECT_MISS(f, &m, decode_batch(2, 2), BG_REASON_MODE_NONE,
                "no graph was captured for decode batches of query length 2 (captured: 1, 3, 4; "
                "config.max_query_len), and the mode full_decode_only has none for mixed ones, so they run eagerly");
    before = counters_now();
    /* What the mode has no graphs for is no miss of a variant. */
    EXPECT_MISS(f, &m, of_variant(mixed_batch(4), 5), BG_REASON_MODE_NONE,
                "the mode full_decode_only has no graphs for mixed batches, so they run eagerly");
    assert_int_equal(counters_now().missed_variants, before.missed_variants);
}

FIXTURE_TEST(test_query_lengths_are_copied)
{
    char list[] = "1,4";
    bg_runner_config config = *CONFIG(.mode = BG_MODE_FULL_DECODE_ONLY, .query_lens = list);
    bg_runner *runner;
    OPENED_SUM_MODEL(m, f, &config);

    memset(list, 'x', sizeof list - 1);
    EXPECT_OK(bg_runner_capture(m.runner));
    expect_graph(f, &m, decode_batch(1, 4), BG_MODE_FULL, 4, 4);
    EXPECT_FAILS(bg_runner_create(&runner, &config, sum_model_forward, &m, f->stream), BG_ERROR_INVALID_ARGUMENT,
                 "runner configuration: max_query_len: element 1, \"xxx\"");
    set_variable("BG_RUNNER_MAX_QUERY_LEN", "2"); /* in place of the list */
    sum_model_start(f, &m, CONFIG(.mode = BG_MODE_FULL_DECODE_ONLY, .query_lens = "1,4"));
    set_variable("BG_RUNNER_MAX_QUERY_LEN", NULL);
    expect_graph(f, &m, decode_batch(2, 2), BG_MODE_FULL, 2, 4);
    expect_eager(f, &m, decode_batch(1, 4), BG_REASON_MODE_NONE);
}

FIXTURE_TEST(test_full)
{
    int bodies;
    STARTED_SUM_MODEL(m, f, CONFIG(.mode = BG_MODE_FULL));

    bodies = m.eager_bodies;
    expect_run(f, &m, mixed_batch(3), 1);
    expect_run(f, &m, decode_batch(16, 1), 1);
    assert_int_equal(m.eager_bodies, bodies);
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
                OWNED_SUM_MODEL(m);
                EXPECT_OK(bg_op_set_attributes("add_variant", ATTRIBUTES(.graph_support = cases[i].support)));
                sum_model_start(f, &m, CONFIG(.mode = cases[i].asked, .warmups = warmups, .lazy = lazy));
                expect_run(f, &m, decode_batch(3, 1), 1); /* a lazy runner finds out in this run */
                assert_int_equal(bg_runner_mode(m.runner), cases[i].got);
                expect_run_in(f, &m, decode_batch(3, 1), bg_mode_decode(cases[i].got));
                expect_run_in(f, &m, mixed_batch(9), bg_mode_mixed(cases[i].got));
            }
    EXPECT_OK(bg_op_set_attributes("add_variant", NULL));
}
