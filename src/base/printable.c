/* Text from outside the library (names of files and ops, values of variables) must not control a terminal. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

size_t bg__utf8_bytes(const char *text)
{
    const unsigned char *byte = (const unsigned char *)text;
    unsigned char first = byte[0], least = 0x80, most = 0xbf; /* of the second byte: excludes overlong encodings */
    size_t bytes = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;

    if (first == 0xe0 || first == 0xf0)
        least = first == 0xe0 ? 0xa0 : 0x90;
    if (first == 0xed || first == 0xf4)
        most = first == 0xed ? 0x9f : 0x8f; /* no surrogates, and nothing beyond U+10FFFF */
    for (size_t i = 1; i < bytes; i++) {
        if (byte[i] < least || byte[i] > most)
            return 0;
        least = 0x80;
        most = 0xbf;
    }
    return bytes;
}

/* Whether a character of so many bytes may be printed in a line: not a control character (U+009B begins an escape
 * sequence, as ESC [ does), nor a line separator, nor one that changes the direction of writing. */
static bool is_printable(const unsigned char *c, size_t bytes)
{
    if (bytes == 1)
        return c[0] >= 0x20 && c[0] != 0x7f;
    if (bytes == 2)
        return c[0] != 0xc2 || c[1] >= 0xa0;
    if (bytes == 3 && c[0] == 0xe2)
        return (c[1] != 0x80 || c[2] < 0xa8 || c[2] > 0xae) && (c[1] != 0x81 || c[2] < 0xa6 || c[2] > 0xa9);
    return bytes > 0;
}

/* Writes the first character of text to shown, or its first byte as \xNN. Returns the bytes written; *taken is the
 * number of bytes read. */
static size_t escape_character(const char *text, size_t *taken, char shown[8])
{
    size_t bytes = bg__utf8_bytes(text);

    if (is_printable((const unsigned char *)text, bytes)) {
        memcpy(shown, text, bytes);
        *taken = bytes;
        return bytes;
    }
    *taken = 1;
    return (size_t)snprintf(shown, 8, "\\x%02x", (unsigned char)text[0]);
}

/* Returns how many bytes of text fit, as they are shown, into `most` bytes. */
static size_t count_fitting(const char *text, size_t most)
{
    size_t fitting = 0, used = 0, taken;
    char shown[8];
    for (; text[fitting] != '\0'; fitting += taken) {
        used += escape_character(text + fitting, &taken, shown);
        if (used > most)
            break;
    }
    return fitting;
}

void bg__escape_unprintable(char *text, size_t room)
{
    size_t length = strlen(text), used = 0, taken;
    bool cut = count_fitting(text, room - 1) < length;
    const char *from;
    char shown[8];

    if (cut)
        length = room < sizeof "..." ? 0 : count_fitting(text, room - sizeof "...");
    /* The text is moved to the end of the room, so that writing does not overtake reading. */
    from = memmove(text + room - 1 - length, text, length);
    text[room - 1] = '\0';
    for (; from < text + room - 1; from += taken) {
        size_t bytes = escape_character(from, &taken, shown);
        memcpy(text + used, shown, bytes);
        used += bytes;
    }
    snprintf(text + used, room - used, "%s", cut ? "..." : "");
}

void bg__print_escaped(FILE *out, const char *text)
{
    size_t taken;
    char shown[8];
    for (; *text != '\0'; text += taken)
        fwrite(shown, 1, escape_character(text, &taken, shown), out);
}
