/* JSON is UTF-8, and names of files and ops are what a program makes them; cJSON writes any bytes. */
#include "json.h"

#include <string.h>

#include "base/base.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

static size_t count_bad(const char *text)
{
    size_t bad = 0;
    while (*text != '\0') {
        size_t bytes = bg__utf8_bytes(text);
        bad += bytes == 0;
        text += bytes > 0 ? bytes : 1;
    }
    return bad;
}

static void replace_bad(const char *text, char *to)
{
    while (*text != '\0') {
        size_t bytes = bg__utf8_bytes(text);
        memcpy(to, bytes > 0 ? text : replacement, bytes > 0 ? bytes : sizeof replacement - 1);
        to += bytes > 0 ? bytes : sizeof replacement - 1;
        text += bytes > 0 ? bytes : 1;
    }
    *to = '\0';
}

char *bg__json_text(const cJSON *root, bool indented)
{
    char *text = indented ? cJSON_Print(root) : cJSON_PrintUnformatted(root), *fixed;
    size_t bad = text != NULL ? count_bad(text) : 0;

    if (bad == 0)
        return text;
    fixed = cJSON_malloc(strlen(text) + bad * (sizeof replacement - 2) + 1);
    if (fixed != NULL)
        replace_bad(text, fixed);
    cJSON_free(text);
    return fixed;
}
