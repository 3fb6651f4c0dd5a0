#include "value_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/text.h"
#include "pointers.h"

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

/* Finds the type without "const " and "std::" before it. */
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

static bool is_arithmetic(const bg_field *field)
{
    number number;
    return field->type != NULL && find_type(field->type, &number);
}

bool bg__field_is_pointer(const bg_field *field)
{
    size_t length = field->type != NULL ? strlen(field->type) : 0;
    return length > 0 && field->type[length - 1] == '*' && field->size == sizeof(void *);
}

/* ---- equality ---- */

static bool is_string(const bg_field *field)
{
    static const char *const names[] = {"const char *", "const char*", "char const *",
                                        "char const*",  "char *",      "char*"};
    for (size_t i = 0; field->type != NULL && i < sizeof names / sizeof *names; i++)
        if (strcmp(field->type, names[i]) == 0)
            return true;
    return false;
}

/* Reads up to `bytes` bytes, but not beyond the page. If the program has freed the memory, process_vm_readv fails,
 * whereas a plain read would crash. Returns the number of bytes read. */
static size_t read_own_memory(const char *from, char *to, size_t bytes)
{
    enum { PAGE = 4096 };
    size_t rest = PAGE - (uintptr_t)from % PAGE;
    struct iovec local = {to, bytes < rest ? bytes : rest}, remote = {(void *)from, local.iov_len};
    ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

/* Returns false also if a string cannot be read, or is very long. */
static bool are_equal_strings(const char *a, const char *b)
{
    enum { LONGEST = 4096 };
    for (size_t at = 0; at < LONGEST;) {
        char first[256], second[256];
        size_t got = read_own_memory(a + at, first, sizeof first),
               step = read_own_memory(b + at, second, sizeof second);
        step = got < step ? got : step;
        if (step == 0)
            return false;
        if (strnlen(first, step) < step)
            return strnlen(first, step) == strnlen(second, step) && memcmp(first, second, strnlen(first, step)) == 0;
        if (memcmp(first, second, step) != 0)
            return false;
        at += step;
    }
    return false;
}

bool bg__field_values_equal(const bg_field *field, const void *a, const void *b)
{
    const char *first, *second;

    if (memcmp(a, b, field->size) == 0)
        return true;
    if (!is_string(field))
        return false;
    memcpy(&first, a, sizeof first);
    memcpy(&second, b, sizeof second);
    return first != NULL && second != NULL && are_equal_strings(first, second);
}

/* A struct that contains pointers has a size that is a multiple of the size of a pointer. */
static bool may_be_pointer(const bg_field *field, const char *value, size_t at)
{
    uint64_t word;
    if (field->size % sizeof word != 0)
        return false;
    memcpy(&word, value + at, sizeof word);
    return bg__pointer_may_be(word);
}

/* The first differing byte that cannot be padding; field->size: none. Padding ends where the next member begins, or the
 * next struct of an array. So a byte at a multiple of the struct's alignment is not padding. This alignment is at most
 * the largest power of two that divides the struct's size. */
static size_t find_sure_difference(const bg_field *field, const char *a, const char *b)
{
    size_t size = field->size, alignment = size & (~size + 1);
    for (size_t at = 0; at < size; at += alignment)
        if (a[at] != b[at] && !(may_be_pointer(field, a, at) && may_be_pointer(field, b, at)))
            return at;
    return size;
}

bool bg__field_values_differ_surely(const bg_field *field, const void *a, const void *b)
{
    if (bg__field_is_pointer(field) || memcmp(a, b, field->size) == 0)
        return false;
    return is_arithmetic(field) || find_sure_difference(field, a, b) < field->size;
}

/* ---- text ---- */

static long long read_signed(const void *value, size_t bytes)
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

static unsigned long long read_word(const void *value, size_t bytes)
{
    unsigned long long word = 0;
    memcpy(&word, value, bytes < sizeof word ? bytes : sizeof word);
    return word;
}

static double read_real(const void *value, size_t bytes)
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

const char *bg__value_text(const void *value, size_t bytes, bool pointer, char *text, size_t room)
{
    char real[BG__REAL_BYTES];

    if (pointer || (bytes != sizeof(float) && bytes != sizeof(double)))
        snprintf(text, room, "0x%llx", read_word(value, bytes));
    else if (bg__format_if_real(value, bytes, real))
        snprintf(text, room, "%s (as integer %lld)", real, read_signed(value, bytes));
    else
        snprintf(text, room, "%lld", read_signed(value, bytes));
    return text;
}

const char *bg__field_value_text(const bg_field *field, const void *value, char *text, size_t room)
{
    char real[BG__REAL_BYTES];
    number number;

    if (field->type == NULL || !find_type(field->type, &number))
        return bg__value_text(value, field->size, bg__field_is_pointer(field), text, room);
    switch (number) {
    case SIGNED: snprintf(text, room, "%lld", read_signed(value, field->size)); break;
    case UNSIGNED: snprintf(text, room, "%llu", read_word(value, field->size)); break;
    case FLOATING:
        bg__format_real(read_real(value, field->size), field->size == sizeof(float), real);
        snprintf(text, room, "%s", real);
        break;
    case BOOLEAN: snprintf(text, room, "%s", read_word(value, field->size) != 0 ? "true" : "false"); break;
    }
    return text;
}

const char *bg__field_difference_text(const bg_field *field, const void *a, const void *b, char *where, size_t room,
                                      char texts[2][BG__VALUE_TEXT])
{
    const char *x = a, *y = b;
    size_t at, bytes;

    if (field->size <= sizeof(int) || is_arithmetic(field) || bg__field_is_pointer(field)) {
        bg__field_value_text(field, a, texts[0], BG__VALUE_TEXT);
        bg__field_value_text(field, b, texts[1], BG__VALUE_TEXT);
        snprintf(where, room, "%.90s", field->name);
        return where;
    }
    at = find_sure_difference(field, x, y);
    if (at == field->size)
        for (at = 0; at + 1 < field->size && x[at] == y[at];)
            at++;
    at -= at % sizeof(int);
    bytes = field->size - at < sizeof(int) ? field->size - at : sizeof(int);
    bg__value_text(x + at, bytes, false, texts[0], BG__VALUE_TEXT);
    bg__value_text(y + at, bytes, false, texts[1], BG__VALUE_TEXT);
    snprintf(where, room, "%.90s (%u bytes) at offset %zu", field->name, field->size, at);
    return where;
}
