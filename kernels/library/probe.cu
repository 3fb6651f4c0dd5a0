#include "probe.h"

#include "kernels/launch.h"
#include "kernels/hash.h"
#include "kernels/memory_words.h"

namespace
{
using u64 = unsigned long long;
using bgk::read_word;
using bgk::WORD;

constexpr unsigned THREADS = 256, BLOCKS_MAX = 1024;

/* The bits of a format's elements and of their fraction. */
struct shape {
    int bits, fraction;
};

/* The bytes behind the end are 0, and count as no special number. */
__device__ void count_specials(u64 word, shape s, u64 *nan, u64 *inf)
{
    u64 element_mask = s.bits == 64 ? ~0ull : (1ull << s.bits) - 1, sign = 1ull << (s.bits - 1);
    u64 infinity = (sign - 1) & ~((1ull << s.fraction) - 1);
    for (int at = 0; at < 64; at += s.bits) {
        u64 magnitude = (word >> at) & element_mask & (sign - 1);
        *nan += magnitude > infinity;
        *inf += magnitude == infinity;
    }
}

/* All lanes of the warp must call it. */
__device__ u64 sum_of_warp(u64 value)
{
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

/* Warps add up first, then blocks: thousands of threads that add to one word would wait for each other. x begins at a
 * multiple of 8; its first `skipped` bytes count as 0. */
__global__ void probe(bgk_probe *result, const void *x, size_t skipped, size_t bytes, shape s)
{
    __shared__ bgk_probe sum;
    size_t words = (bytes + WORD - 1) / WORD, step = (size_t)gridDim.x * blockDim.x;
    u64 digest = 0, nan = 0, inf = 0;

    if (threadIdx.x == 0)
        sum = bgk_probe{};
    __syncthreads();
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step) {
        u64 word = read_word(x, i, bytes);
        word &= i == 0 ? ~0ull << 8 * skipped : ~0ull;
        digest += bgk_mix(word + bgk_mix(i));
        if (s.bits != 0)
            count_specials(word, s, &nan, &inf);
    }
    digest = sum_of_warp(digest);
    nan = sum_of_warp(nan);
    inf = sum_of_warp(inf);
    if (threadIdx.x % warpSize == 0) {
        atomicAdd(&sum.digest, digest);
        atomicAdd(&sum.nan, nan);
        atomicAdd(&sum.inf, inf);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&result->digest, sum.digest);
        if (sum.nan != 0)
            atomicAdd(&result->nan, sum.nan);
        if (sum.inf != 0)
            atomicAdd(&result->inf, sum.inf);
    }
}

/* Runs as one block, so that its results are visible before *told. */
__global__ void end_turn(bgk_probe *ring, size_t rows, u64 *told, bgk_probe *results, size_t count, u64 *turns)
{
    u64 turn = *turns;

    for (size_t i = threadIdx.x; i < count; i += blockDim.x) {
        ring[turn % rows * count + i] = results[i];
        results[i] = bgk_probe{};
    }
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) {
        *turns = turn + 1;
        *static_cast<volatile u64 *>(told) = turn + 1;
    }
}
} // namespace

cudaError_t bgk_probe_memory(bgk_probe *result, const void *x, size_t bytes, int format, cudaStream_t stream)
{
    static const shape shapes[] = {{32, 23}, {64, 52}, {16, 10}, {16, 7}}; /* by bgk_float */
    size_t skipped = (uintptr_t)x % WORD, words = (skipped + bytes + WORD - 1) / WORD;
    unsigned blocks = words > (size_t)BLOCKS_MAX * THREADS ? BLOCKS_MAX : bgk::blocks_for(words, THREADS);
    shape s = {0, 0};

    if (bytes == 0 || format < BGK_NO_FLOATS || format > BGK_BF16)
        return cudaErrorInvalidValue;
    if (format != BGK_NO_FLOATS)
        s = shapes[format];
    return bgk::launch(probe, blocks, THREADS, 0, stream, result,
                       static_cast<const void *>(static_cast<const char *>(x) - skipped), skipped, skipped + bytes, s);
}

cudaError_t bgk_probe_end(bgk_probe *ring, size_t rows, unsigned long long *told, bgk_probe *results, size_t count,
                          unsigned long long *turns, cudaStream_t stream)
{
    if (rows == 0 || count == 0)
        return cudaErrorInvalidValue;
    return bgk::launch(end_turn, 1, THREADS, 0, stream, ring, rows, told, results, count, turns);
}
