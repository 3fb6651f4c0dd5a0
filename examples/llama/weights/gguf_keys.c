#include "gguf_file.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gguf_set_error(char *error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(error, GGUF_ERROR_SIZE, format, list);
    va_end(list);
}

uint64_t gguf_load_uint(const unsigned char *p, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)p[i] << (8 * i);
    return value;
}

size_t gguf_scalar_bytes(gguf_type type)
{
    static const unsigned char bytes[GGUF_TYPE_COUNT] = {
        [GGUF_U8] = 1,  [GGUF_I8] = 1,   [GGUF_U16] = 2, [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,
        [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8};
    return bytes[type]; /* 0: a string or an array */
}

const char *gguf_type_name(gguf_type type)
{
    static const char *const names[GGUF_TYPE_COUNT] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                       "bool", "string", "array", "u64", "i64", "f64"};
    return names[type];
}

static const gguf_key *find_key(const gguf *file, const char *name)
{
    gguf_key wanted = {.name = {name, strlen(name)}};
    return file->key_count ? bsearch(&wanted, file->keys, file->key_count, sizeof wanted, gguf_compare_keys) : NULL;
}

bool gguf_has_key(const gguf *file, const char *name)
{
    return find_key(file, name) != NULL;
}

static int fail_missing_key(const gguf *file, const char *name, char *error)
{
    return gguf_fail(error, "%s: the key %s is missing; the file is not a model that this program can run", file->name,
                     name);
}

static int fail_wrong_type(const gguf *file, const gguf_key *k, const char *wanted, char *error)
{
    return gguf_fail(error, "%s: the key %.*s has the type %s, but must be %s", file->name, (int)k->name.length,
                     k->name.text, gguf_type_name(k->type), wanted);
}

/* Returns false if the value is not an integer, or does not fit. */
static bool load_int(const gguf_key *k, int64_t *value)
{
    uint64_t bits = gguf_load_uint(k->value, gguf_scalar_bytes(k->type));
    switch (k->type) {
    case GGUF_U8:
    case GGUF_U16:
    case GGUF_U32:
    case GGUF_U64: *value = (int64_t)bits; return bits <= INT64_MAX;
    case GGUF_I8: *value = (int8_t)bits; return true;
    case GGUF_I16: *value = (int16_t)bits; return true;
    case GGUF_I32: *value = (int32_t)bits; return true;
    case GGUF_I64: *value = (int64_t)bits; return true;
    default: return false;
    }
}

int gguf_get_int(const gguf *file, const char *name, int64_t minimum, int64_t maximum, int64_t *value, char *error)
{
    const gguf_key *k = find_key(file, name);
    if (!k)
        return fail_missing_key(file, name, error);
    if (!gguf_scalar_bytes(k->type) || k->type == GGUF_F32 || k->type == GGUF_F64 || k->type == GGUF_BOOL)
        return fail_wrong_type(file, k, "an integer", error);
    if (!load_int(k, value) || *value < minimum || *value > maximum)
        return gguf_fail(error, "%s: the key %s is out of range; it must be %lld to %lld", file->name, name,
                         (long long)minimum, (long long)maximum);
    return 0;
}

int gguf_get_float(const gguf *file, const char *name, double *value, char *error)
{
    const gguf_key *k = find_key(file, name);
    float single;
    if (!k)
        return fail_missing_key(file, name, error);
    if (k->type == GGUF_F32) {
        memcpy(&single, k->value, sizeof single);
        *value = single;
    } else if (k->type == GGUF_F64) {
        memcpy(value, k->value, sizeof *value);
    } else {
        return fail_wrong_type(file, k, "a float", error);
    }
    if (!isfinite(*value))
        return gguf_fail(error, "%s: the key %s is not a finite number", file->name, name);
    return 0;
}

int gguf_get_bool(const gguf *file, const char *name, bool *value, char *error)
{
    const gguf_key *k = find_key(file, name);
    if (!k)
        return fail_missing_key(file, name, error);
    if (k->type != GGUF_BOOL)
        return fail_wrong_type(file, k, "a bool", error);
    *value = k->value[0] != 0;
    return 0;
}

/* Reads a string that skip_value has checked. */
static gguf_string load_string(const unsigned char *p)
{
    return (gguf_string){(const char *)p + 8, (size_t)gguf_load_uint(p, 8)};
}

int gguf_get_string(const gguf *file, const char *name, gguf_string *value, char *error)
{
    const gguf_key *k = find_key(file, name);
    if (!k)
        return fail_missing_key(file, name, error);
    if (k->type != GGUF_STRING)
        return fail_wrong_type(file, k, "a string", error);
    *value = load_string(k->value);
    return 0;
}

int gguf_get_array(const gguf *file, const char *name, gguf_type type, gguf_array *array, char *error)
{
    const gguf_key *k = find_key(file, name);
    if (!k)
        return fail_missing_key(file, name, error);
    if (k->type != GGUF_ARRAY)
        return fail_wrong_type(file, k, "an array", error);
    *array = (gguf_array){(gguf_type)gguf_load_uint(k->value, 4), gguf_load_uint(k->value + 4, 8), k->value + 12};
    if (array->type != type)
        return gguf_fail(error, "%s: the key %s is an array of %s, but must be one of %s", file->name, name,
                         gguf_type_name(array->type), gguf_type_name(type));
    return 0;
}

gguf_string gguf_next_string(gguf_array *array)
{
    gguf_string string = load_string(array->next);
    array->next += 8 + string.length;
    return string;
}

int32_t gguf_array_i32(const gguf_array *array, uint64_t index)
{
    return (int32_t)(uint32_t)gguf_load_uint(array->next + 4 * index, 4);
}
