#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static size_t smaller_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

size_t bg__edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    /* Distances of the first i - 2, i - 1 and i bytes of `a`; element k: from the first k bytes of `b`. */
    size_t rows[3][BG__EDIT_BYTES + 1], *before = rows[0], *last = rows[1], *row = rows[2], *oldest;

    if (a_length > BG__EDIT_BYTES || b_length > BG__EDIT_BYTES)
        return SIZE_MAX;
    for (size_t k = 0; k <= b_length; k++)
        row[k] = k;
    for (size_t i = 1; i <= a_length; i++) {
        oldest = before, before = last, last = row, row = oldest;
        row[0] = i;
        for (size_t k = 1; k <= b_length; k++) {
            row[k] = smaller_of(smaller_of(last[k], row[k - 1]) + 1, last[k - 1] + !is_same_letter(a[i - 1], b[k - 1]));
            if (i > 1 && k > 1 && is_same_letter(a[i - 1], b[k - 2]) && is_same_letter(a[i - 2], b[k - 1]))
                row[k] = smaller_of(row[k], before[k - 2] + 1);
        }
    }
    return row[b_length];
}

/* A third of the bytes: beyond that, another name is as likely. The number of a call ("rope#3") does not count. */
static size_t distance_limit(const char *name, size_t length)
{
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)name[length - digits - 1]))
        digits++;
    if (digits > 0 && digits < length && name[length - digits - 1] == '#')
        length -= digits + 1;
    return (length + 1) / 3;
}

/* Returns the bytes of the path that both names begin with: "decode#0/". */
static size_t count_shared_path(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t shared = 0;
    for (size_t i = 0; i < a_length && i < b_length && is_same_letter(a[i], b[i]); i++)
        if (a[i] == '/')
            shared = i + 1;
    return shared;
}

bg__nearest bg__nearest_begin(const char *given, size_t length)
{
    return (bg__nearest){.given = given, .length = length, .best = distance_limit(given, length) + 1};
}

void bg__nearest_add(bg__nearest *nearest, const char *name, size_t length)
{
    size_t distance = bg__edit_distance(nearest->given, nearest->length, name, length);
    size_t shared = count_shared_path(nearest->given, nearest->length, name, length);
    size_t limit = distance_limit(nearest->given + shared, nearest->length - shared);
    bool begins = nearest->length >= shared + 3 && length > nearest->length &&
                  bg__edit_distance(nearest->given, nearest->length, name, nearest->length) == 0;

    if (length == nearest->length && memcmp(name, nearest->given, length) == 0) {
        nearest->best = 0; /* the name exists: no other name is meant */
        nearest->name = NULL;
        return;
    }
    if (begins)
        distance = smaller_of(distance, limit);
    if (distance >= nearest->best || distance > limit || distance > distance_limit(name + shared, length - shared))
        return;
    nearest->best = distance;
    nearest->name = name;
    nearest->name_length = length;
}

const char *bg__nearest_hint(const bg__nearest *nearest, const char *lead, char text[BG__HINT_BYTES])
{
    text[0] = '\0';
    if (nearest->name != NULL && nearest->name_length <= BG__HINT_LONGEST)
        snprintf(text, BG__HINT_BYTES, " (did you mean %s%.*s?)", lead, (int)nearest->name_length, nearest->name);
    return text;
}
