/* Checks whether a configuration is valid, and copies valid ones. */
#include "runner/config.h"

#include <math.h>

static bg_status check_int(const char *key, int value, const char *variable)
{
    const bg__variable *row = bg__variable_find(variable);
    char allowed[BG__ALLOWED_BYTES];
    if (value >= row->least && value <= row->most)
        return BG_OK;
    return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s is %d; allowed are %s", key, value,
                    bg__variable_describe_allowed(row, NULL, allowed));
}

static bg_status check_debug(bg_debug debug)
{
    if ((int)debug < BG_DEBUG_FROM_ENV || debug > BG_DEBUG_STEP)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "debug is %d, which is not a bg_debug", (int)debug);
    return BG_OK;
}

static bg_status check_state(const bg_tensor *state, size_t count)
{
    if (state == NULL && count > 0)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "state is NULL, but state_count is %zu", count);
    for (size_t i = 0; i < count; i++) {
        if (!bg__tensor_is_valid(&state[i]))
            return bg__fail(BG_ERROR_INVALID_ARGUMENT, "state[%zu] is not a valid tensor: dtype %d, rank %d", i,
                            (int)state[i].dtype, state[i].rank);
        if (state[i].data == NULL && bg_tensor_bytes(&state[i]) > 0)
            return bg__fail(BG_ERROR_INVALID_ARGUMENT, "state[%zu] has no memory", i);
    }
    return BG_OK;
}

static bg_status check_fields(const bg_runner_config *config)
{
    bg_status status;
    if (!bg__mode_is_valid(config->mode))
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "mode is %d, which is not a bg_mode", (int)config->mode);
    BG__TRY(check_int("max_tokens", config->max_tokens, "BG_RUNNER_MAX_TOKENS"));
    BG__TRY(bg__schedule_check(config->schedule, config->max_tokens));
    if (config->query_lens != NULL) {
        BG__TRY(bg__query_lens_check(config->query_lens, config->max_tokens));
    } else if (config->max_query_len < 1 || config->max_query_len > config->max_tokens) {
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT, "max_query_len is %d; allowed are 1 to max_tokens, %d",
                          config->max_query_len, config->max_tokens);
        goto done;
    }
    BG__TRY(check_int("warmups", config->warmups, "BG_RUNNER_WARMUPS"));
    if (!isfinite(config->max_padding) || (config->max_padding != 0 && config->max_padding < 1))
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "max_padding is %g; allowed are 0, for no limit, and ratios of 1 or more",
                 config->max_padding);
    BG__TRY(bg__override_check_list(config->eager_ops, "eager_ops"));
    BG__TRY(check_debug(config->debug));
    if (config->lazy > BG_LAZY_BACKGROUND)
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "lazy is %d, which is not a bg_lazy", config->lazy);
    BG__TRY(check_int("worker_threads", config->worker_threads, "BG_RUNNER_WORKER_THREADS"));
    BG__TRY(check_int("variants", config->variants, "BG_RUNNER_VARIANTS"));
    BG__TRY(check_state(config->state, config->state_count));
    if (config->level < BG_LEVEL_FROM_ENV || config->level >= BG_LEVEL_COUNT)
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "level is %d, which is not a bg_level", config->level);
    if (config->compile_sizes != NULL)
        BG__TRY(bg__compile_sizes_check(config->compile_sizes));
    if (!(config->memory_fraction >= 0 && config->memory_fraction <= 1))
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "memory_fraction is %g; allowed are 0, for no limit, and numbers up to 1",
                 config->memory_fraction);
done:
    return status;
}

/* Copies a config of at least `least` bytes, from this version of the header or another. */
static bg_status copy_config(const bg_runner_config *config, size_t least, bg_runner_config *full)
{
    return bg__struct_copy_in(full, config, sizeof *full, least, "config", "BG_RUNNER_CONFIG_INIT");
}

bg_status bg__config_check_size(const bg_runner_config *config)
{
    bg_runner_config full = BG_RUNNER_CONFIG_INIT;
    return copy_config(config, sizeof full, &full);
}

bg_status bg__config_copy_checked(const bg_runner_config *config, bg_runner_config *copy)
{
    bg_runner_config full = BG_RUNNER_CONFIG_INIT;
    bg_status status;

    BG__NEED(config);
    /* The first version ended before worker_threads. */
    BG__TRY(copy_config(config, offsetof(bg_runner_config, worker_threads), &full));
    full.text_ = NULL;
    status = check_fields(&full);
    if (status != BG_OK) {
        bg__error_add_location("runner configuration");
        goto done;
    }
    full.variants = full.variants > 0 ? full.variants : 1;
    *copy = full;
done:
    return status;
}

bg_status bg__config_check(const bg_runner_config *config)
{
    bg_runner_config copy;
    return bg__config_copy_checked(config, &copy);
}
