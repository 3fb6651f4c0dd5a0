/* Rules in the buckets of a runner. */
#include "tests/support/runner/sum_model.h"

#include <breakgraph/compile.h>

TEST_VARIABLE(BG_COMPILE_PROVE, "always"); /* a GPU may find the op slower, and keep that */

static int bodies; /* of the rule's op */

BG_OP(twice_at_once, BG_IN(x), BG_OUT(y), BG_VALUE(int, rows))
{
    bodies++;
    return from_cuda(bgk_add(args->y.data, args->x.data, args->x.data, (size_t)args->rows * WIDTH, stream));
}

BG_RULE(twice_at_once, double_rows)
{
    *args = (twice_at_once_args){.x = a0->x, .y = a0->y, .rows = a0->rows};
    return true;
}

static bool always(int rows)
{
    return rows > 0;
}

#define LEVEL_CONFIG(...) RUNNER_CONFIG(.schedule = "4,8", __VA_ARGS__)

/* The buffers have more rows than any batch. */
FIXTURE_TEST(test_sizes_are_those_of_buckets)
{
    static const struct {
        const char *sizes;
        bool used;
    } cases[] = {{"8", true}, {"4,8", true}, {"schedule", true}, {"64", false}, {"16", false}};
    bg_rule_attributes attributes = BG_RULE_ATTRIBUTES_INIT;

    attributes.applies = always;
    EXPECT_OK(bg_rule_set_attributes("twice_at_once", &attributes));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bodies = 0;
        STARTED_SUM_MODEL(m, f, LEVEL_CONFIG(.level = BG_LEVEL_PIECEWISE, .compile_sizes = cases[i].sizes));
        if ((bodies > 0) != cases[i].used)
            fail_msg("compile_sizes %s: %d bodies", cases[i].sizes, bodies);
        expect_run(f, &m, mixed_batch(7), 1);
    }
    EXPECT_OK(bg_rule_set_attributes("twice_at_once", NULL));
}

static int count_buckets(fixture *f, int level)
{
    STARTED_SUM_MODEL(m, f, LEVEL_CONFIG(.level = (int8_t)level));
    expect_run(f, &m, mixed_batch(5), 1);
    return bg_runner_bucket_count(m.runner);
}

/* Of an op that may come in the place of calls, too: no batch is padded beyond one. */
FIXTURE_TEST(test_row_limits_of_rules)
{
    bg_op_attributes attributes = BG_OP_ATTRIBUTES_INIT;

    attributes.row_limits[0] = 6;
    EXPECT_OK(bg_op_set_attributes("twice_at_once", &attributes));
    assert_int_equal(count_buckets(f, BG_LEVEL_NONE), 2);
    assert_int_equal(count_buckets(f, BG_LEVEL_ONCE), 3);
    EXPECT_OK(bg_op_set_attributes("twice_at_once", NULL));
}

/* Inputs hold padding while a runner captures: a proof needs no batch. */
FIXTURE_TEST(test_proof_without_a_batch)
{
    bodies = 0;
    STARTED_SUM_MODEL(m, f, LEVEL_CONFIG(.level = BG_LEVEL_ONCE));
    assert_true(bodies > 0);
    expect_run(f, &m, mixed_batch(3), 1);
    expect_run(f, &m, mixed_batch(8), 2);
}
