/* Internals that gguf.c and gguf_keys.c share. */
#ifndef LLAMA_GGUF_FILE_H
#define LLAMA_GGUF_FILE_H
#include "gguf.h"

typedef struct gguf_key {
    gguf_string name;
    gguf_type type;
    const unsigned char *value;
} gguf_key;

struct gguf {
    char *name;
    void *mapping; /* NULL when the bytes are the caller's */
    const unsigned char *bytes;
    size_t size;
    gguf_key *keys;
    size_t key_count;
    gguf_tensor *tensors;
    size_t tensor_count;
};

__attribute__((format(printf, 2, 3))) void gguf_set_error(char *error, const char *format, ...);
/* A macro, so that analyzers see the returned value. */
#define gguf_fail(...) (gguf_set_error(__VA_ARGS__), -1)

uint64_t gguf_load_uint(const unsigned char *p, size_t bytes);
size_t gguf_scalar_bytes(gguf_type type); /* 0: a string or an array */
const char *gguf_type_name(gguf_type type);
int gguf_compare_keys(const void *a, const void *b);
#endif
