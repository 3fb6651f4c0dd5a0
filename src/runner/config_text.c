/* Sets and reads the keys of a configuration as text. */
#include "runner/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bg_config_text {
    char *schedule, *eager_ops, *query_lens, *compile_sizes;
};

#define KEY(name, VARIABLE, type)                                                                                      \
    {                                                                                                                  \
#name, "BG_RUNNER_" #VARIABLE, type, offsetof(bg_runner_config, name)                                          \
    }
const bg__config_key bg__config_keys[] = {
    KEY(mode, MODE, BG__KEY_CHOICE),
    KEY(schedule, SCHEDULE, BG__KEY_SCHEDULE),
    KEY(max_tokens, MAX_TOKENS, BG__KEY_INT),
    KEY(max_query_len, MAX_QUERY_LEN, BG__KEY_QUERY_LENS),
    KEY(warmups, WARMUPS, BG__KEY_INT),
    KEY(max_padding, MAX_PADDING, BG__KEY_DOUBLE),
    KEY(eager_ops, EAGER_OPS, BG__KEY_PATTERN),
    KEY(lazy, LAZY, BG__KEY_LAZY),
    KEY(copy_inputs, COPY_INPUTS, BG__KEY_BOOL),
    KEY(memory_limit, MEMORY_LIMIT, BG__KEY_SIZE),
    KEY(debug, DEBUG, BG__KEY_CHOICE),
    KEY(worker_threads, WORKER_THREADS, BG__KEY_INT),
    KEY(variants, VARIANTS, BG__KEY_INT),
    KEY(memory_fraction, MEMORY_FRACTION, BG__KEY_DOUBLE),
    KEY(level, LEVEL, BG__KEY_LEVEL),
    KEY(compile_sizes, COMPILE_SIZES, BG__KEY_COMPILE_SIZES),
};
const int bg__config_key_count = sizeof bg__config_keys / sizeof *bg__config_keys;

const bg__config_key *bg__config_key_find(const char *name)
{
    for (int i = 0; i < bg__config_key_count; i++)
        if (strcmp(bg__config_keys[i].name, name) == 0)
            return &bg__config_keys[i];
    return NULL;
}

static bg_status refuse_key(const char *name)
{
    bg__nearest nearest = bg__nearest_begin(name, strlen(name));
    char names[256] = "", hint[BG__HINT_BYTES];
    size_t used = 0;
    for (int i = 0; i < bg__config_key_count && used < sizeof names; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", bg__config_keys[i].name);
        bg__nearest_add(&nearest, bg__config_keys[i].name, strlen(bg__config_keys[i].name));
    }
    if (nearest.name != NULL)
        return bg__fail(BG_ERROR_NOT_FOUND, "there is no key \"%.64s\"%s", name, bg__nearest_hint(&nearest, "", hint));
    return bg__fail(BG_ERROR_NOT_FOUND, "there is no key \"%.64s\"; the keys are: %s", name, names);
}

/* ---- values ---- */

static bg_status refuse_value(const bg__config_key *key, const char *value)
{
    char allowed[BG__ALLOWED_BYTES];
    return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s is \"%.64s\"; allowed are %s", key->name, value,
                    bg__variable_describe_allowed(bg__variable_find(key->variable), value, allowed));
}

static bg_status read_number(const bg__config_key *key, const char *value, double *number)
{
    return bg__variable_parse_number(bg__variable_find(key->variable), value, number) ? BG_OK
                                                                                      : refuse_value(key, value);
}

static bg_status read_int(const bg__config_key *key, const char *value, int *number)
{
    double parsed = 0;
    bg_status status = read_number(key, value, &parsed);
    if (status == BG_OK)
        *number = (int)parsed;
    return status;
}

static bg_status read_size(const bg__config_key *key, const char *value, size_t *size)
{
    static const char suffixes[] = "KMG";
    unsigned long long parsed;
    const char *suffix;
    char *end;
    int shift = 0;

    errno = 0;
    parsed = strtoull(value, &end, 10);
    if (*end != '\0' && (suffix = strchr(suffixes, toupper((unsigned char)*end))) != NULL) {
        shift = 10 * (int)(suffix - suffixes + 1);
        end++;
    }
    if (!isdigit((unsigned char)value[0]) || *end != '\0' || errno != 0 || parsed > SIZE_MAX >> shift)
        return refuse_value(key, value);
    *size = (size_t)parsed << shift;
    return BG_OK;
}

static bg_status read_choice(const bg__config_key *key, const char *value, int *index)
{
    return bg__variable_parse_choice(bg__variable_find(key->variable), value, index) ? BG_OK : refuse_value(key, value);
}

/* "true|false|1|0" */
static bg_status read_bool(const bg__config_key *key, const char *value, bool *flag)
{
    int index = 0;
    bg_status status = read_choice(key, value, &index);
    if (status == BG_OK)
        *flag = index % 2 == 0;
    return status;
}

/* "no|on-demand|background|false|true|0|1" */
static bg_status read_lazy(const bg__config_key *key, const char *value, uint8_t *lazy)
{
    static const uint8_t values[] = {BG_LAZY_NO,        BG_LAZY_ON_DEMAND, BG_LAZY_BACKGROUND, BG_LAZY_NO,
                                     BG_LAZY_ON_DEMAND, BG_LAZY_NO,        BG_LAZY_ON_DEMAND};
    int index = 0;
    bg_status status = read_choice(key, value, &index);
    if (status == BG_OK)
        *lazy = values[index];
    return status;
}

