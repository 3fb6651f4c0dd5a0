/* The mix of batches that a runner has run: what is counted, where, and what its JSON says. */
#include "tests/support/runner/runner_model.h"

#include <cjson/cJSON.h>

#include "runner/runner.h"

static void run(fixture *f, const runner_model *m, bg_batch batch)
{
    EXPECT_OK(run_bare(m->runner, batch));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
}

FIXTURE_TEST(test_sizes)
{
    STARTED_RUNNER_MODEL(m, f, CONFIG(.query_lens = "1,4"));

    for (int i = 0; i < 3; i++)
        run(f, &m, mixed_batch(4));
    run(f, &m, decode_batch(4, 1));
    run(f, &m, decode_batch(2, 4));
    run(f, &m, decode_batch(2, 3)); /* no query length: mixed */
    run(f, &m, mixed_batch(TOKENS_MAX + 1));
    run(f, &m, mixed_batch(TOKENS_MAX + 7));
    assert_int_equal(bg_runner_batches(m.runner, 0, 4), 3);
    assert_int_equal(bg_runner_batches(m.runner, 1, 4), 1);
    assert_int_equal(bg_runner_batches(m.runner, 4, 8), 1);
    assert_int_equal(bg_runner_batches(m.runner, 0, 6), 1);
    assert_int_equal(bg_runner_batches(m.runner, 0, 0), 2); /* above max_tokens */
    assert_int_equal(bg_runner_batches(m.runner, 4, 4), 0);
}

/* Reports are written while the runner runs: what they take grows with the sizes that came, not with max_tokens. */
TEST(test_few_sizes)
{
    enum { MOST = 1 << 24 };
    static const int sizes[] = {7, 8, 3000, MOST, MOST + 5};
    bg_runner runner = {.query_len_count = 0};
    bg_batch batch = mixed_batch(7);
    int looked = 0, found = 0;

    EXPECT_OK(bg__mix_create(&runner.mix, 0, MOST));
    for (int i = 0; i < 5; i++)
        (void)bg__mix_add_batch(&runner.mix, 0, &batch, &(bg__mix_run){.tokens = sizes[i], .padded_tokens = sizes[i]});
    for (int t = bg__mix_next_size(&runner.mix, 0); t <= MOST; t = bg__mix_next_size(&runner.mix, t + 1), looked++)
        found += (int)bg__mix_read_size(&runner.mix, 0, t).batches;
    assert_int_equal(found, 5);
    assert_in_range(looked, 4, 4 * 512);
    bg__mix_free(&runner.mix);
}

FIXTURE_TEST(test_no_such_size)
{
    OPENED_RUNNER_MODEL(m, f, CONFIG());

    run(f, &m, mixed_batch(4));
    assert_int_equal(bg_runner_batches(NULL, 0, 4), 0);
    assert_int_equal(bg_runner_batches(m.runner, 0, -1), 0);
    assert_int_equal(bg_runner_batches(m.runner, 0, TOKENS_MAX + 1), 0);
    assert_int_equal(bg_runner_batches(m.runner, 2, 4), 0);
    assert_int_equal(bg_runner_batches(m.runner, -1, 4), 0);
}

/* A batch that fails has not run. */
FIXTURE_TEST(test_failed)
{
    STARTED_RUNNER_MODEL(m, f, CONFIG());

    m.body_status = BG_ERROR_OP;
    assert_int_not_equal(run_bare(m.runner, mixed_batch(4)), BG_OK);
    assert_int_equal(bg_runner_batches(m.runner, 0, 4), 0);
}

static double number_in(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(item))
        fail_msg("there is no number \"%s\"", name);
    return item->valuedouble;
}

/* What bg_runner_print_json prints. */
static cJSON *printed(const bg_runner *runner)
{
    OWNED_TEXT(text, runner, bg_runner_print_json);
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    return root;
}

static void delete_json(cJSON **root)
{
    cJSON_Delete(*root);
}
#define PRINTED(name, runner) __attribute__((cleanup(delete_json))) cJSON *name = printed(runner)

static bool veto_five(void *user, const bg_batch *batch, const char **why)
{
    (void)user;
    (void)why;
    return batch->tokens == 5;
}

static int to_six(void *user, int tokens)
{
    (void)user;
    return tokens < 6 ? 6 : tokens;
}

