/* A runner's configuration: its checks, and its keys by text. */
#include "tests/support/runner/config_support.h"

#include "runner/config.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>

static const bg_runner_config fallback = BG_RUNNER_CONFIG_INIT;

/* ---- the check ---- */

static void expect_invalid(const bg_runner_config *config, const char *key)
{
    bg_runner_config copy = fallback;
    EXPECT_FAILS(bg__config_check(config), BG_ERROR_INVALID_ARGUMENT, "runner configuration: ");
    EXPECT_ERROR(key);
    EXPECT_INVALID(bg__config_copy_checked(config, &copy));
    EXPECT_SAME_CONFIG(&copy, &fallback);
}

TEST(test_defaults)
{
    bg_runner_config copy;
    EXPECT_CONFIG(RUNNER_CONFIG(), &fallback);
    EXPECT_OK(bg__config_check(&fallback));
    EXPECT_OK(bg__config_copy_checked(&fallback, &copy));
    EXPECT_CONFIG(&copy, RUNNER_CONFIG(.variants = 1));
    EXPECT_INVALID(bg__config_check(NULL));
}

/* One field at a time holds its lowest and highest value, and what lies below and above; the check names it. */
TEST(test_int_fields)
{
#define FIELD(name) #name, offsetof(bg_runner_config, name)
    static const struct {
        const char *key;
        size_t offset;
        int lowest, highest;
    } rows[] = {
        {FIELD(mode), BG_MODE_NONE, BG_MODE_FULL_AND_PIECEWISE},
        {FIELD(max_tokens), 1, 1 << 24},
        {FIELD(max_query_len), 1, 512},
        {FIELD(warmups), 0, 100},
        {FIELD(worker_threads), 0, 64},
        {FIELD(variants), 0, 64},
        {FIELD(debug), BG_DEBUG_FROM_ENV, BG_DEBUG_STEP},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int lowest = rows[i].lowest, highest = rows[i].highest;
        const int good[] = {lowest, highest - 1, highest}, bad[] = {-1, lowest - 1, highest + 1};
        for (int k = 0; k < 3; k++) {
            bg_runner_config config = fallback;
            memcpy((char *)&config + rows[i].offset, &good[k], sizeof good[k]);
            EXPECT_OK(bg__config_check(&config));
            memcpy((char *)&config + rows[i].offset, &bad[k], sizeof bad[k]);
            expect_invalid(&config, rows[i].key);
        }
    }
}

TEST(test_other_fields)
{
    static const double bad[] = {0.5, -1, INFINITY, -INFINITY, NAN, 0.999}, good[] = {0, 1, 1.25, 1e300};
    float memory[4];
    bg_tensor tensor = bg_tensor_1d(memory, BG_F32, 4);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        expect_invalid(RUNNER_CONFIG(.max_padding = bad[i]), "max_padding");
        expect_invalid(RUNNER_CONFIG(.memory_fraction = bad[i] > 0 && bad[i] <= 1 ? -bad[i] : bad[i]),
                       "memory_fraction");
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        EXPECT_OK(bg__config_check(RUNNER_CONFIG(.max_padding = good[i])));
    EXPECT_OK(bg__config_check(RUNNER_CONFIG(.memory_fraction = 1)));
    expect_invalid(RUNNER_CONFIG(.schedule = "1,2,513"), "schedule");
    expect_invalid(RUNNER_CONFIG(.schedule = NULL), "schedule");
    expect_invalid(RUNNER_CONFIG(.eager_ops = "rope#"), "eager_ops: \"rope#\"");
    EXPECT_OK(bg__config_check(RUNNER_CONFIG(.eager_ops = "")));
    EXPECT_OK(bg__config_check(RUNNER_CONFIG(.eager_ops = "attention,!rope#1", .debug = BG_DEBUG_STEP)));
    expect_invalid(RUNNER_CONFIG(.state_count = 1), "state is NULL");
    EXPECT_OK(bg__config_check(RUNNER_CONFIG(.state = &tensor, .state_count = 1)));
    tensor.rank = 9;
    expect_invalid(RUNNER_CONFIG(.state = &tensor, .state_count = 1), "state[0]");
    tensor = bg_tensor_1d(NULL, BG_F32, 4);
    expect_invalid(RUNNER_CONFIG(.state = &tensor, .state_count = 1), "state[0] has no memory");
}

