/* The sum of a value over the threads of a block, which are whole warps. */
#ifndef BG_KERNELS_ROW_SUM_H
#define BG_KERNELS_ROW_SUM_H
#include "kernels/device.h"

namespace bgk
{
constexpr int max_warps = 8;

__device__ inline float warp_sum(float value)
{
    for (int offset = 16; offset; offset /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

/* Returns the sum in every thread. A block of one warp needs no barrier; with more, of_warp holds a value of each until
 * the next barrier. */
__device__ inline float block_sum(float value, float (&of_warp)[max_warps])
{
    int warps = (int)blockDim.x / 32;
    value = warp_sum(value);
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

/* The warps that sum a row: one for each 1024 columns, so that short rows need no barrier. */
inline unsigned row_warps(int width)
{
    int warps = width / 1024;
    return (unsigned)(warps < 1 ? 1 : warps > max_warps ? max_warps : warps);
}
} // namespace bgk
#endif
