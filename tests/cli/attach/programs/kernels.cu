#include "kernels/device.h"
#include "kernels/launch.h"

#include "kernels.h"

#ifdef __HOSTCUDA_CC__
#include <unistd.h>
#endif

__global__ void add(float *y, const float *x)
{
    int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < FLOATS)
        y[i] += x[i];
}

__global__ void scale(float *y, float factor)
{
    int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < FLOATS)
        y[i] *= factor;
}

__global__ void blend(blend_inputs in, blend_factor by)
{
    int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < in.count)
        in.y[i] += by.factor;
}

__global__ void fill(float *y, unsigned char value)
{
    int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < FLOATS)
        y[i] = value;
}

__global__ void gather(float *y, const float *table, const int *index)
{
    *y = table[*index];
}

/* On the host device, which ends a kernel that spins, it sleeps. */
__global__ void wait_for(const int *flag, int value)
{
    while (*static_cast<const volatile int *>(flag) != value) {
#ifndef __HOSTCUDA_CC__
        __nanosleep(1000);
#else
        (void)usleep(1000);
#endif
    }
}

__global__ void copy_rows(float *y, const float *x, int rows)
{
    int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < rows)
        y[i] = x[i];
}

__global__ void sum(sum_of of)
{
    float all = 0;
    if (blockIdx.x > 0 || threadIdx.x > 0)
        return;
    for (int i = 0; i < FLOATS; i++)
        all += of.x[i];
    *of.y = all;
}

__device__ float first_variable[FLOATS];
__device__ float second_variable[FLOATS];

cudaError_t get_variable(int second, float **y)
{
    return cudaGetSymbolAddress(reinterpret_cast<void **>(y), second ? second_variable : first_variable);
}

cudaError_t launch_add(float *y, const float *x, cudaStream_t stream)
{
    return bgk::launch(add, FLOATS / 128, 128, 0, stream, y, x);
}

cudaError_t launch_wait(const int *flag, int value, int blocks, cudaStream_t stream)
{
    return bgk::launch(wait_for, blocks, 1, 0, stream, flag, value);
}

const void *add_kernel(void)
{
    return bgk::function(add);
}

const void *scale_kernel(void)
{
    return bgk::function(scale);
}

const void *blend_kernel(void)
{
    return bgk::function(blend);
}

const void *fill_kernel(void)
{
    return bgk::function(fill);
}

const void *gather_kernel(void)
{
    return bgk::function(gather);
}

const void *copy_rows_kernel(void)
{
    return bgk::function(copy_rows);
}

const void *sum_kernel(void)
{
    return bgk::function(sum);
}
