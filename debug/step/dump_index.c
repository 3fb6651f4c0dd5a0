#include "dump_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"

/* Whether a dump can go on: this version wrote it, and it was stopped. */
static bool is_stopped(const cJSON *index)
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
    if (*index == NULL || !is_stopped(*index)) {
        cJSON_Delete(*index);
        *index = NULL;
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT,
                 "%s already has an index.json, and dumps are not overwritten; name another directory", directory);
    }
done:
    free(path);
    return status;
}
