/* A reader of GGUF model files, versions 2 and 3, little-endian.
 *
 * The file is mapped read-only and never trusted: every length, count, offset, type and alignment is checked against
 * the file's size before it is used, so that a truncated or corrupt file gives an error and never a stray read. Format:
 * github.com/ggml-org/ggml/blob/master/docs/gguf.md.
 *
 * Functions that can fail return 0 or -1, and on -1 leave in `error` (at least GGUF_ERROR_SIZE bytes) one sentence that
 * says what is wrong, where (a byte offset, a key or a tensor), and what to do. An open file serves any number of
 * threads. */
#ifndef LLAMA_GGUF_H
#define LLAMA_GGUF_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GGUF_ERROR_SIZE 512
#define GGUF_MAX_RANK   4

typedef enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_TYPE_COUNT
} gguf_type;

/* Text inside the mapped file: not terminated, valid until the file is closed. */
typedef struct gguf_string {
    const char *text;
    size_t length;
} gguf_string;

/* The elements of an array key. Strings are read one after the other with gguf_next_string. */
typedef struct gguf_array {
    gguf_type type;
    uint64_t count;
    const unsigned char *next;
} gguf_array;

typedef struct gguf_tensor {
    gguf_string name;
    uint32_t type; /* a type number; dequantize.h decodes some */
    int rank;
    uint64_t dim[GGUF_MAX_RANK]; /* the fastest first: a matrix of `rows` rows is {columns, rows, 1, 1} */
    uint64_t elements;
    uint64_t bytes; /* 0 for a type that dequantize.h does not know */
    const unsigned char *data;
} gguf_tensor;

typedef struct gguf gguf;

/* Opens and checks the file at `path`. The caller closes it. */
int gguf_open(gguf **file, const char *path, char *error);
/* The same for bytes in memory, which must outlive the reader; `name` stands for the path in errors. */
int gguf_open_memory(gguf **file, const void *bytes, size_t size, const char *name, char *error);
/* Closes the file; NULL is fine. */
void gguf_close(gguf *file);

/* The file's name in errors. */
const char *gguf_name(const gguf *file);

bool gguf_has_key(const gguf *file, const char *key);
/* Reads the key's value, which must have an integer type and be in minimum..maximum. */
int gguf_get_int(const gguf *file, const char *key, int64_t minimum, int64_t maximum, int64_t *value, char *error);
/* Reads the key's value, which must be a finite 32- or 64-bit float. */
int gguf_get_float(const gguf *file, const char *key, double *value, char *error);
int gguf_get_bool(const gguf *file, const char *key, bool *value, char *error);
int gguf_get_string(const gguf *file, const char *key, gguf_string *value, char *error);
/* Reads the key's array, whose elements must have the type `type`. */
int gguf_get_array(const gguf *file, const char *key, gguf_type type, gguf_array *array, char *error);
/* Returns the next string of an array of strings. Call it at most array->count times. */
gguf_string gguf_next_string(gguf_array *array);
/* Returns element `index` of an array of 32-bit integers. */
int32_t gguf_array_i32(const gguf_array *array, uint64_t index);

size_t gguf_tensor_count(const gguf *file);
const gguf_tensor *gguf_tensor_at(const gguf *file, size_t index); /* in the order of their names */
const gguf_tensor *gguf_find_tensor(const gguf *file, const char *name);
/* Writes the tensor's elements as fp32 to `out` (tensor->elements floats). */
int gguf_read_tensor(const gguf *file, const gguf_tensor *tensor, float *out, char *error);
#endif
