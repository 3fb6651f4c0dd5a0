#include "kernels/device.h"
#include "kernels/launch.h"

#include "conformance_kernels.h"

__global__ void add(int *x, int value)
{
    *x += value;
}

cudaError_t ck_add(int *x, int value, cudaStream_t stream)
{
    return bgk::launch(add, 1, 1, 0, stream, x, value);
}

const void *ck_add_function(void)
{
    return bgk::function(add);
}

__global__ void scale(int *y, const int *x, int factor)
{
    *y = *x * factor;
}

cudaError_t ck_scale(int *y, const int *x, int factor, cudaStream_t stream)
{
    return bgk::launch(scale, 1, 1, 0, stream, y, x, factor);
}

const void *ck_scale_function(void)
{
    return bgk::function(scale);
}

__global__ void use_shared(int *x, int index)
{
    BG_DYNAMIC_SHARED(int, shared);
    shared[index] = 7;
    *x += shared[index];
}

cudaError_t ck_use_shared(int *x, std::size_t bytes, cudaStream_t stream)
{
    return bgk::launch(use_shared, 1, 1, bytes, stream, x, 0);
}

const void *ck_use_shared_function(void)
{
    return bgk::function(use_shared);
}

__global__ void untouched(int *x, char small, double large)
{
    *x += small + static_cast<int>(large);
}

const void *ck_untouched_function(void)
{
    return bgk::function(untouched);
}
