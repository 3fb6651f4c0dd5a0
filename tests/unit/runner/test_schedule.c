/* Which sizes a schedule stands for. */
#include "tests/support/runner/shared.h"

#include "runner/config.h"

/* The schedule's sizes are these, as text. */
static void expect_sizes(const char *schedule, int max_tokens, const char *expected)
{
    char found[512] = "";
    size_t used = 0;
    int *sizes, count;
    EXPECT_OK(bg__schedule_make(schedule, max_tokens, &sizes, &count));
    for (int i = 0; i < count && used < sizeof found; i++)
        used += (size_t)snprintf(found + used, sizeof found - used, "%s%d", i ? " " : "", sizes[i]);
    free(sizes);
    assert_string_equal(found, expected);
}

/* How many sizes there are, and the last one; all ascend. */
static void expect_count(const char *schedule, int max_tokens, int expected, int last)
{
    int *sizes, count;
    EXPECT_OK(bg__schedule_make(schedule, max_tokens, &sizes, &count));
    assert_int_equal(count, expected);
    assert_int_equal(sizes[count - 1], last);
    for (int i = 1; i < count; i++)
        assert_true(sizes[i - 1] < sizes[i]);
    free(sizes);
}

static void expect_refused(const char *schedule, int max_tokens, const char *key, const char *text)
{
    int *sizes = (int *)1, count = 7;
    EXPECT_FAILS(bg__schedule_make(schedule, max_tokens, &sizes, &count), BG_ERROR_INVALID_ARGUMENT, key);
    EXPECT_ERROR(text);
    assert_null(sizes);
    assert_int_equal(count, 0);
    EXPECT_FAILS(bg__schedule_check(schedule, max_tokens), BG_ERROR_INVALID_ARGUMENT, text);
}

TEST(test_named)
{
    expect_sizes("sglang", 320, "4 8 12 16 20 24 28 32 48 64 80 96 112 128 144 160 176 192 208 224 240 256 288 320");
    expect_sizes("sglang", 4, "4");
    expect_sizes("sglang", 47, "4 8 12 16 20 24 28 32");
    expect_sizes("atom", 50, "1 2 4 8 16 32 48");
    expect_sizes("vllm", 64, "1 2 4 8 16 24 32 40 48 56 64");
    expect_sizes("powers", 100, "1 2 4 8 16 32 64");
    for (const char *const *name = (const char *const[]){"atom", "vllm", "powers", NULL}; *name != NULL; name++)
        expect_sizes(*name, 1, "1");
}

TEST(test_counts)
{
    expect_count("sglang", 256, 22, 256);
    expect_count("sglang", 512, 30, 512);
    expect_count("sglang", 1024, 38, 1024);
    expect_count("sglang", 4096, 50, 4096);
    expect_count("sglang", 8192, 58, 8192);
    expect_count("sglang", 8191, 57, 7680);
    expect_count("sglang", 16384, 74, 16384);
    expect_count("atom", 256, 20, 256);
    expect_count("vllm", 255, 34, 248);
    expect_count("vllm", 256, 35, 256);
    expect_count("vllm", 512, 51, 512);
    expect_count("powers", BG__TOKENS_MAX, 25, BG__TOKENS_MAX);
    expect_count("powers", BG__TOKENS_MAX - 1, 24, BG__TOKENS_MAX / 2);
    expect_count("atom", BG__TOKENS_MAX, 4 + BG__TOKENS_MAX / 16, BG__TOKENS_MAX);
}

TEST(test_lists)
{
    expect_sizes("1,2,4,8", 8, "1 2 4 8");
    expect_sizes("7", 512, "7");
    expect_sizes(" 3 , 5,\t100 ", 100, "3 5 100");
}

TEST(test_refused_lists)
{
    char wide[4096];
    expect_refused("8,4", 512, "schedule", "element 2, \"4\", is below the one before it");
    expect_refused("1,2,2,4", 512, "schedule", "element 3, \"2\", repeats");
    expect_refused("0,4", 512, "schedule", "element 1, \"0\", is not positive");
    expect_refused("-4", 512, "schedule", "element 1, \"-4\", is not positive");
    expect_refused("-99999999999999999999", 512, "schedule", "is not positive");
    expect_refused("1,x", 512, "schedule", "element 2, \"x\", is not a whole number");
    expect_refused("1,2.5", 512, "schedule", "\"2.5\", is not a whole number");
    expect_refused("1,0x10", 512, "schedule", "\"0x10\", is not a whole number");
    expect_refused("1,2 3", 512, "schedule", "\"2 3\", is not a whole number");
    expect_refused("1,-", 512, "schedule", "\"-\", is not a whole number");
    expect_refused("1,,2", 512, "schedule", "element 2, \"\", is empty");
    expect_refused("1,2,", 512, "schedule", "element 3, \"\", is empty");
    expect_refused(",", 512, "schedule", "element 1, \"\", is empty");
    expect_refused("", 512, "schedule", "is empty; allowed are sglang, atom, vllm, powers");
    expect_refused("  ", 512, "schedule", "is empty");
    expect_refused(NULL, 512, "schedule", "is NULL");
    expect_refused("1,2,4,8", 7, "schedule", "element 4, \"8\", is above max_tokens, 7");
    expect_refused("1,99999999999999999999", 512, "schedule", "is above max_tokens, 512");
    expect_refused("1,4294967297", 512, "schedule", "is above max_tokens, 512");
    memset(wide, 'y', sizeof wide - 1);
    wide[0] = '1', wide[1] = ',', wide[sizeof wide - 1] = '\0';
    expect_refused(wide, 512, "schedule", "is not a whole number; allowed are");
}

TEST(test_refused_names)
{
    expect_refused("sglan", 512, "schedule is \"sglan\" (did you mean sglang?)",
                   "allowed are sglang, atom, vllm, powers, or ascending");
    expect_refused("Powers", 512, "schedule is \"Powers\" (did you mean powers?)", "allowed are");
    expect_refused("linear", 512, "schedule is \"linear\";", "allowed are");
    expect_refused("sglang", 3, "max_tokens is 3", "below 4, the first size of schedule \"sglang\"");
    expect_refused("powers", 0, "max_tokens is 0", "allowed are 1 to");
    expect_refused("1", -5, "max_tokens is -5", "allowed are 1 to");
}
