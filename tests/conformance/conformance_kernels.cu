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
