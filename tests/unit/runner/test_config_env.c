/* A runner's configuration from environment variables. */
#include "tests/support/test.h"
#include "tests/support/runner/config_support.h"

#include "runner/config.h"

#include <stdlib.h>

static const bg_runner_config fallback = BG_RUNNER_CONFIG_INIT;

static int without_variables(void **state)
{
    (void)state;
    for (int i = 0; i < bg__config_key_count; i++)
        if (unsetenv(bg__config_keys[i].variable) != 0)
            return 1;
    return unsetenv("BG_RUNNER_MAX_TOKEN");
}

TEST_F(test_environment, without_variables, without_variables, void *state)
{
    static const char *const values[] = {"full",  "1,2", "16",      "2", "0", "1.5",  "rope", "true",
                                         "false", "1G",  "forward", "3", "4", "0.25", "2",    "1,4"};
    bg_runner_config config = fallback;
    assert_int_equal(bg__config_key_count, sizeof values / sizeof *values);
    EXPECT_OK(bg_runner_config_from_env(&config));
    EXPECT_SAME_CONFIG(&config, &fallback);
    for (int i = 0; i < bg__config_key_count; i++)
        assert_int_equal(setenv(bg__config_keys[i].variable, values[i], 1), 0);
    EXPECT_OK(bg_runner_config_from_env(&config));
    assert_int_equal(config.mode, BG_MODE_FULL);
    assert_string_equal(config.schedule, "1,2");
    assert_int_equal(config.max_tokens, 16);
    assert_int_equal(config.max_query_len, 2);
    assert_int_equal(config.warmups, 0);
    assert_true(config.max_padding == 1.5);
    assert_string_equal(config.eager_ops, "rope");
    assert_true(config.lazy && !config.copy_inputs);
    assert_int_equal(config.memory_limit, 1 << 30);
    assert_int_equal(config.debug, BG_DEBUG_FORWARD);
    assert_int_equal(config.worker_threads, 3);
    assert_int_equal(config.variants, 4);
    assert_true(config.memory_fraction == 0.25);
    assert_int_equal(config.level, BG_LEVEL_ONCE);
    assert_string_equal(config.compile_sizes, "1,4");
    without_variables(NULL);
    assert_string_equal(config.schedule, "1,2"); /* its own */
    assert_int_equal(setenv("BG_RUNNER_SCHEDULE", "", 1), 0);
    assert_int_equal(setenv("BG_RUNNER_WARMUPS", "7", 1), 0);
    EXPECT_OK(bg_runner_config_from_env(&config));
    assert_string_equal(config.schedule, "1,2");
    assert_int_equal(config.warmups, 7);
    assert_int_equal(setenv("BG_RUNNER_MAX_QUERY_LEN", "1,4", 1), 0);
    EXPECT_OK(bg_runner_config_from_env(&config));
    without_variables(NULL);
    assert_string_equal(config.query_lens, "1,4"); /* its own */
    bg_runner_config_clear(&config);
    EXPECT_INVALID(bg_runner_config_from_env(NULL));
}

TEST_F(test_environment_refused, without_variables, without_variables, void *state)
{
    bg_runner_config config = fallback, before;
    EXPECT_OK(bg_runner_config_set(&config, "schedule", "atom"));
    before = config;
    assert_int_equal(setenv("BG_RUNNER_SCHEDULE", "vllm", 1), 0);
    assert_int_equal(setenv("BG_RUNNER_VARIANTS", "many", 1), 0);
    EXPECT_FAILURE(bg_runner_config_from_env(&config), BG_ERROR_INVALID_ARGUMENT,
                   "the environment variable BG_RUNNER_VARIANTS: variants is \"many\"");
    EXPECT_SAME_CONFIG(&config, &before);
    assert_string_equal(config.schedule, "atom");
    assert_int_equal(unsetenv("BG_RUNNER_VARIANTS"), 0);
    assert_int_equal(setenv("BG_RUNNER_MAX_TOKEN", "", 1), 0);
    EXPECT_FAILURE(
        bg_runner_config_from_env(&config), BG_ERROR_NOT_FOUND,
        "BG_RUNNER_MAX_TOKEN is unknown to breakgraph (did you mean BG_RUNNER_MAX_TOKENS?); correct or unset it");
    assert_int_equal(unsetenv("BG_RUNNER_MAX_TOKEN"), 0);
    assert_int_equal(setenv("BG_RUNNER_XYZ", "", 1), 0);
    EXPECT_FAILURE(bg_runner_config_from_env(&config), BG_ERROR_NOT_FOUND,
                   "BG_RUNNER_XYZ is unknown to breakgraph; unset it, or write BG_RUNNER_ and");
    assert_int_equal(unsetenv("BG_RUNNER_XYZ"), 0);
    EXPECT_SAME_CONFIG(&config, &before);
    bg_runner_config_clear(&config);
}
