/* Writes cJSON objects as valid UTF-8, which JSON requires. Names of files and ops may contain other bytes, which cJSON
 * would write as they are. */
#include "json.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Writes the first character of text to `to`, escaped for JSON. Returns the number of bytes written. *taken: bytes read
 * from text. */
static size_t escape_character(const char *text, size_t *taken, char to[8])
{
    const unsigned char *byte = (const unsigned char *)text;
    size_t bytes = bg__utf8_bytes(text);

    *taken = bytes > 0 ? bytes : 1;
    if (bytes == 0)
        return (size_t)snprintf(to, 8, "%s", replacement);
    if (byte[0] == 0x7f || (bytes == 2 && byte[0] == 0xc2 && byte[1] < 0xa0)) /* control characters of terminals */
        return (size_t)snprintf(to, 8, "\\u%04x", byte[bytes - 1]);
    memcpy(to, text, bytes);
    return bytes;
}

static size_t count_escaped_bytes(const char *text)
{
    size_t bytes = 0, taken;
    char to[8];
    for (; *text != '\0'; text += taken)
        bytes += escape_character(text, &taken, to);
    return bytes;
}

static void write_escaped(const char *text, char *to)
{
    size_t taken;
    char one[8];
    for (; *text != '\0'; text += taken) {
        size_t bytes = escape_character(text, &taken, one);
        memcpy(to, one, bytes);
        to += bytes;
    }
    *to = '\0';
}

char *bg__json_text(const cJSON *root, bool indented)
{
    char *text = indented ? cJSON_Print(root) : cJSON_PrintUnformatted(root), *fixed;
    size_t bytes = text != NULL ? count_escaped_bytes(text) : 0;

    if (text == NULL || bytes == strlen(text))
        return text;
    fixed = cJSON_malloc(bytes + 1);
    if (fixed != NULL)
        write_escaped(text, fixed);
    cJSON_free(text);
    return fixed;
}

double bg__json_number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

const char *bg__json_string(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text != NULL ? text : "";
}
