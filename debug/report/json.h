/* What cJSON lacks. */
#ifndef BG_DEBUG_JSON_H
#define BG_DEBUG_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* A new object at the end of a list; NULL: out of host memory, and the list is as it was. */
static inline cJSON *bg__json_add_object(cJSON *list)
{
    cJSON *item = cJSON_CreateObject();
    if (item != NULL && cJSON_AddItemToArray(list, item))
        return item;
    cJSON_Delete(item);
    return NULL;
}

/* As cJSON_Print, in UTF-8 whatever the strings hold: U+FFFD stands for each byte that is part of no character,
 * and control characters, U+0080 to U+009F too, are \u and their number. cJSON_free takes it; NULL: out of host memory.
 */
char *bg__json_text(const cJSON *root, bool indented);

#endif
