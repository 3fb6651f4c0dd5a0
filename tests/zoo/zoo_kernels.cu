#include "kernels/device.h"
#include "kernels/launch.h"

#include "zoo_kernels.h"

namespace kernels
{
__device__ int thread()
{
    return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

__global__ void fill(float *y, float value, int n)
{
    if (thread() < n)
        y[thread()] = value;
}

__global__ void add(float *y, const float *a, const float *b, int n)
{
    if (thread() < n)
        y[thread()] = a[thread()] + b[thread()];
}

__global__ void scale(float *y, const float *x, float factor, int n)
{
    if (thread() < n)
        y[thread()] = x[thread()] * factor;
}

__global__ void gather(float *y, const float *table, const int *index, int n)
{
    if (thread() < n)
        y[thread()] = table[index[thread()]];
}

__global__ void scatter(float *table, const float *x, const int *index, int n, int wrap)
{
    if (thread() < n && (index[thread()] >= 0 || wrap != 0))
        table[index[thread()] + (index[thread()] < 0 ? wrap : 0)] = x[thread()];
}

__global__ void row_sum(float *y, const float *x, int n, int columns)
{
    float sum = 0;
    if (thread() >= n)
        return;
    for (int i = 0; i < columns; i++)
        sum += x[thread() * columns + i];
    y[thread()] = sum;
}

__global__ void copy_below(float *y, const float *x, const int *limit, int n)
{
    if (thread() < n && thread() < *limit)
        y[thread()] = x[thread()];
}

__global__ void wait_flag(const volatile int *flag, int value)
{
    while (*flag != value)
        __nanosleep(100);
}

__global__ void set_flag(int *flag, int value)
{
    __threadfence();
    *static_cast<volatile int *>(flag) = value;
}

__global__ void delay(int microseconds)
{
#ifndef __HOSTCUDA_CC__
    for (int i = 0; i < microseconds; i++)
        __nanosleep(1000);
#else
    (void)microseconds;
#endif
}
} // namespace kernels

const void *zoo_kernel(enum zoo_kernel kernel)
{
    switch (kernel) {
    case ZOO_FILL: return bgk::function(kernels::fill);
    case ZOO_ADD: return bgk::function(kernels::add);
    case ZOO_SCALE: return bgk::function(kernels::scale);
    case ZOO_GATHER: return bgk::function(kernels::gather);
    case ZOO_SCATTER: return bgk::function(kernels::scatter);
    case ZOO_ROW_SUM: return bgk::function(kernels::row_sum);
    case ZOO_COPY_BELOW: return bgk::function(kernels::copy_below);
    case ZOO_WAIT_FLAG: return bgk::function(kernels::wait_flag);
    case ZOO_SET_FLAG: return bgk::function(kernels::set_flag);
    case ZOO_DELAY: return bgk::function(kernels::delay);
    case ZOO_KERNELS: break;
    }
    return nullptr;
}
