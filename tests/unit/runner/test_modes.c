/* What the modes mean, how ops lower them, and what buckets are called. */
#include "tests/support/runner/shared.h"

#include "runner/runner.h"

#include <limits.h>

#define IDLE_OP(define, name)                                                                                          \
    define(name)                                                                                                       \
    {                                                                                                                  \
        return BG_OK;                                                                                                  \
    }
IDLE_OP(BG_OP, modes_any)
IDLE_OP(BG_OP, modes_uniform)
IDLE_OP(BG_EAGER_OP, modes_single)
IDLE_OP(BG_OP, modes_never)

static const struct mode_row {
    bg_mode mode, decode, mixed, highest;
    bool full, piecewise, separate;
    const char *name;
} rows[] = {
    {BG_MODE_NONE, BG_MODE_NONE, BG_MODE_NONE, BG_MODE_NONE, false, false, false, "none"},
    {BG_MODE_PIECEWISE, BG_MODE_PIECEWISE, BG_MODE_PIECEWISE, BG_MODE_PIECEWISE, false, true, false, "piecewise"},
    {BG_MODE_FULL, BG_MODE_FULL, BG_MODE_FULL, BG_MODE_FULL, true, false, false, "full"},
    {BG_MODE_FULL_DECODE_ONLY, BG_MODE_FULL, BG_MODE_NONE, BG_MODE_FULL, true, false, true, "full_decode_only"},
    {BG_MODE_FULL_AND_PIECEWISE, BG_MODE_FULL, BG_MODE_PIECEWISE, BG_MODE_FULL, true, true, true, "full_and_piecewise"},
};
enum { ROWS = sizeof rows / sizeof *rows };

TEST(test_questions)
{
    for (int i = 0; i < ROWS; i++) {
        bg_mode mode = rows[i].mode;
        bg_runner_config config = BG_RUNNER_CONFIG_INIT;
        assert_int_equal(bg_mode_decode(mode), rows[i].decode);
        assert_int_equal(bg_mode_mixed(mode), rows[i].mixed);
        assert_int_equal(bg_mode_highest(mode), rows[i].highest);
        assert_int_equal(bg_mode_has_full(mode), rows[i].full);
        assert_int_equal(bg_mode_has_piecewise(mode), rows[i].piecewise);
        assert_int_equal(bg_mode_separate(mode), rows[i].separate);
        assert_string_equal(bg__mode_name(mode), rows[i].name);
        assert_true(bg__mode_is_valid(mode));
        EXPECT_OK(bg_runner_config_set(&config, "mode", rows[i].name));
        assert_int_equal(config.mode, mode);
    }
}

TEST(test_no_modes)
{
    const int values[] = {-1, 5, 999};
    for (int i = 0; i < 3; i++) {
        bg_mode mode = (bg_mode)values[i];
        bg__scope scope = {mode, (int[]){1}, 1};
        char why[64] = "x";
        assert_false(bg__mode_is_valid(mode));
        assert_int_equal(bg_mode_decode(mode), BG_MODE_NONE);
        assert_int_equal(bg_mode_mixed(mode), BG_MODE_NONE);
        assert_int_equal(bg_mode_highest(mode), BG_MODE_NONE);
        assert_false(bg_mode_has_full(mode) || bg_mode_has_piecewise(mode) || bg_mode_separate(mode));
        assert_string_equal(bg__mode_name(mode), "none");
        assert_false(bg__scope_lower(&scope, NULL, 0, why, sizeof why));
        assert_int_equal(scope.mode, BG_MODE_NONE);
    }
}

static int set_supports(void **state)
{
    (void)state;
    return bg_op_set_attributes("modes_uniform", ATTRIBUTES(.graph_support = BG_SUPPORT_UNIFORM_BATCH)) != BG_OK ||
           bg_op_set_attributes("modes_single", ATTRIBUTES(.graph_support = BG_SUPPORT_SINGLE_TOKEN_DECODE)) != BG_OK ||
           bg_op_set_attributes("modes_never", ATTRIBUTES(.graph_support = BG_SUPPORT_NEVER)) != BG_OK;
}

