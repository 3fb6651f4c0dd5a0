/* Tensors: a pointer with a type and a shape. They own nothing.
 * Threads: pure functions, callable from any thread. */
#ifndef BREAKGRAPH_TENSOR_H
#define BREAKGRAPH_TENSOR_H

#include <breakgraph/export.h>

BG_BEGIN_C_

#define BG_MAX_RANK 8

typedef enum bg_dtype { BG_F32, BG_F16, BG_BF16, BG_F64, BG_I8, BG_U8, BG_I32, BG_I64, BG_BOOL } bg_dtype;

/* Contiguous, row-major: dim[rank - 1] runs fastest. Dimensions count elements and are not negative; any of them may be
 * 0. rank 0 holds one element; as an op's output without memory it means "of a shape that the body tells". */
typedef struct bg_tensor {
    void *data;
    bg_dtype dtype;
    int rank;
    int64_t dim[BG_MAX_RANK];
} bg_tensor;

/* A tensor of d0 elements, or of d0 rows of d1 elements, at data. Nothing is checked here; the functions that take a
 * tensor do. */
BG_API bg_tensor bg_tensor_1d(void *data, bg_dtype dtype, int64_t d0);
BG_API bg_tensor bg_tensor_2d(void *data, bg_dtype dtype, int64_t d0, int64_t d1);

/* Bytes of one element; 0 for a value that is no dtype. */
BG_API size_t bg_dtype_bytes(bg_dtype dtype);

/* "f32", "bf16", ...; "unknown dtype" for a value that is none. Static storage. */
BG_API const char *bg_dtype_name(bg_dtype dtype);

/* Bytes that the tensor covers; 0 for NULL, and for one whose dtype, rank or dimensions are invalid or too large. */
BG_API size_t bg_tensor_bytes(const bg_tensor *tensor);

BG_END_C_

#endif
