#include "kernels.h"
#include "kernels/launch.h"

namespace
{
constexpr int max_warps = 8;

/* The sum over the block, in every thread. A block of one warp needs no barrier. */
__device__ float block_sum(float value)
{
    __shared__ float of_warp[max_warps];
    for (int offset = 16; offset; offset /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    int warps = (int)blockDim.x / 32;
    if (warps == 1)
        return value;
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0.0f;
    for (int i = 0; i < warps; i++)
        value += of_warp[i];
    return value;
}

/* One block a row. */
__global__ void rms_norm(float *y, const float *x, const float *weight, int width, float epsilon)
{
    const float *row = x + (size_t)blockIdx.x * width;
    float *out = y + (size_t)blockIdx.x * width, squares = 0.0f;
    for (int i = (int)threadIdx.x; i < width; i += (int)blockDim.x)
        squares += row[i] * row[i];
    float factor = 1.0f / sqrtf(block_sum(squares) / (float)width + epsilon);
    for (int i = (int)threadIdx.x; i < width; i += (int)blockDim.x)
        out[i] = row[i] * factor * weight[i];
}
} // namespace

extern "C" cudaError_t bgk_rms_norm(float *y, const float *x, const float *weight, int rows, int width, float epsilon,
                                    cudaStream_t stream)
{
    if (rows < 1 || width < 1)
        return cudaErrorInvalidValue;
    /* a warp for each 1024 columns: short rows are done by one warp, without a barrier */
    int warps = width / 1024 < 1 ? 1 : width / 1024 > max_warps ? max_warps : width / 1024;
    return bgk::launch(rms_norm, dim3((unsigned)rows), dim3(32u * (unsigned)warps), 0, stream, y, x, weight, width,
                       epsilon);
}
