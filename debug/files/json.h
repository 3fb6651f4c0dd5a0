/* Functions that cJSON lacks. */
#ifndef BG_DEBUG_JSON_H
#define BG_DEBUG_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* Appends a new object to a list. Returns NULL, and leaves the list unchanged, if out of host memory. */
static inline cJSON *bg__json_add_object(cJSON *list)
{
    cJSON *item = cJSON_CreateObject();
    if (item != NULL && cJSON_AddItemToArray(list, item))
        return item;
    cJSON_Delete(item);
    return NULL;
}

/* As cJSON_Print, but always valid UTF-8. U+FFFD replaces each byte that is not part of a character. Control
 * characters, including U+0080 to U+009F, are written as \u and their number. The caller frees the text with
 * cJSON_free. NULL: out of host memory. */
char *bg__json_text(const cJSON *root, bool indented);

/* Read a number or a text; 0 or "" if the object has no such member. */
double bg__json_number(const cJSON *object, const char *name);
const char *bg__json_string(const cJSON *object, const char *name);

#endif
