/* Computes the sizes of tensors; inline, since each op call computes the sizes of all its tensors. */
#ifndef BG_BASE_TENSOR_H
#define BG_BASE_TENSOR_H

#include <breakgraph/tensor.h>

#include <stdbool.h>

#define BG__DTYPES(X)                                                                                                  \
    X(BG_F32, "f32", 4)                                                                                                \
    X(BG_F16, "f16", 2)                                                                                                \
    X(BG_BF16, "bf16", 2)                                                                                              \
    X(BG_F64, "f64", 8)                                                                                                \
    X(BG_I8, "i8", 1)                                                                                                  \
    X(BG_U8, "u8", 1)                                                                                                  \
    X(BG_I32, "i32", 4)                                                                                                \
    X(BG_I64, "i64", 8)                                                                                                \
    X(BG_BOOL, "bool", 1)

/* As bg_dtype_bytes. */
static inline size_t bg__dtype_bytes(bg_dtype dtype)
{
    switch (dtype) {
#define BYTES(value, name, bytes)                                                                                      \
    case value: return bytes;
        BG__DTYPES(BYTES)
#undef BYTES
    }
    return 0;
}

static inline bool bg__tensor_is_float(const bg_tensor *tensor)
{
    return tensor->dtype == BG_F32 || tensor->dtype == BG_F64 || tensor->dtype == BG_F16 || tensor->dtype == BG_BF16;
}

/* Sets *bytes to what the tensor covers. False: it is not valid. */
static inline bool bg__tensor_get_bytes(const bg_tensor *tensor, size_t *bytes)
{
    size_t product = bg__dtype_bytes(tensor->dtype);
    if ((unsigned)tensor->rank > BG_MAX_RANK || product == 0)
        return false;
    for (const int64_t *dim = tensor->dim, *end = dim + tensor->rank; dim < end; dim++)
        if (*dim < 0 || __builtin_mul_overflow(product, (size_t)*dim, &product))
            return false;
    *bytes = product;
    return true;
}

#endif
