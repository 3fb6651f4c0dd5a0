/* A thread's place in its block and warp, and shuffles of values of any size. */
#ifndef HOSTCUDA_CUB_UTIL_PTX_CUH
#define HOSTCUDA_CUB_UTIL_PTX_CUH

#include <cstdio>

#include <hostcuda/cub/util_type.cuh>

namespace cub
{
/* Returns the number of the calling thread in a block of these dimensions, counted x first. Indices in a dimension of 1
 * are ignored. */
inline int RowMajorTid(int block_dim_x, int block_dim_y, int block_dim_z)
{
    int row = block_dim_z == 1 ? 0 : static_cast<int>(threadIdx.z) * block_dim_y;
    row += block_dim_y == 1 ? 0 : static_cast<int>(threadIdx.y);
    return row * block_dim_x + static_cast<int>(threadIdx.x);
}
inline unsigned LaneId()
{
    return static_cast<unsigned>(hostcuda_lane());
}
inline unsigned WarpId()
{
    return hostcuda::rank_in_block() / 32;
}
/* Returns the mask of the lanes of one logical warp; the last one of a warp may have fewer. */
template <int LOGICAL_WARP_THREADS>
unsigned WarpMask(unsigned warp_id)
{
    unsigned lanes = LOGICAL_WARP_THREADS == 32 ? ~0u : (1u << LOGICAL_WARP_THREADS % 32) - 1;
    return lanes << warp_id * LOGICAL_WARP_THREADS % 32;
}

/* Return the value of another lane. Where there is none before first_thread or after last_thread, which count within
 * the logical warp, they return the caller's own value. Values are moved as bytes. */
template <int LOGICAL_WARP_THREADS, class T>
T ShuffleIndex(const T &input, int src_lane, unsigned member_mask)
{
    int first = hostcuda_lane() / LOGICAL_WARP_THREADS * LOGICAL_WARP_THREADS;
    return hostcuda::shuffle_bytes(member_mask, input, first + src_lane);
}
template <int LOGICAL_WARP_THREADS, class T>
T ShuffleUp(const T &input, int src_offset, int first_thread, unsigned member_mask)
{
    int lane = hostcuda_lane() % LOGICAL_WARP_THREADS;
    return ShuffleIndex<LOGICAL_WARP_THREADS>(input, lane - src_offset < first_thread ? lane : lane - src_offset,
                                              member_mask);
}
template <int LOGICAL_WARP_THREADS, class T>
T ShuffleDown(const T &input, int src_offset, int last_thread, unsigned member_mask)
{
    int lane = hostcuda_lane() % LOGICAL_WARP_THREADS;
    return ShuffleIndex<LOGICAL_WARP_THREADS>(input, lane + src_offset > last_thread ? lane : lane + src_offset,
                                              member_mask);
}
} // namespace cub

namespace hostcuda
{
/* Returns how many threads of the block have consecutive numbers 0, 1, 2, ... as RowMajorTid gives them. A block may
 * have fewer threads than a class of cub was instantiated for. */
inline int numbered_threads(int dim_x, int dim_y, int dim_z)
{
    int x = static_cast<int>(blockDim.x), y = static_cast<int>(blockDim.y), z = static_cast<int>(blockDim.z);
    if (x < dim_x)
        return x;
    if (y < dim_y)
        return dim_x * y;
    return dim_x * dim_y * (z < dim_z ? z : dim_z);
}

/* Ends the kernel if the class would read or write items of threads that the block does not have. */
inline void check_threads(const char *name, bool enough, int threads)
{
    if (enough)
        return;
    std::fprintf(stderr, "hostcuda: cub::%s for %d threads in a block of %ux%ux%u\n", name, threads, blockDim.x,
                 blockDim.y, blockDim.z);
    hostcuda_trap();
    __builtin_unreachable(); /* hostcuda_trap does not return */
}
} // namespace hostcuda

#endif
