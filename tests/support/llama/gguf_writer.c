#include "gguf_writer.h"
#include <stdlib.h>
#include <string.h>

void write_bytes(gguf_writer *w, const void *bytes, size_t size)
{
    w->bytes = realloc(w->bytes, w->size + size + 1);
    if (!w->bytes)
        abort();
    memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
}

static void write_number(gguf_writer *w, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        write_bytes(w, &(unsigned char){(unsigned char)(value >> (8 * i))}, 1);
}

void write_u32(gguf_writer *w, uint32_t value)
{
    write_number(w, value, 4);
}

void write_u64(gguf_writer *w, uint64_t value)
{
    write_number(w, value, 8);
}

void write_string(gguf_writer *w, const char *text)
{
    write_u64(w, strlen(text));
    write_bytes(w, text, strlen(text));
}

void write_header(gguf_writer *w, uint32_t version, uint64_t tensors, uint64_t keys)
{
    write_bytes(w, "GGUF", 4);
    write_u32(w, version);
    write_u64(w, tensors);
    write_u64(w, keys);
}

void write_key(gguf_writer *w, const char *name, uint32_t type)
{
    write_string(w, name);
    write_u32(w, type);
}

void write_key_u32(gguf_writer *w, const char *name, uint32_t value)
{
    write_key(w, name, 4);
    write_u32(w, value);
}

void write_key_string(gguf_writer *w, const char *name, const char *value)
{
    write_key(w, name, 8);
    write_string(w, value);
}

static void write_array(gguf_writer *w, const char *name, uint32_t type, uint64_t count)
{
    write_key(w, name, 9);
    write_u32(w, type);
    write_u64(w, count);
}

void write_key_strings(gguf_writer *w, const char *name, const char *const *values, uint64_t count)
{
    write_array(w, name, 8, count);
    for (uint64_t i = 0; i < count; i++)
        write_string(w, values[i]);
}

void write_key_i32s(gguf_writer *w, const char *name, const int32_t *values, uint64_t count)
{
    write_array(w, name, 5, count);
    for (uint64_t i = 0; i < count; i++)
        write_u32(w, (uint32_t)values[i]);
}

void write_tensor(gguf_writer *w, const char *name, uint64_t columns, uint64_t rows, uint32_t type, uint64_t offset)
{
    write_string(w, name);
    write_u32(w, rows ? 2 : 1);
    write_u64(w, columns);
    if (rows)
        write_u64(w, rows);
    write_u32(w, type);
    write_u64(w, offset);
}

void write_padding(gguf_writer *w, size_t alignment)
{
    while (w->size % alignment)
        write_bytes(w, "", 1);
}

void free_writer(gguf_writer *w)
{
    free(w->bytes);
    *w = (gguf_writer){0};
}
