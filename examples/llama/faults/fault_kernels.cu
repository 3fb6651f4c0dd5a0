#include "fault_kernels.h"
#include "kernels/launch.h"

namespace
{
const unsigned THREADS = 128;

__global__ void scale_unless_expected(float *y, float factor, size_t n, const int *counter, int expected)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && *counter != expected)
        y[i] *= factor;
}

__global__ void increment_counter(int *counter)
{
    ++*counter;
}

__global__ void scale_by_count(float *y, size_t n, const int *counter)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] *= 1 + (float)(*counter % 16) / 16;
}
} // namespace

cudaError_t llama_fault_scale_unless_expected(float *y, float factor, size_t n, const int *counter, int expected,
                                              cudaStream_t stream)
{
    return bgk::launch(scale_unless_expected, dim3(bgk::blocks_for(n, THREADS)), dim3(THREADS), 0, stream, y, factor, n,
                       counter, expected);
}

cudaError_t llama_fault_scale_by_count(float *y, size_t n, int *counter, cudaStream_t stream)
{
    cudaError_t error = bgk::launch(increment_counter, dim3(1), dim3(1), 0, stream, counter);
    if (error != cudaSuccess)
        return error;
    return bgk::launch(scale_by_count, dim3(bgk::blocks_for(n, THREADS)), dim3(THREADS), 0, stream, y, n, counter);
}
