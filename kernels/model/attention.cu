#include "kernels.h"
#include "kernels/launch.h"

namespace
{
constexpr int tile = 64;          /* keys scored at a time, one a thread */
constexpr int max_head_dim = 256; /* so that a thread keeps a fixed number of outputs */
constexpr int outputs_per_thread = max_head_dim / tile;

__device__ float dot(const float4 *a, const float4 *b, int fours)
{
    float sum = 0.0f;
    for (int i = 0; i < fours; i++)
        sum += a[i].x * b[i].x + a[i].y * b[i].y + a[i].z * b[i].z + a[i].w * b[i].w;
    return sum;
}

__device__ float largest(const float *values, int count, float so_far)
{
    for (int i = 0; i < count; i++)
        so_far = fmaxf(so_far, values[i]);
    return so_far;
}

/* Computes query head blockIdx.x of row blockIdx.y over the first `length` entries of keys and values; `nothing` if
 * length is 0. The keys come in tiles: first each thread scores one key, then each thread sums its columns of the
 * output over the tile. Scores and weights lie apart, so that two barriers a tile are enough: a thread that writes the
 * next scores knows that all have read the last ones, and likewise for the weights. */
__device__ void attend(float *y, const float *q, const float *keys, const float *values, int length, float nothing,
                       bgk_heads of, int head_dim)
{
    __shared__ float scores[tile], weights[tile];
    const int thread = (int)threadIdx.x, heads = (int)gridDim.x;
    const size_t row = ((size_t)blockIdx.y * heads + blockIdx.x) * head_dim, stride = (size_t)of.key * head_dim;
    const size_t head = (size_t)((of.first + (int)blockIdx.x) / of.group) * head_dim;
    const float scale = 1.0f / sqrtf((float)head_dim);
    float out[outputs_per_thread] = {}, highest = -INFINITY, sum = 0.0f;

    for (int start = 0; start < length; start += tile) {
        const int count = min(tile, length - start);
        if (thread < count)
            scores[thread] =
                scale * dot(reinterpret_cast<const float4 *>(q + row),
                            reinterpret_cast<const float4 *>(keys + (start + thread) * stride + head), head_dim / 4);
        __syncthreads();
        const float now = largest(scores, count, highest), shrink = expf(highest - now);
        highest = now;
        if (thread < count)
            weights[thread] = expf(scores[thread] - now);
        __syncthreads();
        sum *= shrink;
        for (int i = 0; i < count; i++)
            sum += weights[i];
        for (int o = 0; o < outputs_per_thread; o++) {
            const int column = o * tile + thread;
            if (column >= head_dim)
                break;
            out[o] *= shrink;
            for (int i = 0; i < count; i++)
                out[o] += weights[i] * values[(start + i) * stride + head + column];
        }
    }
    for (int o = 0; o < outputs_per_thread; o++)
        if (o * tile + thread < head_dim)
            y[row + o * tile + thread] = length ? out[o] / sum : nothing;
}

/* Block (h, r): query head h of row r. */
__global__ void attention(float *y, const float *q, const float *keys, const float *values, const int *position,
                          bgk_heads heads, int head_dim, int capacity)
{
    const int length = *position + (int)blockIdx.y + 1;
    attend(y, q, keys, values, length >= 1 && length <= capacity ? length : 0, nanf(""), heads, head_dim);
}

__global__ void attention_rows(float *y, const float *q, const float *keys, const float *values, const int *position,
                               const int *slot, bgk_heads heads, int head_dim, int capacity, int slots)
{
    const int at = position[blockIdx.y], of = slot[blockIdx.y];
    const bool inside = at >= 0 && at < capacity && of >= 0 && of < slots;
    const size_t start = inside ? (size_t)of * capacity * heads.key * head_dim : 0;
    attend(y, q, keys + start, values + start, inside ? at + 1 : 0, of < 0 ? 0.0f : nanf(""), heads, head_dim);
}

bool are_valid_heads(bgk_heads heads)
{
    return heads.query >= 1 && heads.group >= 1 && heads.first >= 0 && heads.first < heads.group &&
           (heads.first + heads.query - 1) / heads.group + 1 == heads.key;
}

bool is_supported_size(int rows, bgk_heads heads, int head_dim, int capacity)
{
    return rows >= 1 && rows <= 65535 && are_valid_heads(heads) && capacity >= 1 && head_dim >= 4 &&
           head_dim % 4 == 0 && head_dim <= max_head_dim;
}
} // namespace

extern "C" cudaError_t bgk_attention(float *y, const float *q, const float *keys, const float *values,
                                     const int *position, int rows, bgk_heads heads, int head_dim, int capacity,
                                     cudaStream_t stream)
{
    if (!is_supported_size(rows, heads, head_dim, capacity))
        return cudaErrorInvalidValue;
    return bgk::launch(attention, dim3((unsigned)heads.query, (unsigned)rows), dim3(tile), 0, stream, y, q, keys,
                       values, position, heads, head_dim, capacity);
}

extern "C" cudaError_t bgk_attention_rows(float *y, const float *q, const float *keys, const float *values,
                                          const int *position, const int *slot, int rows, bgk_heads heads, int head_dim,
                                          int capacity, int slots, cudaStream_t stream)
{
    if (!is_supported_size(rows, heads, head_dim, capacity) || slots < 1)
        return cudaErrorInvalidValue;
    return bgk::launch(attention_rows, dim3((unsigned)heads.query, (unsigned)rows), dim3(tile), 0, stream, y, q, keys,
                       values, position, slot, heads, head_dim, capacity, slots);
}