TEST(test_query_lens)
{
    static const struct {
        const char *list, *text; /* of the error; NULL: it is valid */
    } rows[] = {
        {"4", NULL},
        {"1,4", NULL},
        {" 1 , 64 ", NULL},
        {"", "max_query_len: element 1, \"\", is empty"},
        {"1,", "max_query_len: element 2, \"\", is empty"},
        {"1,1", "element 2, \"1\", repeats the one before it"},
        {"4,1", "element 2, \"1\", is below the one before it; allowed are ascending positive numbers"},
        {"0", "element 1, \"0\", is not positive"},
        {"-4", "element 1, \"-4\", is not positive"},
        {"1,x", "element 2, \"x\", is not a whole number; allowed are ascending positive numbers with commas"},
        {"1,65", "max_query_len: element 2, \"65\", is above max_tokens, 64"},
        {"99999999999999999999", "is above max_tokens"},
    };
    int *lens, count;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const bg_runner_config *config =
            RUNNER_CONFIG(.max_tokens = 64, .query_lens = rows[i].list, .max_query_len = -7); /* which is not read */
        if (rows[i].text == NULL)
            EXPECT_OK(bg__config_check(config));
        else
            expect_invalid(config, rows[i].text);
    }
    EXPECT_OK(bg__query_lens_make(RUNNER_CONFIG(.max_tokens = 64, .query_lens = "1, 4,64"), &lens, &count));
    assert_int_equal(count, 3);
    assert_true(lens[0] == 1 && lens[1] == 4 && lens[2] == 64);
    free(lens);
    EXPECT_OK(bg__query_lens_make(RUNNER_CONFIG(.max_tokens = 64, .max_query_len = 3), &lens, &count));
    assert_true(count == 1 && lens[0] == 3);
    free(lens);
}

/* One number by text is the field that programs set in C; a list is a string of the configuration's. */
TEST(test_set_query_lens)
{
    char list[] = "1,4";
    bg_runner_config config = *RUNNER_CONFIG(.max_query_len = 2);
    EXPECT_OK(bg_runner_config_set(&config, "max_query_len", list));
    list[0] = 'x'; /* it was copied */
    EXPECT_CONFIG(&config, RUNNER_CONFIG(.query_lens = "1,4", .max_query_len = 2));
    EXPECT_OK(bg_runner_config_set(&config, "max_query_len", "2,3"));
    assert_string_equal(config.query_lens, "2,3");
    EXPECT_OK(bg_runner_config_set(&config, "max_query_len", " 5 "));
    EXPECT_CONFIG(&config, RUNNER_CONFIG(.max_query_len = 5));
    EXPECT_OK(bg_runner_config_set(&config, "max_query_len", "1,4"));
    bg_runner_config_clear(&config);
    EXPECT_CONFIG(&config, RUNNER_CONFIG(.max_query_len = 5));
    config.query_lens = "6,7";
    EXPECT_OK(bg_runner_config_set(&config, "schedule", "1,2"));
    bg_runner_config_clear(&config);
    assert_string_equal(config.query_lens, "6,7"); /* the caller's */
}

/* A program built against the first version of the header. */
TEST(test_older)
{
    bg_runner_config config = *RUNNER_CONFIG(.struct_size = offsetof(bg_runner_config, worker_threads),
                                             .max_tokens = 64, .worker_threads = -7, .variants = -7,
                                             .query_lens = "rubbish"), /* what lies behind its struct */
        copy;
    EXPECT_OK(bg__config_copy_checked(&config, &copy));
    EXPECT_CONFIG(&copy, RUNNER_CONFIG(.max_tokens = 64, .variants = 1));
    EXPECT_FAILS(bg_runner_config_set(&config, "warmups", "2"), BG_ERROR_INVALID_ARGUMENT, "struct_size");
    config.struct_size--;
    EXPECT_FAILS(bg__config_check(&config), BG_ERROR_INVALID_ARGUMENT, "BG_RUNNER_CONFIG_INIT");
    config.struct_size = (size_t)-1;
    EXPECT_INVALID(bg__config_check(&config));
    EXPECT_INVALID(bg_runner_config_set(&config, "warmups", "2"));
}

/* ---- text ---- */

/* The default texts give the defaults, whatever was there before; every variable is the key in upper case. */
TEST(test_keys)
{
    bg_runner_config config =
        *RUNNER_CONFIG(.mode = BG_MODE_FULL, .schedule = "atom", .eager_ops = "x", .debug = BG_DEBUG_OPS,
                       .query_lens = "1,2", .max_tokens = 3, .max_query_len = 3, .warmups = 3, .worker_threads = 3,
                       .variants = 3, .level = BG_LEVEL_ONCE, .compile_sizes = "4", .max_padding = 2, .memory_limit = 9,
                       .memory_fraction = 0.5, .lazy = true, .copy_inputs = false);
    assert_int_equal(bg__config_key_count, 16);
    for (int i = 0; i < bg__config_key_count; i++) {
        const bg__config_key *key = &bg__config_keys[i];
        assert_ptr_equal(bg__config_key_find(key->name), key);
        EXPECT_OK(bg_runner_config_set(&config, key->name, bg__variable_find(key->variable)->fallback));
        assert_int_equal(strncmp(key->variable, "BG_RUNNER_", 10), 0);
        assert_int_equal(strlen(key->variable), 10 + strlen(key->name));
        for (size_t c = 0; c < strlen(key->name); c++)
            assert_int_equal(key->variable[10 + c], toupper((unsigned char)key->name[c]));
        assert_true(i == 0 || bg__config_keys[i - 1].offset < key->offset);
    }
    bg_runner_config_clear(&config);
    EXPECT_CONFIG(&config, &fallback);
}

