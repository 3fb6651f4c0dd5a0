#include "taint.h"

#include "kernels/launch.h"

namespace
{
using u64 = unsigned long long;
using byte = unsigned char;

constexpr unsigned THREADS = 256;
constexpr size_t BLOCKS_MAX = 1024;

__global__ void count_taint(bgk_taint *result, const byte *one, const byte *other, u64 pattern, size_t bytes)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    u64 count = 0, first = ~0ull;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += step) {
        byte begun = static_cast<byte>(pattern >> (i % 8 * 8));
        if (one[i] == other[i] || (one[i] == begun && other[i] == 0))
            continue;
        first = count == 0 ? i : first; /* a thread's indices ascend */
        count++;
    }
    if (count == 0)
        return;
    atomicAdd(&result->count, count);
    atomicMin(&result->first, first);
}
} // namespace

cudaError_t bgk_count_taint(bgk_taint *result, const void *one, const void *other, unsigned long long pattern,
                            size_t bytes, cudaStream_t stream)
{
    size_t blocks = (bytes + THREADS - 1) / THREADS;
    if (bytes == 0)
        return cudaErrorInvalidValue;
    return bgk::launch(count_taint, static_cast<unsigned>(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX), THREADS, 0,
                       stream, result, static_cast<const byte *>(one), static_cast<const byte *>(other), pattern,
                       bytes);
}