/* With ops that support everything and one that may not, for every mode. */
static void expect_lowered(const char *op, int max_query_len, const bg_mode expected[ROWS])
{
    const bg_op *ops[] = {bg_op_find("modes_any"), bg_op_find(op), bg_op_find("modes_any")};
    for (int i = 0; i < ROWS; i++) {
        bg__scope scope = {rows[i].mode, &max_query_len, 1};
        char why[512] = "x";
        bool did = bg__scope_lower(&scope, ops, 3, why, sizeof why);
        assert_string_equal(bg__mode_name(scope.mode), bg__mode_name(expected[i]));
        assert_int_equal(scope.query_len_count, 1);
        assert_int_equal(did, expected[i] != rows[i].mode);
        if (did) {
            EXPECT_TEXT(why, op);
            EXPECT_TEXT(why, rows[i].name);
            EXPECT_TEXT(why, bg__mode_name(expected[i]));
            EXPECT_TEXT(why, "supports");
        } else {
            assert_string_equal(why, "");
        }
    }
}

TEST(test_lowering)
{
    static const bg_mode same[] = {BG_MODE_NONE, BG_MODE_PIECEWISE, BG_MODE_FULL, BG_MODE_FULL_DECODE_ONLY,
                                   BG_MODE_FULL_AND_PIECEWISE},
                         decode_only[] = {BG_MODE_NONE, BG_MODE_PIECEWISE, BG_MODE_FULL_AND_PIECEWISE,
                                          BG_MODE_FULL_DECODE_ONLY, BG_MODE_FULL_AND_PIECEWISE},
                         no_full[] = {BG_MODE_NONE, BG_MODE_PIECEWISE, BG_MODE_PIECEWISE, BG_MODE_NONE,
                                      BG_MODE_PIECEWISE};
    expect_lowered("modes_any", 1, same);
    expect_lowered("modes_any", 4, same);
    expect_lowered("modes_uniform", 1, decode_only);
    expect_lowered("modes_uniform", 4, decode_only);
    expect_lowered("modes_single", 1, decode_only);
    expect_lowered("modes_single", 2, no_full);
    expect_lowered("modes_never", 1, no_full);
    expect_lowered("modes_never", 4, no_full);
}

/* A mode that need not go lower loses the query lengths that the op cannot take. */
TEST(test_lowering_of_query_lens)
{
    static const struct {
        const char *op;
        bg_mode mode, lowered;
        int lens;
        const char *why; /* NULL: nothing is lowered */
    } cases[] = {
        {"modes_single", BG_MODE_FULL, BG_MODE_FULL_AND_PIECEWISE, 1,
         "mode full is lowered to full_and_piecewise with full graphs only for query length 1: op \"modes_single\""},
        {"modes_single", BG_MODE_FULL_DECODE_ONLY, BG_MODE_FULL_DECODE_ONLY, 1,
         "mode full_decode_only runs with full graphs only for query length 1: op \"modes_single\" supports only full "
         "graphs of decode batches with one token per request (max_query_len is 1,4,9)"},
        {"modes_single", BG_MODE_FULL_AND_PIECEWISE, BG_MODE_FULL_AND_PIECEWISE, 1,
         "mode full_and_piecewise runs with full graphs only for query length 1"},
        {"modes_single", BG_MODE_PIECEWISE, BG_MODE_PIECEWISE, 3, NULL},
        {"modes_uniform", BG_MODE_FULL, BG_MODE_FULL_AND_PIECEWISE, 3,
         "mode full is lowered to full_and_piecewise: op \"modes_uniform\""},
        {"modes_uniform", BG_MODE_FULL_DECODE_ONLY, BG_MODE_FULL_DECODE_ONLY, 3, NULL},
        {"modes_never", BG_MODE_FULL_AND_PIECEWISE, BG_MODE_PIECEWISE, 3, "is lowered to piecewise: op"},
        {"modes_any", BG_MODE_FULL, BG_MODE_FULL, 3, NULL},
    };
    static const int lens[] = {1, 4, 9};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bg_op *ops[] = {bg_op_find("modes_any"), bg_op_find(cases[i].op)};
        bg__scope scope = {cases[i].mode, lens, 3};
        char why[400];
        assert_int_equal(bg__scope_lower(&scope, ops, 2, why, sizeof why), cases[i].why != NULL);
        assert_int_equal(scope.mode, cases[i].lowered);
        assert_int_equal(scope.query_len_count, cases[i].lens);
        if (strstr(why, cases[i].why ? cases[i].why : "") == NULL)
            fail_msg("case %zu: \"%s\" does not hold \"%s\"", i, why, cases[i].why);
    }
}

