#include "kernels/device.h"
#include "kernels/launch.h"

#include "graph_kernels.h"

__global__ void gk_add_kernel(int *x, int value)
{
    *x += value;
}

__global__ void gk_multiply_kernel(int *x, int value)
{
    *x *= value;
}

cudaError_t gk_add(int *x, int value, cudaStream_t stream)
{
    return bgk::launch(gk_add_kernel, 1, 1, 0, stream, x, value);
}

const void *gk_add_function(void)
{
    return bgk::function(gk_add_kernel);
}

const void *gk_multiply_function(void)
{
    return bgk::function(gk_multiply_kernel);
}

cudaError_t gk_add_shape(int *grid, int *block)
{
    return cudaOccupancyMaxPotentialBlockSize(grid, block, gk_add_kernel);
}
