#include "kernels.h"
#include "launch.h"

namespace
{
/* Block (i, r): a part of row r. */
__global__ void kv_append(float *cache, const float *x, const int *position, int width, int capacity)
{
    int column = (int)(blockIdx.x * blockDim.x + threadIdx.x), row = *position + (int)blockIdx.y;
    if (column < width && row >= 0 && row < capacity)
        cache[(size_t)row * width + column] = x[(size_t)blockIdx.y * width + column];
}
} // namespace

extern "C" cudaError_t bgk_kv_append(float *cache, const float *x, const int *position, int rows, int width,
                                     int capacity, cudaStream_t stream)
{
    const unsigned threads = 128;
    if (rows < 1 || rows > 65535 || width < 1 || capacity < 1)
        return cudaErrorInvalidValue;
    return bgk::launch(kv_append, dim3(bgk::blocks_for((size_t)width, threads), (unsigned)rows), dim3(threads), 0,
                       stream, cache, x, position, width, capacity);
}
