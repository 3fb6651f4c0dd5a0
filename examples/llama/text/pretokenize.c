#include "pretokenize.h"
#include "unicode.h"
#include <string.h>

typedef struct character {
    unicode_class class;
    size_t bytes; /* 0: the end of the text */
} character;

static character read_character(const char *text, size_t length)
{
    character c = {UNICODE_OTHER, 0};
    uint32_t code;
    if (length == 0)
        return c;
    c.bytes = unicode_read(text, length, &code);
    c.class = unicode_classify(code);
    return c;
}

static size_t contraction_length(const char *text, size_t length)
{
    static const char *const endings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t bytes = strlen(endings[i]);
        if (bytes <= length && memcmp(text, endings[i], bytes) == 0)
            return bytes;
    }
    return 0;
}

/* Returns the end of the characters of one class that start at `at`. */
static size_t find_class_end(const char *text, size_t length, size_t at, unicode_class class)
{
    character c = read_character(text + at, length - at);
    while (c.bytes && c.class == class) {
        at += c.bytes;
        c = read_character(text + at, length - at);
    }
    return at;
}

/* Returns the length of the white space at the start of text. If a word follows, the last space belongs to that
 * word. */
static size_t space_word_length(const char *text, size_t length, bool digits_alone)
{
    size_t at = 0, last = 0;
    character c = read_character(text, length);
    while (c.bytes && c.class == UNICODE_SPACE) {
        last = at;
        at += c.bytes;
        c = read_character(text + at, length - at);
    }
    if (c.bytes == 0 || (digits_alone && c.class == UNICODE_NUMBER))
        return at;
    return last ? last : at;
}

size_t pretokenize_word(const char *text, size_t length, bool digits_alone)
{
    character first = read_character(text, length), second = read_character(text + first.bytes, length - first.bytes);
    size_t ending = contraction_length(text, length);
    bool spaced = text[0] == ' ' && second.bytes && second.class != UNICODE_SPACE;
    if (digits_alone && first.class == UNICODE_NUMBER)
        return first.bytes;
    if (ending)
        return ending;
    if (spaced && !(digits_alone && second.class == UNICODE_NUMBER))
        return find_class_end(text, length, 1, second.class);
    if (first.class == UNICODE_SPACE)
        return space_word_length(text, length, digits_alone);
    return find_class_end(text, length, 0, first.class);
}