static void expect_size(const cJSON *sizes, int index, const double *expected)
{
    const cJSON *size = cJSON_GetArrayItem(sizes, index);
    for (int i = 0; i < 3; i++)
        assert_true(cJSON_GetArrayItem(size, i)->valuedouble == expected[i]);
    assert_int_equal(cJSON_GetArraySize(size), 3);
}

FIXTURE_TEST(test_json)
{
    const cJSON *family;
    STARTED_RUNNER_MODEL(m, f, CONFIG(.veto = veto_five));

    run(f, &m, mixed_batch(3));
    run(f, &m, mixed_batch(7));
    run(f, &m, mixed_batch(5));
    run(f, &m, mixed_batch(20));
    PRINTED(root, m.runner);
    assert_true(number_in(root, "batches") == 4);
    assert_true(number_in(root, "replayed") == 2);
    assert_true(number_in(root, "rows") == 10);
    assert_true(number_in(root, "padding_rows") == 1 + 9);
    assert_true(number_in(cJSON_GetObjectItem(root, "eager"), "veto") == 1);
    assert_true(number_in(cJSON_GetObjectItem(root, "eager"), "too_large") == 1);
    family = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "families"), 0);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(family, "batches")), 4);
    expect_size(cJSON_GetObjectItem(family, "batches"), 0, (double[]){3, 1, 0});
    expect_size(cJSON_GetObjectItem(family, "batches"), 1, (double[]){5, 1, 1}); /* no schedule changes a veto */
    expect_size(cJSON_GetObjectItem(family, "batches"), 3, (double[]){20, 1, 0});
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "sizes")), 2);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "buckets")), 2);
}

/* Decode batches are a family only where they have buckets of their own. */
FIXTURE_TEST(test_families)
{
    const bg_mode modes[] = {BG_MODE_PIECEWISE, BG_MODE_FULL_AND_PIECEWISE, BG_MODE_FULL_DECODE_ONLY};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        const cJSON *families;
        OPENED_RUNNER_MODEL(m, f, CONFIG(.mode = modes[i]));
        run(f, &m, decode_batch(4, 1));
        run(f, &m, mixed_batch(4));
        PRINTED(root, m.runner);
        families = cJSON_GetObjectItem(root, "families");
        assert_int_equal(cJSON_GetArraySize(families), i == 0 ? 1 : 2);
        assert_true(number_in(cJSON_GetArrayItem(families, 0), "query_len") == 0);
        expect_size(cJSON_GetObjectItem(cJSON_GetArrayItem(families, 0), "batches"), 0,
                    i == 0 ? (double[]){4, 2, 2} : (double[]){4, 1, 1}); /* none is captured */
        assert_true(i == 0 || number_in(cJSON_GetArrayItem(families, 1), "query_len") == 1);
    }
}

/* The bucket has to hold what the largest batch of all ranks has. */
FIXTURE_TEST(test_across_ranks)
{
    OWNED_RUNNER_MODEL(m);

    runner_model_start(f, &m, CONFIG(.pad_across_ranks = to_six));
    run(f, &m, mixed_batch(2));
    assert_int_equal(bg_runner_batches(m.runner, 0, 2), 0);
    assert_int_equal(bg_runner_batches(m.runner, 0, 6), 1);
    PRINTED(root, m.runner);
    assert_true(number_in(root, "padding_rows") == 14);
    assert_true(number_in(root, "rank_rows") == 4);
}

/* Reports are written again after 1, 2, 4, ... batches, and after each BG__MIX_REPORT_INTERVAL. */
FIXTURE_TEST(test_times)
{
    const bg_batch batch = mixed_batch(3);
    const bg__mix_run eager = {.reason = BG_REASON_VETO, .tokens = 3, .padded_tokens = 3};
    int times = 0;
    OPENED_RUNNER_MODEL(m, f, CONFIG());

    for (int i = 0; i < 1000; i++)
        times += bg__mix_add_batch(&m.runner->mix, 0, &batch, &eager);
    assert_int_equal(times, 10);
    assert_int_equal(bg_runner_batches(m.runner, 0, 3), 1000);
    for (int i = 1000; i < 3 * BG__MIX_REPORT_INTERVAL; i++)
        times += bg__mix_add_batch(&m.runner->mix, 0, &batch, &eager);
    assert_int_equal(times, 10 + 7 + 2); /* up to 2^16, twice and three times that */
}
