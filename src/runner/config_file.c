/* A runner's configuration from a JSON file. */
#include "runner/config.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 1 << 20, NUMBER_BYTES = 64 };

/* cJSON keeps its last error in a variable of all threads. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- the file ---- */

/* Reads the whole file; the caller frees *text. */
static bg_status read_config_file(const char *path, char **text)
{
    size_t size = 0;
    bg_status status;

    BG__TRY(bg__file_read(path, true, FILE_MAX, text, &size));
    if (size > FILE_MAX)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "%s: the file is larger than %d bytes, the maximum of a configuration", path, FILE_MAX);
    /* Either would end a text early. */
    if (strlen(*text) != size || strstr(*text, "\\u0000") != NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: the file holds a zero byte; a configuration is text", path);
done:
    return status;
}

/* cJSON stops at most one character after the error. */
static bg_status refuse_json(const char *text, const char *at)
{
    enum { AROUND = 20 };
    const char *start = text, *excerpt;
    int line = 1, rest = 0;
    for (const char *c = text; c < at; c++) {
        if (*c == '\n') {
            start = c + 1;
            line++;
        }
    }
    while (rest < AROUND && at[rest] != '\0' && at[rest] != '\n')
        rest++;
    excerpt = at - start < AROUND ? start : at - AROUND;
    return bg__fail(BG_ERROR_INVALID_ARGUMENT, "near line %d, column %d: this is not JSON: \"%.*s\"", line,
                    (int)(at - start) + 1, (int)(at - excerpt) + rest, excerpt);
}

static bg_status parse_config(const char *text, cJSON **root)
{
    const char *end = text;
    pthread_mutex_lock(&mutex);
    *root = cJSON_ParseWithLengthOpts(text, strlen(text) + 1, &end, true);
    pthread_mutex_unlock(&mutex);
    if (*root == NULL)
        return refuse_json(text, end != NULL ? end : text);
    if (!cJSON_IsObject(*root))
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "the file does not hold an object; write {\"max_tokens\": 512, ...}");
    return BG_OK;
}

/* ---- values, as the text that bg_runner_config_set takes ---- */

/* Formats whole numbers in full, and others with as many digits as they need and a point, in every locale. */
static bg_status format_number(cJSON *item, char text[NUMBER_BYTES])
{
    double number = cJSON_GetNumberValue(item);
    if (!isfinite(number) || fabs(number) > 9007199254740992.0) /* 2^53: beyond it doubles are not exact */
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "the number %g is too large", number);
    if (number == floor(number))
        snprintf(text, NUMBER_BYTES, "%.0f", number);
    else if (!cJSON_PrintPreallocated(item, text, NUMBER_BYTES, false))
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "the number %g cannot be converted to text", number);
    return BG_OK;
}

/* Formats an array of numbers as a list with commas; the caller frees *list. */
static bg_status format_list(cJSON *array, char **list)
{
    size_t used = 0, bytes = (size_t)cJSON_GetArraySize(array) * NUMBER_BYTES + 1;
    char *text = malloc(bytes);
    bg_status status = BG_OK;
    int index = 0;
    cJSON *item;

    if (text == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a list");
    text[0] = '\0';
    cJSON_ArrayForEach(item, array)
    {
        char number[NUMBER_BYTES];
        index++;
        if (!cJSON_IsNumber(item))
            BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "element %d is not a number", index);
        BG__TRY(format_number(item, number));
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", index > 1 ? "," : "", number);
    }
    *list = text;
    text = NULL;
done:
    free(text);
    return status;
}

static const char *json_type_name(const cJSON *item)
{
    if (cJSON_IsString(item))
        return "a string";
    if (cJSON_IsNumber(item))
        return "a number";
    if (cJSON_IsBool(item))
        return "a boolean";
    if (cJSON_IsArray(item))
        return "an array";
    return cJSON_IsObject(item) ? "an object" : "null";
}

/* Returns what the key takes, in words; NULL: item is of that type. */
static const char *expected_type(const bg__config_key *key, const cJSON *item)
{
    switch (key->type) {
    case BG__KEY_BOOL: return cJSON_IsBool(item) ? NULL : "true or false";
    case BG__KEY_LAZY: return cJSON_IsBool(item) || cJSON_IsString(item) ? NULL : "true, false or a string";
    case BG__KEY_LEVEL:
        return cJSON_IsNumber(item) || cJSON_IsString(item) ? NULL : "a number from 0 to 3, or a string";
    case BG__KEY_INT:
    case BG__KEY_DOUBLE: return cJSON_IsNumber(item) ? NULL : "a number";
    case BG__KEY_SIZE: return cJSON_IsNumber(item) || cJSON_IsString(item) ? NULL : "a number, or a string like \"2G\"";
    case BG__KEY_QUERY_LENS:
        return cJSON_IsNumber(item) || cJSON_IsString(item) || cJSON_IsArray(item)
                   ? NULL
                   : "a number, a string or an array of numbers";
    case BG__KEY_COMPILE_SIZES:
    case BG__KEY_SCHEDULE:
        return cJSON_IsString(item) || cJSON_IsArray(item) ? NULL : "a string or an array of numbers";
    default: return cJSON_IsString(item) ? NULL : "a string";
    }
}

static bg_status set_key(bg_runner_config *config, cJSON *item)
{
    const bg__config_key *key = bg__config_key_find(item->string);
    const char *want = key != NULL ? expected_type(key, item) : NULL;
    char number[NUMBER_BYTES], *list = NULL;
    const char *value = "";
    bg_status status;

    if (want != NULL)
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "%s is %s; write %s", key->name, json_type_name(item), want);
    if (cJSON_IsString(item)) {
        value = cJSON_GetStringValue(item);
    } else if (cJSON_IsBool(item)) {
        value = cJSON_IsTrue(item) ? "true" : "false";
    } else if (cJSON_IsNumber(item)) {
        BG__TRY(format_number(item, number));
        value = number;
    } else if (cJSON_IsArray(item)) {
        BG__TRY(format_list(item, &list));
        value = list;
    }
    BG__TRY(bg_runner_config_set(config, item->string, value));
done:
    free(list);
    return status;
}

/* ---- all of them ---- */

static bg_status set_keys(bg_runner_config *config, cJSON *root)
{
    bg_status status = BG_OK;
    cJSON *item;
    cJSON_ArrayForEach(item, root)
    {
        /* The lookup returns the first item of that name, which is another one if there are two. */
        if (cJSON_GetObjectItemCaseSensitive(root, item->string) != item)
            BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "the key \"%.64s\" appears twice; remove one", item->string);
        status = set_key(config, item);
        if (status != BG_OK) {
            bg__error_add_location("key \"%.64s\"", item->string);
            goto done;
        }
    }
done:
    return status;
}

bg_status bg_runner_config_read(bg_runner_config *config, const char *path)
{
    bg_runner_config trial = BG_RUNNER_CONFIG_INIT;
    cJSON *root = NULL;
    char *text = NULL;
    bg_status status;

    BG__NEED(config);
    BG__NEED(path);
    BG__TRY(bg__config_check_size(config));
    bg__config_begin_trial(config, &trial);
    BG__TRY(read_config_file(path, &text));
    status = parse_config(text, &root);
    if (status == BG_OK)
        status = set_keys(&trial, root);
    if (status == BG_OK)
        bg__config_commit(config, &trial);
    else
        bg__error_add_location("%s", path);
done:
    cJSON_Delete(root);
    free(text);
    bg_runner_config_clear(&trial);
    return status;
}
