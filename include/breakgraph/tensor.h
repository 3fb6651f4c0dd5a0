/* Tensors: a pointer with an element type and a shape. A tensor does not own its memory.
 * Threads: pure functions, callable from any thread. */
#ifndef BREAKGRAPH_TENSOR_H
#define BREAKGRAPH_TENSOR_H

#include <breakgraph/export.h>

BG_BEGIN_C_

/* The largest number of dimensions of a tensor. */
#define BG_MAX_RANK 8

/* Element types. A BG_BOOL is one byte. */
typedef enum bg_dtype { BG_F32, BG_F16, BG_BF16, BG_F64, BG_I8, BG_U8, BG_I32, BG_I64, BG_BOOL } bg_dtype;

/* A contiguous, row-major tensor: the last dimension, dim[rank - 1], varies fastest. Dimensions count elements and are
 * 0 or more. A tensor of rank 0 holds one element. If an output of an op call has no memory (data is NULL), rank 0
 * means that the op's body sets the shape. */
typedef struct bg_tensor {
    void *data;
    bg_dtype dtype;
    int rank;
    int64_t dim[BG_MAX_RANK];
} bg_tensor;

/* Return a tensor at data, of d0 elements (1d), or of d0 rows of d1 elements (2d). The arguments are not checked here;
 * the functions that take a tensor check it. */
BG_API bg_tensor bg_tensor_1d(void *data, bg_dtype dtype, int64_t d0);
BG_API bg_tensor bg_tensor_2d(void *data, bg_dtype dtype, int64_t d0, int64_t d1);

/* Returns the bytes of one element; 0 for an invalid dtype. */
BG_API size_t bg_dtype_bytes(bg_dtype dtype);

/* Returns "f32", "bf16", ..., or "unknown dtype" for an invalid value. The string is static. */
BG_API const char *bg_dtype_name(bg_dtype dtype);

/* Returns the bytes that the tensor covers; 0 for NULL, or where dtype, rank or dimensions are invalid or too large. */
BG_API size_t bg_tensor_bytes(const bg_tensor *tensor);

BG_END_C_

#endif
