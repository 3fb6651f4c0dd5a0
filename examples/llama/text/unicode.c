#include "unicode.h"
#include <stdbool.h>
#include <string.h>

typedef struct unicode_range {
    uint32_t first, last;
} unicode_range;

#include "unicode_ranges.h"

static bool is_in_ranges(const unicode_range *ranges, size_t count, uint32_t code)
{
    size_t low = 0, high = count; /* the first range that ends at code or later lies in low..high */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges[middle].last < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ranges[low].first <= code;
}

static bool is_space(uint32_t code)
{
    return (code >= 9 && code <= 13) || code == ' ' || code == 0x85 || code == 0xA0 || code == 0x1680 ||
           (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
           code == 0x3000;
}

unicode_class unicode_classify(uint32_t code)
{
    if (is_space(code))
        return UNICODE_SPACE;
    if (code < 0x80) {
        uint32_t lower = code | 32;
        if (lower >= 'a' && lower <= 'z')
            return UNICODE_LETTER;
        return code >= '0' && code <= '9' ? UNICODE_NUMBER : UNICODE_OTHER;
    }
    if (is_in_ranges(letters, sizeof letters / sizeof letters[0], code))
        return UNICODE_LETTER;
    return is_in_ranges(numbers, sizeof numbers / sizeof numbers[0], code) ? UNICODE_NUMBER : UNICODE_OTHER;
}

/* Returns the length of a character that starts with this byte; 0 if no character does. */
static size_t expected_bytes(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        return 2;
    if (first >= 0xE0 && first <= 0xEF)
        return 3;
    return first >= 0xF0 && first <= 0xF4 ? 4 : 0;
}

/* The second byte's range is narrower after E0, ED, F0, F4 (Unicode Standard, table 3-7: no overlong forms, no
 * surrogates, nothing beyond 10FFFF). */
static bool is_continuation_byte(unsigned char first, size_t index, unsigned char byte)
{
    unsigned char low = 0x80, high = 0xBF;
    if (index == 1) {
        low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : low;
        high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : high;
    }
    return byte >= low && byte <= high;
}

/* Returns how many of the first bytes can be of one character; *wanted is the length of that character. */
static size_t matching_bytes(const char *text, size_t length, size_t *wanted)
{
    unsigned char first = (unsigned char)text[0];
    size_t have = 1;
    *wanted = expected_bytes(first);
    if (*wanted == 0)
        return 0;
    while (have < *wanted && have < length && is_continuation_byte(first, have, (unsigned char)text[have]))
        have++;
    return have;
}

size_t unicode_read(const char *text, size_t length, uint32_t *code)
{
    static const unsigned char first_bits[5] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    size_t wanted;
    if (matching_bytes(text, length, &wanted) != wanted || wanted == 0) {
        *code = UNICODE_INVALID;
        return 1;
    }
    *code = (unsigned char)text[0] & first_bits[wanted];
    for (size_t i = 1; i < wanted; i++)
        *code = *code << 6 | ((unsigned char)text[i] & 0x3F);
    return wanted;
}

size_t unicode_write(uint32_t code, char out[4])
{
    size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = bytes - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(lead[bytes] | code);
    return bytes;
}

static size_t write_replacement(char *out)
{
    return unicode_write(0xFFFD, out);
}

/* Moves complete characters, and U+FFFD for invalid bytes, from the pending bytes to out. */
static size_t write_complete_characters(unicode_stream *stream, char *out)
{
    size_t written = 0;
    while (stream->count) {
        size_t wanted, have = matching_bytes(stream->pending, stream->count, &wanted);
        size_t used = have ? have : 1;
        if (have && have < wanted && have == stream->count)
            break; /* the start of a character */
        if (have && have == wanted) {
            memcpy(out + written, stream->pending, have);
            written += have;
        } else {
            written += write_replacement(out + written);
        }
        stream->count -= used;
        memmove(stream->pending, stream->pending + used, stream->count);
    }
    return written;
}

size_t unicode_stream_push(unicode_stream *stream, const char *bytes, size_t length, char *out)
{
    size_t written = 0;
    for (size_t i = 0; i < length; i++) {
        stream->pending[stream->count++] = bytes[i];
        written += write_complete_characters(stream, out + written);
    }
    return written;
}

size_t unicode_stream_finish(unicode_stream *stream, char *out)
{
    if (!stream->count)
        return 0;
    stream->count = 0;
    return write_replacement(out);
}
