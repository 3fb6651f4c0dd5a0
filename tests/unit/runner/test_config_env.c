/* A runner's configuration from environment variables. */
#include "tests/support/runner/config_support.h"

#include "runner/config.h"

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
        set_variable(bg__config_keys[i].variable, values[i]);
    EXPECT_OK(bg_runner_config_from_env(&config));
    EXPECT_CONFIG(&config, RUNNER_CONFIG(.mode = BG_MODE_FULL, .schedule = "1,2", .max_tokens = 16, .max_query_len = 2,
                                         .warmups = 0, .max_padding = 1.5, .eager_ops = "rope", .lazy = true,
                                         .copy_inputs = false, .memory_limit = 1 << 30, .debug = BG_DEBUG_FORWARD,
                                         .worker_threads = 3, .variants = 4, .memory_fraction = 0.25,
                                         .level = BG_LEVEL_ONCE, .compile_sizes = "1,4"));
    without_variables(NULL);
    assert_string_equal(config.schedule, "1,2"); /* its own */
    set_variable("BG_RUNNER_SCHEDULE", "");
    set_variable("BG_RUNNER_WARMUPS", "7");
    EXPECT_OK(bg_runner_config_from_env(&config));
    assert_string_equal(config.schedule, "1,2");
    assert_int_equal(config.warmups, 7);
    set_variable("BG_RUNNER_MAX_QUERY_LEN", "1,4");
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
    set_variable("BG_RUNNER_SCHEDULE", "vllm");
    set_variable("BG_RUNNER_VARIANTS", "many");
    EXPECT_FAILS(bg_runner_config_from_env(&config), BG_ERROR_INVALID_ARGUMENT,
                 "the environment variable BG_RUNNER_VARIANTS: variants is \"many\"");
    EXPECT_SAME_CONFIG(&config, &before);
    assert_string_equal(config.schedule, "atom");
    set_variable("BG_RUNNER_VARIANTS", NULL);
    set_variable("BG_RUNNER_MAX_TOKEN", "");
    EXPECT_FAILS(
        bg_runner_config_from_env(&config), BG_ERROR_NOT_FOUND,
        "BG_RUNNER_MAX_TOKEN is unknown to breakgraph (did you mean BG_RUNNER_MAX_TOKENS?); correct or unset it");
    set_variable("BG_RUNNER_MAX_TOKEN", NULL);
    set_variable("BG_RUNNER_XYZ", "");
    EXPECT_FAILS(bg_runner_config_from_env(&config), BG_ERROR_NOT_FOUND,
                 "BG_RUNNER_XYZ is unknown to breakgraph; unset it, or write BG_RUNNER_ and");
    set_variable("BG_RUNNER_XYZ", NULL);
    EXPECT_SAME_CONFIG(&config, &before);
    bg_runner_config_clear(&config);
}
