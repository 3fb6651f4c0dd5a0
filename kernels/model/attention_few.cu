/* Attention for few rows, as attention.cu computes it, with a block of many threads for each head of a row: the keys
 * are scored side by side, and the columns of the output summed in several parts. */
#include "kernels.h"
#include "kernels/launch.h"
#include "row_sum.h"

namespace
{
using bgk::max_warps;
constexpr int threads = 256, max_head_dim = 256, most_entries = 8192; /* their scores: 32 KiB of shared memory */

__device__ float block_max(float value, float (&of_warp)[max_warps])
{
    for (int offset = 16; offset; offset /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    __syncthreads(); /* of_warp is free */
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    for (int i = 0; i < threads / 32; i++)
        value = fmaxf(value, of_warp[i]);
    return value;
}

/* scores[i] = scale * q . keys[i]; each warp scores every eighth key, four of them at a time. */
__device__ void score(float *scores, const float *q, const float *keys, int length, size_t stride, int head_dim)
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const float scale = 1.0f / sqrtf((float)head_dim);
#pragma unroll 4
    for (int i = warp; i < length; i += threads / 32) {
        float sum = 0.0f;
        for (int d = lane; d < head_dim; d += 32)
            sum += q[d] * keys[i * stride + d];
        sum = bgk::warp_sum(sum);
        if (lane == 0)
            scores[i] = scale * sum;
    }
}

/* The scores become exp(score - the largest). Returns their sum. */
__device__ float weigh(float *scores, int length)
{
    __shared__ float of_warp[max_warps];
    float largest = -INFINITY, sum = 0.0f;
    for (int i = (int)threadIdx.x; i < length; i += threads)
        largest = fmaxf(largest, scores[i]);
    largest = block_max(largest, of_warp);
    for (int i = (int)threadIdx.x; i < length; i += threads) {
        scores[i] = expf(scores[i] - largest);
        sum += scores[i];
    }
    __syncthreads(); /* of_warp is free */
    return bgk::block_sum(sum, of_warp);
}

__device__ void attend(float *y, const float *q, const float *keys, const float *values, int length, float nothing,
                       bgk_heads of, int head_dim)
{
    BG_DYNAMIC_SHARED(float, scores);
    __shared__ float parts[threads];
    const size_t row = ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * head_dim, stride = (size_t)of.key * head_dim;
    const size_t head = (size_t)((of.first + (int)blockIdx.x) / of.group) * head_dim;
    const int column = (int)threadIdx.x % head_dim, part = (int)threadIdx.x / head_dim, count = threads / head_dim;
    float total, out = 0.0f;

    score(scores, q + row, keys + head, length, stride, head_dim);
    __syncthreads();
    total = weigh(scores, length);
#pragma unroll 4
    for (int i = part; i < length && part < count; i += count)
        out += scores[i] * values[i * stride + head + column];
    parts[threadIdx.x] = out;
    __syncthreads();
    if (part > 0)
        return;
    for (int i = 1; i < count; i++)
        out += parts[i * head_dim + column];
    y[row + column] = length ? out / total : nothing;
}

/* Block (h, r): query head h of row r. */
__global__ void attention_few(float *y, const float *q, const float *keys, const float *values, const int *position,
                              bgk_heads heads, int head_dim, int capacity)
{
    const int length = *position + (int)blockIdx.y + 1;
    attend(y, q, keys, values, length >= 1 && length <= capacity ? length : 0, nanf(""), heads, head_dim);
}

__global__ void attention_rows_few(float *y, const float *q, const float *keys, const float *values,
                                   const int *position, const int *slot, bgk_heads heads, int head_dim, int capacity,
                                   int slots)
{
    const int at = position[blockIdx.y], of = slot[blockIdx.y];
    const bool inside = at >= 0 && at < capacity && of >= 0 && of < slots;
    const size_t start = inside ? (size_t)of * capacity * heads.key * head_dim : 0;
    attend(y, q, keys + start, values + start, inside ? at + 1 : 0, of < 0 ? 0.0f : nanf(""), heads, head_dim);
}
} // namespace

extern "C" cudaError_t bgk_attention_few(float *y, const float *q, const float *keys, const float *values,
                                         const int *position, const int *slot, int rows, bgk_heads heads, int head_dim,
                                         int capacity, int slots, cudaStream_t stream)
{
    const dim3 grid((unsigned)heads.query, (unsigned)rows);
    const size_t shared = (size_t)capacity * sizeof(float);
    if (rows < 1 || rows > BGK_FEW_ROWS || heads.query < 1 || heads.group < 1 || heads.first < 0 ||
        heads.first >= heads.group || (heads.first + heads.query - 1) / heads.group + 1 != heads.key || capacity < 1 ||
        capacity > most_entries || head_dim < 1 || head_dim > max_head_dim || (slot && slots < 1))
        return cudaErrorInvalidValue;
    if (slot)
        return bgk::launch(attention_rows_few, grid, dim3(threads), shared, stream, y, q, keys, values, position, slot,
                           heads, head_dim, capacity, slots);
    return bgk::launch(attention_few, grid, dim3(threads), shared, stream, y, q, keys, values, position, heads,
                       head_dim, capacity);
}
