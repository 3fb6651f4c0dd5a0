/* Makes small GGUF files in memory, right or wrong, for the tests. Memory that runs out ends the program. */
#ifndef GGUF_WRITER_H
#define GGUF_WRITER_H
#include <stddef.h>
#include <stdint.h>

typedef struct gguf_writer {
    unsigned char *bytes;
    size_t size;
} gguf_writer; /* starts as {0} */

void write_bytes(gguf_writer *w, const void *bytes, size_t size);
void write_u32(gguf_writer *w, uint32_t value);
void write_u64(gguf_writer *w, uint64_t value);
void write_string(gguf_writer *w, const char *text);
/* Magic, version and the two counts. */
void write_header(gguf_writer *w, uint32_t version, uint64_t tensors, uint64_t keys);

/* A key's name and type; the value follows. */
void write_key(gguf_writer *w, const char *name, uint32_t type);
void write_key_u32(gguf_writer *w, const char *name, uint32_t value);
void write_key_string(gguf_writer *w, const char *name, const char *value);
void write_key_strings(gguf_writer *w, const char *name, const char *const *values, uint64_t count);
void write_key_i32s(gguf_writer *w, const char *name, const int32_t *values, uint64_t count);

/* A directory entry of rank 1 or, with rows, 2. */
void write_tensor(gguf_writer *w, const char *name, uint64_t columns, uint64_t rows, uint32_t type, uint64_t offset);
/* Zeros up to the next multiple. */
void write_padding(gguf_writer *w, size_t alignment);
void free_writer(gguf_writer *w);
#endif
