#include "kernels.h"
#include "kernels/launch.h"

namespace
{
/* Block (i, r): a part of row r. */
__global__ void embedding(float *y, const float *table, const int *token, int width, int vocabulary)
{
    int column = (int)(blockIdx.x * blockDim.x + threadIdx.x), id = token[blockIdx.y];
    if (column >= width)
        return;
    bool known = id >= 0 && id < vocabulary;
    y[(size_t)blockIdx.y * width + column] = known ? table[(size_t)id * width + column] : nanf("");
}
} // namespace

extern "C" cudaError_t bgk_embedding(float *y, const float *table, const int *token, int rows, int width,
                                     int vocabulary, cudaStream_t stream)
{
    const unsigned threads = 128;
    if (rows < 1 || rows > 65535 || width < 1 || vocabulary < 1)
        return cudaErrorInvalidValue;
    return bgk::launch(embedding, dim3(bgk::blocks_for((size_t)width, threads), (unsigned)rows), dim3(threads), 0,
                       stream, y, table, token, width, vocabulary);
}
