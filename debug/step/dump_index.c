#include "dump_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/text.h"
#include "debug/files/json.h"

/* Whether a dump can continue: this version wrote it, and it was stopped. */
static bool is_stopped_dump(const cJSON *index)
{
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(index, "dump_version");
    const char *by = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(index, "breakgraph"));
    return by != NULL && strcmp(by, bg_version()) == 0 && cJSON_IsNumber(version) &&
           version->valueint == BG__DUMP_VERSION && cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(index, "next")) &&
           cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(index, "tensors")) &&
           cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(index, "graph")) != NULL;
}

static cJSON *parse_index(const char *path)
{
    enum { MOST = 1 << 30 };
    char *text = NULL;
    size_t size = 0;
    cJSON *index = NULL;
    if (bg__file_read(path, false, MOST, &text, &size) == BG_OK && size <= MOST)
        index = cJSON_ParseWithLength(text, size);
    free(text);
    return index;
}

bg_status bg__dump_index_read(const char *directory, cJSON **index)
{
    char *path = NULL;
    struct stat what;
    bg_status status = BG_OK;

    *index = NULL;
    if (asprintf(&path, "%s/index.json", directory) < 0)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a dump");
    if (lstat(path, &what) != 0)
        goto done;
    *index = parse_index(path);
    if (*index == NULL || !is_stopped_dump(*index)) {
        cJSON_Delete(*index);
        *index = NULL;
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT,
                 "%s already has an index.json, and dumps are not overwritten; name another directory", directory);
    }
done:
    free(path);
    return status;
}

/* ---- what a dump that goes on relies on ---- */

static bg_status hash_index(const cJSON *index, char hash[17])
{
    char *text = bg__json_text(index, false);
    if (text == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a dump");
    snprintf(hash, 17, "%016llx", (unsigned long long)bg__text_hash(text));
    cJSON_free(text);
    return BG_OK;
}

bg_status bg__dump_index_seal(cJSON *index)
{
    cJSON *next = cJSON_GetObjectItemCaseSensitive(index, "next");
    char hash[17];
    bg_status status;

    BG__TRY(hash_index(index, hash));
    if (cJSON_AddStringToObject(next, "seal", hash) == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a dump");
done:
    return status;
}

static bg_status check_file(const char *directory, const cJSON *item)
{
    const char *file = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "file"));
    char *path = NULL;
    struct stat what;
    bg_status status = BG_OK;

    if (file == NULL) /* a tensor without memory */
        return BG_OK;
    if (asprintf(&path, "%s/%s", directory, file) < 0)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a dump");
    if (stat(path, &what) != 0)
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT,
                          "%s holds the first part of a dump, but its file %s is gone; name another directory",
                          directory, file);
    free(path);
    return status;
}

static bg_status check_files(const char *directory, const cJSON *list)
{
    const cJSON *item;
    bg_status status = BG_OK;

    cJSON_ArrayForEach(item, list)
    {
        BG__TRY(check_file(directory, item));
    }
done:
    return status;
}

bg_status bg__dump_index_verify(const char *directory, cJSON *index)
{
    cJSON *seal = cJSON_DetachItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(index, "next"), "seal");
    const char *was = cJSON_GetStringValue(seal);
    const cJSON *node;
    char hash[17];
    bg_status status;

    BG__TRY(hash_index(index, hash));
    if (was == NULL || strcmp(was, hash) != 0)
        BG__FAIL(
            BG_ERROR_INVALID_ARGUMENT,
            "%s/index.json was changed after the dump stopped, so the dump cannot continue; name another directory",
            directory);
    BG__TRY(check_files(directory, cJSON_GetObjectItemCaseSensitive(index, "tensors")));
    cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(index, "nodes"))
    {
        BG__TRY(check_files(directory, cJSON_GetObjectItemCaseSensitive(node, "ranges")));
    }
done:
    cJSON_Delete(seal);
    return status;
}
