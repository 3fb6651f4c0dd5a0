#include "kernels.h"
#include "kernels/launch.h"
#include "row_sum.h"

namespace
{
using bgk::block_sum;
using bgk::max_warps;

/* Squares are summed in the same order in all kernels here: a fused one gives the same bits. */
__device__ float norm_factor(float squares, int width, float epsilon, float (&of_warp)[max_warps])
{
    return 1.0f / sqrtf(block_sum(squares, of_warp) / (float)width + epsilon);
}

/* One block a row. */
__global__ void rms_norm(float *y, const float *x, const float *weight, int width, float epsilon)
{
    __shared__ float of_warp[max_warps];
    const float *row = x + (size_t)blockIdx.x * width;
    float *out = y + (size_t)blockIdx.x * width, squares = 0.0f;
    for (int i = (int)threadIdx.x; i < width; i += (int)blockDim.x)
        squares += row[i] * row[i];
    float factor = norm_factor(squares, width, epsilon, of_warp);
    for (int i = (int)threadIdx.x; i < width; i += (int)blockDim.x)
        out[i] = row[i] * factor * weight[i];
}

/* Norms a row in shared memory with many threads. The first summing * 32 sum the squares, in the order of rms_norm. */
__device__ void norm_shared_row(float *out, const float *row, const float *weight, int width, float epsilon,
                                int summing)
{
    __shared__ float of_warp[max_warps];
    __shared__ float shared_factor;
    int thread = (int)threadIdx.x;
    __syncthreads(); /* the row is there */
    if (thread < 32 * summing) {
        float squares = 0.0f;
        for (int i = thread; i < width; i += 32 * summing)
            squares += row[i] * row[i];
        squares = bgk::warp_sum(squares);
        if (thread % 32 == 0)
            of_warp[thread / 32] = squares;
    }
    __syncthreads();
    if (thread == 0) {
        float squares = summing == 1 ? of_warp[0] : 0.0f;
        for (int i = 0; i < summing && summing > 1; i++)
            squares += of_warp[i];
        shared_factor = 1.0f / sqrtf(squares / (float)width + epsilon);
    }
    __syncthreads();
    float factor = shared_factor;
    for (int i = thread; i < width; i += (int)blockDim.x)
        out[i] = row[i] * factor * weight[i];
}

/* One block a row, here and below. n may be y: all of a row is read before any of it is written. */
__global__ void add_rms_norm(float *n, float *__restrict__ x, const float *y, const float *__restrict__ weight,
                             int width, float epsilon, int summing)
{
    BG_DYNAMIC_SHARED(float, row);
    size_t first = (size_t)blockIdx.x * width;
    for (int i = (int)threadIdx.x; i < width; i += (int)blockDim.x) {
        float sum = x[first + i] + y[first + i];
        x[first + i] = sum;
        row[i] = sum;
    }
    norm_shared_row(n + first, row, weight, width, epsilon, summing);
}

__global__ void embedding_rms_norm(float *__restrict__ n, float *__restrict__ y, const float *__restrict__ table,
                                   const int *__restrict__ token, const float *__restrict__ weight, int width,
                                   int vocabulary, float epsilon, int summing)
{
    BG_DYNAMIC_SHARED(float, row);
    size_t first = (size_t)blockIdx.x * width;
    int id = token[blockIdx.x];
    bool known = id >= 0 && id < vocabulary;
    for (int i = (int)threadIdx.x; i < width; i += (int)blockDim.x) {
        float value = known ? table[(size_t)id * width + i] : nanf("");
        y[first + i] = value;
        row[i] = value;
    }
    norm_shared_row(n + first, row, weight, width, epsilon, summing);
}

constexpr int glue_threads = 256, shared_floats = 12288; /* 48 KiB */

dim3 block_of(int width)
{
    return dim3(32u * bgk::row_warps(width));
}
} // namespace

extern "C" cudaError_t bgk_rms_norm(float *y, const float *x, const float *weight, int rows, int width, float epsilon,
                                    cudaStream_t stream)
{
    if (rows < 1 || width < 1)
        return cudaErrorInvalidValue;
    return bgk::launch(rms_norm, dim3((unsigned)rows), block_of(width), 0, stream, y, x, weight, width, epsilon);
}

extern "C" cudaError_t bgk_add_rms_norm(float *n, float *x, const float *y, const float *weight, int rows, int width,
                                        float epsilon, cudaStream_t stream)
{
    if (rows < 1 || width < 1 || width > shared_floats)
        return cudaErrorInvalidValue;
    return bgk::launch(add_rms_norm, dim3((unsigned)rows), dim3(glue_threads), (size_t)width * sizeof(float), stream, n,
                       x, y, weight, width, epsilon, (int)bgk::row_warps(width));
}

extern "C" cudaError_t bgk_embedding_rms_norm(float *n, float *y, const float *table, const int *token,
                                              const float *weight, int rows, int width, int vocabulary, float epsilon,
                                              cudaStream_t stream)
{
    if (rows < 1 || rows > 65535 || width < 1 || width > shared_floats || vocabulary < 1)
        return cudaErrorInvalidValue;
    return bgk::launch(embedding_rms_norm, dim3((unsigned)rows), dim3(glue_threads), (size_t)width * sizeof(float),
                       stream, n, y, table, token, weight, width, vocabulary, epsilon, (int)bgk::row_warps(width));
}
