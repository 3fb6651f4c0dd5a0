#include "value_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- types that are known by their names ---- */

typedef enum number { SIGNED, UNSIGNED, FLOATING, BOOLEAN } number;

static const struct {
    const char *name;
    number number;
} types[] = {
    {"char", SIGNED},
    {"signed char", SIGNED},
    {"short", SIGNED},
    {"int", SIGNED},
    {"long", SIGNED},
    {"long long", SIGNED},
    {"int8_t", SIGNED},
    {"int16_t", SIGNED},
    {"int32_t", SIGNED},
    {"int64_t", SIGNED},
    {"ptrdiff_t", SIGNED},
    {"ssize_t", SIGNED},
    {"unsigned", UNSIGNED},
    {"unsigned int", UNSIGNED},
    {"unsigned char", UNSIGNED},
    {"unsigned short", UNSIGNED},
    {"unsigned long", UNSIGNED},
    {"unsigned long long", UNSIGNED},
    {"uint8_t", UNSIGNED},
    {"uint16_t", UNSIGNED},
    {"uint32_t", UNSIGNED},
    {"uint64_t", UNSIGNED},
    {"uintptr_t", UNSIGNED},
    {"size_t", UNSIGNED},
    {"float", FLOATING},
    {"double", FLOATING},
    {"bool", BOOLEAN},
    {"_Bool", BOOLEAN},
};

/* "const int", "std::size_t": by what follows. */
static bool find_type(const char *name, number *found)
{
    if (strncmp(name, "const ", strlen("const ")) == 0)
        name += strlen("const ");
    if (strncmp(name, "std::", strlen("std::")) == 0)
        name += strlen("std::");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0) {
            *found = types[i].number;
            return true;
        }
    return false;
}

bool bg__field_is_pointer(const bg_field *field)
{
    size_t length = field->type != NULL ? strlen(field->type) : 0;
    return length > 0 && field->type[length - 1] == '*' && field->size == sizeof(void *);
}

/* ---- text ---- */

static long long signed_of(const void *value, size_t bytes)
{
    signed char one;
    short two;
    int four;
    long long eight = 0;

    switch (bytes) {
    case sizeof one: memcpy(&one, value, sizeof one); return one;
    case sizeof two: memcpy(&two, value, sizeof two); return two;
    case sizeof four: memcpy(&four, value, sizeof four); return four;
    default: memcpy(&eight, value, bytes < sizeof eight ? bytes : sizeof eight); return eight;
    }
}

static unsigned long long word_of(const void *value, size_t bytes)
{
    unsigned long long word = 0;
    memcpy(&word, value, bytes < sizeof word ? bytes : sizeof word);
    return word;
}

static double real_of(const void *value, size_t bytes)
{
    float single;
    double real = 0;

    if (bytes == sizeof single) {
        memcpy(&single, value, sizeof single);
        return (double)single;
    }
    memcpy(&real, value, bytes < sizeof real ? bytes : sizeof real);
    return real;
}

/* Whether the bits may be a floating-point value: those of most integers are tiny or huge as one. */
static bool is_plausible(double real)
{
    double size = real < 0 ? -real : real;
    return size > 1e-12 && size < 1e12;
}

const char *bg__value_text(const void *value, size_t bytes, bool pointer, char *text, size_t room)
{
    bool is_single = bytes == sizeof(float), is_double = bytes == sizeof(double);

    if (pointer || (!is_single && !is_double))
        snprintf(text, room, "0x%llx", word_of(value, bytes));
    else if (is_plausible(real_of(value, bytes)))
        snprintf(text, room, "%lld (as %s %g)", signed_of(value, bytes), is_single ? "float" : "double",
                 real_of(value, bytes));
    else
        snprintf(text, room, "%lld", signed_of(value, bytes));
    return text;
}

/* The fewest digits, from 3 on, that are no other value of the type: values that differ have different texts. */
static void write_real(double real, bool is_single, char *text, size_t room)
{
    enum { DIGITS_EXACT = 17 };
    for (int digits = 3; digits <= DIGITS_EXACT; digits++) {
        snprintf(text, room, "%.*g", digits, real);
        if ((is_single ? (double)strtof(text, NULL) : strtod(text, NULL)) == real)
            break;
    }
}

const char *bg__field_value_text(const bg_field *field, const void *value, char *text, size_t room)
{
    number number;

    if (field->type == NULL || !find_type(field->type, &number))
        return bg__value_text(value, field->size, bg__field_is_pointer(field), text, room);
    switch (number) {
    case SIGNED: snprintf(text, room, "%lld", signed_of(value, field->size)); break;
    case UNSIGNED: snprintf(text, room, "%llu", word_of(value, field->size)); break;
    case FLOATING: write_real(real_of(value, field->size), field->size == sizeof(float), text, room); break;
    case BOOLEAN: snprintf(text, room, "%s", word_of(value, field->size) != 0 ? "true" : "false"); break;
    }
    return text;
}