TEST(test_set)
{
    char pattern[] = "rope,!rope#1";
    const char *const texts[][2] = {
        {"mode", "full_decode_only"},
        {"schedule", "1,2,4,8"},
        {"max_tokens", "8"},
        {"max_query_len", "3"},
        {"warmups", "0"},
        {"max_padding", "1.5e0"},
        {"eager_ops", pattern},
        {"lazy", "1"},
        {"copy_inputs", "false"},
        {"memory_limit", "3M"},
        {"debug", "sync"},
        {"worker_threads", "4"},
        {"variants", "2"},
    };
    bg_runner_config config = fallback;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        EXPECT_OK(bg_runner_config_set(&config, texts[i][0], texts[i][1]));
    memset(pattern, 'x', sizeof pattern - 1); /* it was copied */
    EXPECT_CONFIG(&config,
                  RUNNER_CONFIG(.mode = BG_MODE_FULL_DECODE_ONLY, .schedule = "1,2,4,8", .max_tokens = 8,
                                .max_query_len = 3, .warmups = 0, .max_padding = 1.5, .eager_ops = "rope,!rope#1",
                                .lazy = true, .copy_inputs = false, .memory_limit = 3 << 20, .debug = BG_DEBUG_SYNC,
                                .worker_threads = 4, .variants = 2));
    EXPECT_OK(bg__config_check(&config));
    EXPECT_OK(bg_runner_config_set(&config, "schedule", "vllm")); /* in place of a string of its own */
    assert_string_equal(config.schedule, "vllm");
    config.eager_ops = "by_hand";
    bg_runner_config_clear(&config);
    assert_string_equal(config.schedule, "powers");
    assert_string_equal(config.eager_ops, "by_hand");
    assert_int_equal(config.max_tokens, 8);
    assert_null(config.text_);
    bg_runner_config_clear(&config);
    bg_runner_config_clear(NULL);
}

TEST(test_sizes)
{
    static const struct {
        const char *text;
        size_t bytes;
    } rows[] = {{"0", 0},
                {"17", 17},
                {"2K", 2048},
                {"2k", 2048},
                {"5M", (size_t)5 << 20},
                {"80G", (size_t)80 << 30},
                {"18446744073709551615", SIZE_MAX},
                {"17179869183G", (size_t)17179869183u << 30}};
    bg_runner_config config = fallback;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        EXPECT_OK(bg_runner_config_set(&config, "memory_limit", rows[i].text));
        assert_int_equal(config.memory_limit, rows[i].bytes);
    }
}

/* Decimal points are points, wherever the program lives. */
TEST(test_locale)
{
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "de_DE"};
    bg_runner_config config = fallback;
    bool found = false;
    for (size_t i = 0; i < sizeof locales / sizeof *locales && !found; i++)
        found = setlocale(LC_ALL, locales[i]) != NULL;
    EXPECT_OK(bg_runner_config_set(&config, "max_padding", "1.75"));
    setlocale(LC_ALL, "C");
    assert_true(config.max_padding == 1.75);
    if (!found)
        print_message("no locale with a decimal comma is installed: tried in C alone\n");
}

TEST(test_lazy)
{
    static const struct {
        const char *text;
        int lazy;
    } rows[] = {{"no", BG_LAZY_NO},      {"on-demand", BG_LAZY_ON_DEMAND}, {"background", BG_LAZY_BACKGROUND},
                {"false", BG_LAZY_NO},   {"true", BG_LAZY_ON_DEMAND},      {"0", BG_LAZY_NO},
                {"1", BG_LAZY_ON_DEMAND}};
    bg_runner_config config = fallback;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        EXPECT_OK(bg_runner_config_set(&config, "lazy", rows[i].text));
        assert_int_equal(config.lazy, rows[i].lazy);
    }
    config.lazy = BG_LAZY_BACKGROUND + 1;
    EXPECT_FAILS(bg__config_check(&config), BG_ERROR_INVALID_ARGUMENT, "lazy is 3, which is not a bg_lazy");
}

