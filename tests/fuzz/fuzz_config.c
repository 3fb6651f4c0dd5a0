/* The runner's configuration file. What is taken is in bounds, and the same when it was written and read again; what is
 * refused leaves the configuration as it was. */
#include "fuzz.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "runner/config.h"

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool is_same(const bg_runner_config *a, const bg_runner_config *b)
{
    return a->mode == b->mode && is_same_text(a->schedule, b->schedule) && a->max_tokens == b->max_tokens &&
           a->max_query_len == b->max_query_len && a->warmups == b->warmups && a->max_padding == b->max_padding &&
           is_same_text(a->eager_ops, b->eager_ops) && a->lazy == b->lazy && a->copy_inputs == b->copy_inputs &&
           a->memory_limit == b->memory_limit && a->debug == b->debug && a->worker_threads == b->worker_threads &&
           a->variants == b->variants && is_same_text(a->query_lens, b->query_lens);
}

static void expect_in_bounds(const bg_runner_config *c)
{
    FUZZ_EXPECT(bg__mode_is_valid(c->mode));
    FUZZ_EXPECT(c->max_tokens >= 1 && c->max_tokens <= BG__TOKENS_MAX);
    FUZZ_EXPECT(c->max_query_len >= 1 && c->max_query_len <= BG__TOKENS_MAX);
    FUZZ_EXPECT(c->warmups >= 0 && c->warmups <= 100);
    FUZZ_EXPECT(c->max_padding == 0 || (c->max_padding >= 1 && c->max_padding - c->max_padding == 0));
    FUZZ_EXPECT(c->worker_threads >= 0 && c->worker_threads <= 64);
    FUZZ_EXPECT(c->variants >= 0 && c->variants <= 64);
    FUZZ_EXPECT(bg__schedule_check(c->schedule, BG__TOKENS_MAX) == BG_OK);
    FUZZ_EXPECT(bg__override_check_list(c->eager_ops, "eager_ops") == BG_OK);
    FUZZ_EXPECT(c->query_lens == NULL || bg__query_lens_check(c->query_lens, BG__TOKENS_MAX) == BG_OK);
}

/* As a file that a person would write. */
static char *write_config(const bg_runner_config *c)
{
    cJSON *root = cJSON_CreateObject();
    char *text, limit[32];
    snprintf(limit, sizeof limit, "%zu", c->memory_limit);
    cJSON_AddStringToObject(root, "mode", bg__mode_name(c->mode));
    cJSON_AddStringToObject(root, "schedule", c->schedule);
    cJSON_AddNumberToObject(root, "max_tokens", c->max_tokens);
    if (c->query_lens != NULL)
        cJSON_AddStringToObject(root, "max_query_len", c->query_lens);
    else
        cJSON_AddNumberToObject(root, "max_query_len", c->max_query_len);
    cJSON_AddNumberToObject(root, "warmups", c->warmups);
    cJSON_AddNumberToObject(root, "max_padding", c->max_padding);
    cJSON_AddStringToObject(root, "eager_ops", c->eager_ops != NULL ? c->eager_ops : "");
    cJSON_AddBoolToObject(root, "lazy", c->lazy);
    cJSON_AddBoolToObject(root, "copy_inputs", c->copy_inputs);
    cJSON_AddStringToObject(root, "memory_limit", limit);
    cJSON_AddNumberToObject(root, "worker_threads", c->worker_threads);
    cJSON_AddNumberToObject(root, "variants", c->variants);
    text = cJSON_Print(root);
    FUZZ_EXPECT(text != NULL);
    cJSON_Delete(root);
    return text;
}

static void expect_same_again(const bg_runner_config *config)
{
    bg_runner_config again = BG_RUNNER_CONFIG_INIT;
    char *text = write_config(config);
    again.debug = config->debug;
    again.max_query_len = config->max_query_len;
    FUZZ_EXPECT(bg_runner_config_read(&again, fuzz_file((const uint8_t *)text, strlen(text))) == BG_OK);
    FUZZ_EXPECT(is_same(&again, config));
    bg_runner_config_clear(&again);
    cJSON_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bg_runner_config before = BG_RUNNER_CONFIG_INIT;
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_status status;

    fuzz_forget_error();
    status = bg_runner_config_read(&config, fuzz_file(data, size));
    if (status == BG_OK) {
        expect_in_bounds(&config);
        expect_same_again(&config);
    } else {
        fuzz_expect_refused(status);
        FUZZ_EXPECT(status == BG_ERROR_INVALID_ARGUMENT || status == BG_ERROR_NOT_FOUND);
        FUZZ_EXPECT(is_same(&config, &before) && config.text_ == NULL);
    }
    bg_runner_config_clear(&config);
    return 0;
}