/* "env|0|1|2|3|none|as-is|once|piecewise" */
static bg_status read_level(const bg__config_key *key, const char *value, int *level)
{
    int index = 0;
    bg_status status = read_choice(key, value, &index);
    if (status == BG_OK)
        *level = index == 0 ? BG_LEVEL_FROM_ENV : (index - 1) % BG_LEVEL_COUNT;
    return status;
}

/* ---- strings ---- */

static void free_config_text(struct bg_config_text *text)
{
    if (text == NULL)
        return;
    free(text->schedule);
    free(text->eager_ops);
    free(text->query_lens);
    free(text->compile_sizes);
    free(text);
}

/* Returns where the configuration owns the key's string; *field: its public field. */
static char **find_string_field(bg_runner_config *config, const bg__config_key *key, const char ***field)
{
    switch (key->type) {
    case BG__KEY_SCHEDULE: *field = &config->schedule; return &config->text_->schedule;
    case BG__KEY_QUERY_LENS: *field = &config->query_lens; return &config->text_->query_lens;
    case BG__KEY_COMPILE_SIZES: *field = &config->compile_sizes; return &config->text_->compile_sizes;
    default: *field = &config->eager_ops; return &config->text_->eager_ops;
    }
}

static bg_status read_string(const bg__config_key *key, const char *value, bg_runner_config *config)
{
    const char **field;
    char **owned, *copy;

    if (config->text_ == NULL)
        config->text_ = calloc(1, sizeof *config->text_);
    copy = config->text_ != NULL ? strdup(value) : NULL;
    if (copy == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %s", key->name);
    owned = find_string_field(config, key, &field);
    free(*owned);
    *owned = copy;
    *field = copy;
    return BG_OK;
}

/* A single number goes into max_query_len, which programs read; a list stays a string. */
static bg_status read_query_lens(const bg__config_key *key, const char *value, bg_runner_config *config)
{
    bg_status status;

    BG__TRY(bg__query_lens_check(value, BG__TOKENS_MAX));
    if (strchr(value, ',') != NULL)
        return read_string(key, value, config);
    config->query_lens = NULL;
    config->max_query_len = (int)strtol(value, NULL, 10);
done:
    return status;
}

void bg__config_begin_trial(const bg_runner_config *config, bg_runner_config *trial)
{
    *trial = *config;
    trial->text_ = NULL;
}

static void move_string(char **to, char **from)
{
    if (*from == NULL)
        return;
    free(*to);
    *to = *from;
    *from = NULL;
}

void bg__config_commit(bg_runner_config *config, bg_runner_config *trial)
{
    struct bg_config_text *text = config->text_;
    if (text == NULL) {
        text = trial->text_;
    } else if (trial->text_ != NULL) {
        move_string(&text->schedule, &trial->text_->schedule);
        move_string(&text->eager_ops, &trial->text_->eager_ops);
        move_string(&text->query_lens, &trial->text_->query_lens);
        move_string(&text->compile_sizes, &trial->text_->compile_sizes);
        free_config_text(trial->text_);
    }
    *config = *trial;
    config->text_ = text;
    trial->text_ = NULL;
}

void bg_runner_config_clear(bg_runner_config *config)
{
    const bg_runner_config fallback = BG_RUNNER_CONFIG_INIT;
    if (config == NULL || config->text_ == NULL)
        return;
    if (config->schedule == config->text_->schedule)
        config->schedule = fallback.schedule;
    if (config->eager_ops == config->text_->eager_ops)
        config->eager_ops = fallback.eager_ops;
    if (config->query_lens == config->text_->query_lens)
        config->query_lens = fallback.query_lens;
    if (config->compile_sizes == config->text_->compile_sizes)
        config->compile_sizes = fallback.compile_sizes;
    free_config_text(config->text_);
    config->text_ = NULL;
}

/* ---- setting ---- */

static bg_status read_value(const bg__config_key *key, const char *value, bg_runner_config *config)
{
    void *field = (char *)config + key->offset;
    bg_status status = BG_OK;

    switch (key->type) {
    case BG__KEY_CHOICE: return read_choice(key, value, field);
    case BG__KEY_BOOL: return read_bool(key, value, field);
    case BG__KEY_LAZY: return read_lazy(key, value, field);
    case BG__KEY_INT: return read_int(key, value, field);
    case BG__KEY_DOUBLE: return read_number(key, value, field);
    case BG__KEY_SIZE: return read_size(key, value, field);
    case BG__KEY_QUERY_LENS: return read_query_lens(key, value, config);
    case BG__KEY_LEVEL: return read_level(key, value, field);
    case BG__KEY_COMPILE_SIZES: status = bg__compile_sizes_check(value); break;
    case BG__KEY_SCHEDULE: status = bg__schedule_check(value, BG__TOKENS_MAX); break;
    case BG__KEY_PATTERN:
        config->eager_ops = NULL; /* what "" means */
        if (value[0] == '\0')
            return BG_OK;
        status = bg__override_check_list(value, key->name);
        break;
    }
    return status != BG_OK ? status : read_string(key, value, config);
}

bg_status bg_runner_config_set(bg_runner_config *config, const char *name, const char *value)
{
    const bg__config_key *key;
    bg_runner_config trial;
    bg_status status;

    BG__NEED(config);
    BG__NEED(name);
    BG__NEED(value);
    BG__TRY(bg__config_check_size(config));
    key = bg__config_key_find(name);
    if (key == NULL)
        return refuse_key(name);
    bg__config_begin_trial(config, &trial);
    status = read_value(key, value, &trial);
    if (status == BG_OK)
        bg__config_commit(config, &trial);
    bg_runner_config_clear(&trial);
done:
    return status;
}