TEST(test_refused)
{
    static const struct {
        const char *key, *value, *text;
    } rows[] = {
        {"mode", "FULL", "allowed are none, piecewise, full, full_decode_only, full_and_piecewise"},
        {"mode", "", "mode is \"\""},
        {"schedule", "8,4", "element 2, \"4\""},
        {"schedule", "fibonacci", "schedule is \"fibonacci\""},
        {"schedule", "", "schedule is empty"},
        {"max_tokens", "0", "max_tokens is \"0\"; allowed are whole numbers from 1 to 16777216"},
        {"max_tokens", "16777217", "max_tokens"},
        {"max_tokens", "99999999999999999999", "max_tokens"},
        {"max_tokens", "12x", "\"12x\""},
        {"max_tokens", " 12", "\" 12\""},
        {"max_tokens", "+12", "\"+12\""},
        {"max_tokens", "-12", "\"-12\""},
        {"max_tokens", "1.5", "\"1.5\""},
        {"max_tokens", "", "\"\""},
        {"max_query_len", "0", "max_query_len: element 1, \"0\", is not positive"},
        {"max_query_len", "", "max_query_len: element 1, \"\", is empty"},
        {"max_query_len", "1.5", "max_query_len: element 1, \"1.5\", is not a whole number"},
        {"max_query_len", "1,4,4", "repeats the one before it"},
        {"max_query_len", "16777217", "is above max_tokens, 16777216"},
        {"warmups", "101", "from 0 to 100"},
        {"max_padding", "0.5", "max_padding is \"0.5\"; allowed are 0"},
        {"max_padding", "1,5", "\"1,5\""},
        {"max_padding", "inf", "\"inf\""},
        {"max_padding", "nan", "\"nan\""},
        {"max_padding", "1e999", "\"1e999\""},
        {"max_padding", "0x2", "\"0x2\""},
        {"max_padding", "-2", "\"-2\""},
        {"max_padding", "1.5.5", "\"1.5.5\""},
        {"max_padding", "", "\"\""},
        {"eager_ops", "a,!,b", "eager_ops: \"!\" is not a pattern"},
        {"lazy", "yes", "lazy is \"yes\"; allowed are no, on-demand, background, false, true, 0, 1"},
        {"copy_inputs", "", "copy_inputs is \"\""},
        {"memory_fraction", "-0.1", "\"-0.1\"; allowed are 0, for no limit, and numbers up to 1"},
        {"memory_fraction", "1.01", "\"1.01\""},
        {"memory_fraction", "50%", "\"50%\""},
        {"memory_limit", "-1", "\"-1\""},
        {"memory_limit", "1T", "\"1T\"; allowed are bytes"},
        {"memory_limit", "1MB", "\"1MB\""},
        {"memory_limit", "M", "\"M\""},
        {"memory_limit", "", "\"\""},
        {"memory_limit", "17179869184G", "\"17179869184G\""},
        {"memory_limit", "18446744073709551616", "memory_limit"},
        {"debug", "loud", "allowed are env, off, forward, ops, sync, step"},
        {"worker_threads", "65", "from 0 to 64"},
        {"variants", "-1", "from 0 to 64"},
    };
    bg_runner_config config = fallback, before;
    EXPECT_OK(bg_runner_config_set(&config, "schedule", "1,2"));
    before = config;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        EXPECT_FAILS(bg_runner_config_set(&config, rows[i].key, rows[i].value), BG_ERROR_INVALID_ARGUMENT, rows[i].key);
        EXPECT_ERROR(rows[i].text);
        EXPECT_SAME_CONFIG(&config, &before);
    }
    EXPECT_FAILS(bg_runner_config_set(&config, "max_token", "1"), BG_ERROR_NOT_FOUND,
                 "no key \"max_token\" (did you mean max_tokens?)");
    EXPECT_FAILS(bg_runner_config_set(&config, "speed", "1"), BG_ERROR_NOT_FOUND,
                 "no key \"speed\"; the keys are: mode, schedule, max_tokens,");
    EXPECT_ERROR("worker_threads, variants");
    EXPECT_STATUS(bg_runner_config_set(&config, "", "1"), BG_ERROR_NOT_FOUND);
    EXPECT_INVALID(bg_runner_config_set(&config, NULL, "1"));
    EXPECT_INVALID(bg_runner_config_set(&config, "lazy", NULL));
    EXPECT_INVALID(bg_runner_config_set(NULL, "lazy", "1"));
    EXPECT_SAME_CONFIG(&config, &before);
    assert_string_equal(config.schedule, "1,2");
    bg_runner_config_clear(&config);
}
