/* JSON is UTF-8, and names of files and ops are what a program makes them; cJSON writes any bytes. */
#include "json.h"

#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Bytes of the character that begins at text; 0: none does. */
static size_t character_at(const unsigned char *text)
{
    unsigned char first = text[0], least = 0x80, most = 0xbf; /* of the second byte: none is longer than it must be */
    size_t bytes = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;

    if (first == 0xe0 || first == 0xf0)
        least = first == 0xe0 ? 0xa0 : 0x90;
    if (first == 0xed || first == 0xf4)
        most = first == 0xed ? 0x9f : 0x8f; /* no surrogates, and nothing beyond U+10FFFF */
    for (size_t i = 1; i < bytes; i++) {
        if (text[i] < least || text[i] > most)
            return 0;
        least = 0x80;
        most = 0xbf;
    }
    return bytes;
}

static size_t count_bad(const char *text)
{
    size_t bad = 0;
    while (*text != '\0') {
        size_t bytes = character_at((const unsigned char *)text);
        bad += bytes == 0;
        text += bytes > 0 ? bytes : 1;
    }
    return bad;
}

static void replace_bad(const char *text, char *to)
{
    while (*text != '\0') {
        size_t bytes = character_at((const unsigned char *)text);
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
