/* The tensor encodings of ggml that this example decodes, each to fp32.
 * A tensor is a row of blocks of equal size. Layouts: github.com/ggml-org/ggml/blob/master/src/ggml-common.h. */
#ifndef LLAMA_DEQUANTIZE_H
#define LLAMA_DEQUANTIZE_H
#include <stddef.h>
#include <stdint.h>

typedef struct dequantize_type {
    uint32_t id; /* the number in the file */
    const char *name;
    unsigned elements; /* in a block */
    unsigned bytes;    /* of a block */
    void (*block)(const unsigned char *block, float *out);
} dequantize_type;

/* The type with this number, or NULL if it is not decoded here. */
const dequantize_type *dequantize_find(uint32_t id);
/* The names of all decoded types, separated by commas. */
const char *dequantize_names(void);
#endif