TEST(test_weakest)
{
    const bg_op *ops[] = {bg_op_find("modes_uniform"), bg_op_find("modes_never"), bg_op_find("modes_single")};
    static const struct {
        int ops;
        bg_mode lowered;
        const char *why;
        size_t room;
    } cases[] = {
        {3, BG_MODE_PIECEWISE, "op \"modes_never\" supports no full graph", 512},
        {1, BG_MODE_FULL_AND_PIECEWISE, "modes_uniform", 512},
        {1, BG_MODE_FULL_AND_PIECEWISE, "mode fu", 8},
        {1, BG_MODE_FULL_AND_PIECEWISE, NULL, 0},
        {0, BG_MODE_FULL, "", 512},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bg__scope scope = {BG_MODE_FULL, (int[]){1}, 1};
        char why[512];
        assert_int_equal(bg__scope_lower(&scope, ops, cases[i].ops, cases[i].why ? why : NULL, cases[i].room),
                         cases[i].ops > 0);
        assert_int_equal(scope.mode, cases[i].lowered);
        if (cases[i].why != NULL) {
            EXPECT_TEXT(why, cases[i].why);
            assert_in_range(strlen(why), 0, cases[i].room - 1);
        }
    }
}

TEST(test_bucket_names)
{
    static const struct {
        bg__bucket bucket;
        const char *name;
    } cases[] = {
        {{.mode = BG_MODE_PIECEWISE, .tokens = 16}, "piecewise tokens 16"},
        {{.mode = BG_MODE_FULL, .tokens = 16, .query_len = 1}, "full decode 16"},
        {{.mode = BG_MODE_FULL, .tokens = 16, .query_len = 4}, "full decode 16 query_len 4"},
        {{.mode = BG_MODE_FULL, .tokens = 16, .query_len = 4, .variant = 2}, "full decode 16 query_len 4 variant 2"},
    };
    char name[80];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bg__bucket_name(&cases[i].bucket, name, sizeof name);
        assert_string_equal(name, cases[i].name);
    }
}

TEST(test_support_errors)
{
    EXPECT_FAILS(bg_op_set_attributes("modes_any", ATTRIBUTES(.graph_support = (bg_support)4)),
                 BG_ERROR_INVALID_ARGUMENT, "graph_support is 4");
    EXPECT_INVALID(bg_op_set_attributes("modes_any", ATTRIBUTES(.graph_support = (bg_support)-1)));
    assert_int_equal(bg_op_find("modes_any")->attributes_.graph_support, BG_SUPPORT_ALWAYS);
}

TEST(test_row_limits)
{
    static const int bad[][BG_ROW_LIMITS] = {{-1}, {5, 5}, {5, 4}, {0, 4}, {1, 2, 0, 3}};
    static bg_op older = {.name = "modes_older"};
    bg_op_attributes attributes = BG_OP_ATTRIBUTES_INIT;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(attributes.row_limits, bad[i], sizeof bad[i]);
        EXPECT_FAILS(bg_op_set_attributes("modes_any", &attributes), BG_ERROR_INVALID_ARGUMENT,
                     "allowed are positive numbers, each above the one before, and zeros behind them");
    }
    EXPECT_OK(bg_op_set_attributes("modes_any", ATTRIBUTES(.row_limits = {1, 2, 3, INT_MAX})));
    assert_int_equal(bg__op_row_limits(bg_op_find("modes_any"))[3], INT_MAX);
    EXPECT_OK(bg_op_set_attributes("modes_any", NULL));
    assert_int_equal(bg__op_row_limits(bg_op_find("modes_any"))[0], 0);

    older.struct_size = offsetof(bg_op, attributes_.row_limits);
    older.attributes_.row_limits[0] = 7; /* what lies behind it there is not the op's */
    bg_op_register(&older);
    EXPECT_OK(bg_op_set_attributes("modes_older", ATTRIBUTES(.allow_fewer_rows = true)));
    assert_true(older.attributes_.allow_fewer_rows && older.attributes_.row_limits[0] == 7);
    assert_int_equal(bg__op_row_limits(&older)[0], 0);
    EXPECT_FAILS(bg_op_set_attributes("modes_older", ATTRIBUTES(.row_limits = {1})), BG_ERROR_UNSUPPORTED,
                 "op \"modes_older\" was compiled with an older header");
    bg_op_unregister(&older);
}

TEST_GROUP(set_supports, NULL);
