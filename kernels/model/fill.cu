#include "kernels.h"
#include "kernels/launch.h"

namespace
{
__global__ void fill(float *x, float value, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = value;
}
} // namespace

extern "C" cudaError_t bgk_fill(float *x, float value, size_t n, cudaStream_t stream)
{
    const unsigned threads = 128;
    if (n == 0)
        return cudaSuccess;
    if (n / threads >= 0x7fffffffu) /* a grid has at most 2^31 - 1 blocks */
        return cudaErrorInvalidValue;
    return bgk::launch(fill, dim3(bgk::blocks_for(n, threads)), dim3(threads), 0, stream, x, value, n);
}
