#include "base/tensor.h"

size_t bg_dtype_bytes(bg_dtype dtype)
{
    return bg__dtype_bytes(dtype);
}

const char *bg_dtype_name(bg_dtype dtype)
{
    switch (dtype) {
#define NAME(value, name, bytes)                                                                                       \
    case value: return name;
        BG__DTYPES(NAME)
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
    return tensor != NULL && bg__tensor_get_bytes(tensor, &bytes) ? bytes : 0;
}
