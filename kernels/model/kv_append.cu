#include "kernels.h"
#include "kernels/launch.h"

namespace
{
/* Block (i, r): a part of row r. */
__global__ void kv_append(float *cache, const float *x, const int *position, int width, int capacity)
{
    int column = (int)(blockIdx.x * blockDim.x + threadIdx.x), row = *position + (int)blockIdx.y;
    if (column < width && row >= 0 && row < capacity)
        cache[(size_t)row * width + column] = x[(size_t)blockIdx.y * width + column];
}

__global__ void kv_append_rows(float *cache, const float *x, const int *position, const int *slot, int width,
                               int capacity, int slots)
{
    int column = (int)(blockIdx.x * blockDim.x + threadIdx.x), row = position[blockIdx.y], of = slot[blockIdx.y];
    if (column < width && row >= 0 && row < capacity && of >= 0 && of < slots)
        cache[((size_t)of * capacity + row) * width + column] = x[(size_t)blockIdx.y * width + column];
}

constexpr unsigned threads = 128;

dim3 grid_for(int rows, int width)
{
    return dim3(bgk::blocks_for((size_t)width, threads), (unsigned)rows);
}
} // namespace

extern "C" cudaError_t bgk_kv_append(float *cache, const float *x, const int *position, int rows, int width,
                                     int capacity, cudaStream_t stream)
{
    if (rows < 1 || rows > 65535 || width < 1 || capacity < 1)
        return cudaErrorInvalidValue;
    return bgk::launch(kv_append, grid_for(rows, width), dim3(threads), 0, stream, cache, x, position, width, capacity);
}

extern "C" cudaError_t bgk_kv_append_rows(float *cache, const float *x, const int *position, const int *slot, int rows,
                                          int width, int capacity, int slots, cudaStream_t stream)
{
    if (rows < 1 || rows > 65535 || width < 1 || capacity < 1 || slots < 1)
        return cudaErrorInvalidValue;
    return bgk::launch(kv_append_rows, grid_for(rows, width), dim3(threads), 0, stream, cache, x, position, slot, width,
                       capacity, slots);
}
