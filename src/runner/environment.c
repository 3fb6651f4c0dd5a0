/* A configuration from environment variables. */
#include "runner/config.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

static const char prefix[] = "BG_RUNNER_";

static bool is_known_variable(const char *variable, size_t length)
{
    for (int i = 0; i < bg__config_key_count; i++)
        if (strlen(bg__config_keys[i].variable) == length && memcmp(bg__config_keys[i].variable, variable, length) == 0)
            return true;
    return false;
}

static bg_status refuse_unknown_variable(const char *variable, int length)
{
    const size_t lead = sizeof prefix - 1;
    bg__nearest nearest = bg__nearest_begin(variable + lead, (size_t)length - lead);
    char hint[BG__HINT_BYTES];
    for (int i = 0; i < bg__config_key_count; i++)
        bg__nearest_add(&nearest, bg__config_keys[i].variable + lead, strlen(bg__config_keys[i].variable + lead));
    length = length < 64 ? length : 64;
    if (nearest.name != NULL)
        return bg__fail(BG_ERROR_NOT_FOUND,
                        "the environment variable %.*s is unknown to breakgraph%s; correct or unset it", length,
                        variable, bg__nearest_hint(&nearest, prefix, hint));
    return bg__fail(BG_ERROR_NOT_FOUND,
                    "the environment variable %.*s is unknown to breakgraph; unset it, or write %s and a key of the "
                    "runner's configuration in upper case, such as %s",
                    length, variable, prefix, bg__config_keys[0].variable);
}

static bg_status refuse_unknown_variables(void)
{
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, prefix, sizeof prefix - 1) == 0 && !is_known_variable(*entry, length))
            return refuse_unknown_variable(*entry, length < INT_MAX ? (int)length : INT_MAX);
    }
    return BG_OK;
}

bg_status bg_runner_config_from_env(bg_runner_config *config)
{
    bg_runner_config trial = BG_RUNNER_CONFIG_INIT;
    bg_status status;

    BG__NEED(config);
    BG__TRY(bg__config_check_size(config));
    BG__TRY(refuse_unknown_variables());
    bg__config_begin_trial(config, &trial);
    for (int i = 0; i < bg__config_key_count; i++) {
        const bg__config_key *key = &bg__config_keys[i];
        const char *value = bg__env_value(key->variable);
        if (value == NULL)
            continue;
        status = bg_runner_config_set(&trial, key->name, value);
        if (status != BG_OK) {
            bg__error_add_location("the environment variable %s", key->variable);
            goto done;
        }
    }
    bg__config_commit(config, &trial);
done:
    bg_runner_config_clear(&trial);
    return status;
}
