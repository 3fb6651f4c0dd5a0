/* Attention for few rows, as attention.cu computes it, with a block of many threads for each head of a row: the keys
 * are scored side by side, and the columns of the output summed in several parts. */
#include "kernels.h"
#include "kernels/launch.h"
#include "row_sum.h"

namespace
{
constexpr int threads = 256, max_head_dim = 256, most_entries = 8192; /* their scores: 32 KiB of shared memory */
constexpr int lanes = 8, keys_at_once = threads / lanes;              /* so many lanes share a key */

__device__ float4 load4(const float *p, int four)
{
    return reinterpret_cast<const float4 *>(p)[four];
}

/* scores[i] = q . keys[i] / sqrt(head_dim) */
__device__ void score_keys(float *scores, const float *q, const float *keys, int length, size_t stride, int head_dim)
{
    const int lane = (int)threadIdx.x % lanes, fours = head_dim / 4;
    const float scale = 1.0f / sqrtf((float)head_dim);
    for (int start = 0; start < length; start += keys_at_once) {
        const int i = start + (int)threadIdx.x / lanes;
        float sum = 0.0f;
        if (i < length)
#pragma unroll 2
            for (int f = lane; f < fours; f += lanes) {
                const float4 a = load4(q, f), b = load4(keys + i * stride, f);
                sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
            }
        for (int offset = lanes / 2; offset; offset /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        if (lane == 0 && i < length)
            scores[i] = scale * sum;
    }
}

/* In each warp by itself, so that no barrier is needed. */
__device__ float largest_score(const float *scores, int length)
{
    float largest = -INFINITY;
    for (int i = (int)threadIdx.x % 32; i < length; i += 32)
        largest = fmaxf(largest, scores[i]);
    for (int offset = 16; offset; offset /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    return largest;
}

__device__ float sum_weights(const float *weights, int length)
{
    float sum = 0.0f;
    for (int i = (int)threadIdx.x % 32; i < length; i += 32)
        sum += weights[i];
    return bgk::warp_sum(sum);
}

/* Part p of the threads sums every parts-th entry, four columns a thread. */
__device__ void add_values(float4 *out, const float *weights, const float *values, int length, size_t stride,
                           int head_dim)
{
    const int fours = head_dim / 4, parts = threads / fours, four = (int)threadIdx.x % fours;
    const int part = (int)threadIdx.x / fours;
    float4 sum = make_float4(0, 0, 0, 0);
    if (part < parts)
#pragma unroll 4
        for (int i = part; i < length; i += parts) {
            const float4 v = load4(values + i * stride, four);
            const float w = weights[i];
            sum = make_float4(sum.x + w * v.x, sum.y + w * v.y, sum.z + w * v.z, sum.w + w * v.w);
        }
    out[threadIdx.x] = sum;
}

__device__ void attend(float *y, const float *q, const float *keys, const float *values, int length, float nothing,
                       bgk_heads of, int head_dim)
{
    BG_DYNAMIC_SHARED(float, scores);
    __shared__ float4 parts[threads];
    const size_t row = ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * head_dim, stride = (size_t)of.key * head_dim;
    const size_t head = (size_t)((of.first + (int)blockIdx.x) / of.group) * head_dim;
    const int fours = head_dim / 4, thread = (int)threadIdx.x;

    score_keys(scores, q + row, keys + head, length, stride, head_dim);
    __syncthreads();
    const float largest = largest_score(scores, length);
    __syncthreads(); /* all have read the scores */
    for (int i = thread; i < length; i += threads)
        scores[i] = expf(scores[i] - largest);
    __syncthreads();
    add_values(parts, scores, values + head, length, stride, head_dim);
    const float total = sum_weights(scores, length);
    __syncthreads();
    if (thread >= head_dim)
        return;
    float sum = 0.0f;
    for (int i = 0; i < threads / fours; i++)
        sum += reinterpret_cast<const float *>(parts + i * fours)[thread];
    y[row + thread] = length ? sum / total : nothing;
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
        capacity > most_entries || head_dim < 4 || head_dim % 4 || head_dim > max_head_dim || (slot && slots < 1))
        return cudaErrorInvalidValue;
    if (slot)
        return bgk::launch(attention_rows_few, grid, dim3(threads), shared, stream, y, q, keys, values, position, slot,
                           heads, head_dim, capacity, slots);
    return bgk::launch(attention_few, grid, dim3(threads), shared, stream, y, q, keys, values, position, heads,
                       head_dim, capacity);
}
