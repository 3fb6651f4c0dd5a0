/* Plain CUDA C++, for nvcc, or for g++ with the host device's kernel_shim.h. */
#include "squares.h"

#include <cuda_runtime.h>

enum { THREADS = 128 };

__global__ void square_all(long long *square, const int *number, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        square[i] = static_cast<long long>(number[i]) * number[i];
}

__global__ void sum_all(long long *total, const long long *value, int count)
{
    __shared__ long long partial[THREADS];
    long long sum = 0;
    for (int i = threadIdx.x; i < count; i += THREADS)
        sum += value[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if (static_cast<int>(threadIdx.x) < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *total = partial[0];
}

/* Replaces <<<blocks, THREADS, 0, stream>>>, which only nvcc parses. */
static cudaLaunchConfig_t make_launch_config(int blocks, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(THREADS);
    config.stream = stream;
    return config;
}

cudaError_t launch_square(long long *square, const int *number, int count, cudaStream_t stream)
{
    cudaLaunchConfig_t config = make_launch_config((count + THREADS - 1) / THREADS, stream);
    return cudaLaunchKernelEx(&config, square_all, square, number, count);
}

cudaError_t launch_sum(long long *total, const long long *value, int count, cudaStream_t stream)
{
    cudaLaunchConfig_t config = make_launch_config(1, stream);
    return cudaLaunchKernelEx(&config, sum_all, total, value, count);
}
