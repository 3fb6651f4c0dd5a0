#include <breakgraph/tensor.h>

#define DTYPES(X)                                                                                                      \
    X(BG_F32, "f32", 4)                                                                                                \
    X(BG_F16, "f16", 2)                                                                                                \
    X(BG_BF16, "bf16", 2)                                                                                              \
    X(BG_F64, "f64", 8)                                                                                                \
    X(BG_I8, "i8", 1)                                                                                                  \
    X(BG_U8, "u8", 1)                                                                                                  \
    X(BG_I32, "i32", 4)                                                                                                \
    X(BG_I64, "i64", 8)                                                                                                \
    X(BG_BOOL, "bool", 1)

static inline size_t bytes_of(bg_dtype dtype)
{
    switch (dtype) {
#define BYTES(value, name, bytes)                                                                                      \
    case value: return bytes;
        DTYPES(BYTES)
#undef BYTES
    }
    return 0;
}

size_t bg_dtype_bytes(bg_dtype dtype)
{
    return bytes_of(dtype);
}

const char *bg_dtype_name(bg_dtype dtype)
{
    switch (dtype) {
#define NAME(value, name, bytes)                                                                                       \
    case value: return name;
        DTYPES(NAME)
#undef NAME
    }
    return "unknown dtype";
}

bg_tensor bg_tensor_1d(void *data, bg_dtype dtype, int64_t d0)
{
    return (bg_tensor){.data = data, .dtype = dtype, .rank = 1, .dim = {d0}};
}

bg_tensor bg_tensor_2d(void *data, bg_dtype dtype, int64_t d0, int64_t d1)
{
    return (bg_tensor){.data = data, .dtype = dtype, .rank = 2, .dim = {d0, d1}};
}

size_t bg_tensor_bytes(const bg_tensor *tensor)
{
    size_t bytes;
    if (tensor == NULL || tensor->rank < 0 || tensor->rank > BG_MAX_RANK)
        return 0;
    bytes = bytes_of(tensor->dtype);
    for (int i = 0; i < tensor->rank; i++)
        if (tensor->dim[i] < 0 || __builtin_mul_overflow(bytes, (size_t)tensor->dim[i], &bytes))
            return 0;
    return bytes;
}
