#include "kernels/device.h"
#include "tests/support/kernels/launcher.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "group_kernels.h"

namespace cg = cooperative_groups;

namespace
{
__device__ unsigned sum_of(dim3 of)
{
    return of.x + 10 * of.y + 100 * of.z;
}

__global__ void block_rows(int *out)
{
    __shared__ int written[256];
    cg::thread_block block = cg::this_thread_block();
    unsigned rank = block.thread_rank(), size = block.size();
    int *row = out + (cg::this_grid().block_rank() * size + rank) * GR_BLOCK_ROW;
    row[0] = static_cast<int>(rank);
    row[1] = static_cast<int>(block.num_threads());
    row[2] = static_cast<int>(sum_of(block.group_index()) + sum_of(block.thread_index()));
    row[3] = static_cast<int>(sum_of(block.group_dim()) + sum_of(block.dim_threads()));
    written[rank] = static_cast<int>(rank) * 3;
    block.sync();
    row[4] = written[(rank + 1) % size];
    cg::sync(block);
    row[5] = static_cast<int>(cg::group_size(block) * 1000 + cg::thread_rank(block));
}

__global__ void tile_rows(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int value = 100 + static_cast<int>(threadIdx.x), predicate = 0;
    unsigned rank = tile.thread_rank();
    int *row = out + threadIdx.x * GR_TILE_ROW;
    row[0] = static_cast<int>(rank);
    row[1] = static_cast<int>(tile.meta_group_rank());
    row[2] = static_cast<int>(tile.meta_group_size());
    row[3] = tile.shfl(value, 3);
    row[4] = tile.shfl_up(value, 2);
    row[5] = tile.shfl_down(value, 3);
    row[6] = tile.shfl_xor(value, 5);
    row[7] = tile.any(rank > 5) != 0;
    row[8] = tile.all(rank > 5) != 0;
    row[9] = static_cast<int>(tile.ballot(rank > 5));
    row[10] = static_cast<int>(tile.match_any(static_cast<int>(rank) % 3));
    row[11] = static_cast<int>(tile.match_all(1, predicate)) + 1000 * (predicate != 0);
    tile.sync();
}

__global__ void reduce_rows(int *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto half = cg::tiled_partition<16>(warp);
    auto quarter = cg::tiled_partition<4>(half);
    int value = static_cast<int>(threadIdx.x), *row = out + threadIdx.x * GR_REDUCE_ROW;
    row[0] = static_cast<int>(quarter.thread_rank());
    row[1] = static_cast<int>(quarter.meta_group_rank());
    row[2] = static_cast<int>(quarter.meta_group_size());
    row[3] = cg::reduce(half, value, cg::plus<int>());
    row[4] = cg::reduce(half, value, cg::less<int>());
    row[5] = cg::reduce(half, value, cg::greater<int>());
    row[6] = cg::reduce(half, value, cg::bit_or<int>());
    row[7] = static_cast<int>(2 * cg::reduce(warp, 0.5f * static_cast<float>(value), cg::plus<float>()));
    static_assert(decltype(half)::size() == 16, "known when it is compiled");
}

/* In memory of the group's own. */
__device__ int sum_over(const cg::thread_group &group, int *memory, int value)
{
    unsigned rank = static_cast<unsigned>(group.thread_rank());
    for (unsigned left = static_cast<unsigned>(group.size()) / 2; left; left /= 2) {
        memory[rank] = value;
        group.sync();
        if (rank < left)
            value += memory[rank + left];
        group.sync();
    }
    if (rank == 0)
        memory[0] = value;
    group.sync();
    return memory[0];
}

__global__ void any_group(int *out, unsigned size)
{
    __shared__ int memory[2][64];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_group tile = cg::tiled_partition(block, size);
    int value = static_cast<int>(threadIdx.x);
    out[threadIdx.x] = sum_over(block, memory[0], value);
    out[64 + threadIdx.x] = sum_over(tile, &memory[1][threadIdx.x / size * size], value);
}

struct wide {
    double a, b;
    int c;
};

__global__ void wide_values(double *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    double x = threadIdx.x;
    wide got = warp.shfl(wide{x, 10 * x, static_cast<int>(threadIdx.x)}, 5);
    out[threadIdx.x] = got.a + got.b + got.c;
}

__global__ void coalesced_rows(int *out, int *counter)
{
    if (threadIdx.x % 3)
        return;
    cg::coalesced_group group = cg::coalesced_threads();
    int first = 0, *row = out + threadIdx.x * GR_COALESCED_ROW;
    if (group.thread_rank() == 0)
        first = atomicAdd(counter, static_cast<int>(group.size()));
    first = group.shfl(first, 0);
    row[0] = static_cast<int>(group.thread_rank());
    row[1] = static_cast<int>(group.size());
    row[2] = first + static_cast<int>(group.thread_rank());
    if (threadIdx.x % 2) /* the group goes apart */
        row[2] += 1000 * (cg::coalesced_threads().size() > group.size());
    else
        row[2] += 1000 * (cg::coalesced_threads().size() > group.size());
    group.sync();
}

__global__ void grid_ranks(int *out)
{
    cg::grid_group grid = cg::this_grid();
    unsigned long long rank = grid.thread_rank();
    if (rank < grid.size())
        out[rank] = static_cast<int>(rank);
}

__global__ void matches(unsigned *out)
{
    int all = 0;
    out[threadIdx.x] = __match_any_sync(0xffffffffu, static_cast<int>(threadIdx.x) % 5);
    out[32 + threadIdx.x] = __match_all_sync(0xffffffffu, 7, &all);
    if (!all || (__match_all_sync(0xffffffffu, static_cast<int>(threadIdx.x), &all), all))
        out[32 + threadIdx.x] = 0;
}
} // namespace

LAUNCHER(gr_block, (int *out, dim3 grid, dim3 block, cudaStream_t stream), block_rows, grid, block, 0, stream, out)
LAUNCHER(gr_tile, (int *out, cudaStream_t stream), tile_rows, 1, 64, 0, stream, out)
LAUNCHER(gr_reduce, (int *out, cudaStream_t stream), reduce_rows, 1, 64, 0, stream, out)
LAUNCHER(gr_any_group, (int *out, unsigned tile, cudaStream_t stream), any_group, 1, 64, 0, stream, out, tile)
LAUNCHER(gr_wide, (double *out, cudaStream_t stream), wide_values, 1, 32, 0, stream, out)
LAUNCHER(gr_coalesced, (int *out, int *counter, cudaStream_t stream), coalesced_rows, 1, 64, 0, stream, out, counter)
LAUNCHER(gr_grid, (int *out, dim3 grid, dim3 block, cudaStream_t stream), grid_ranks, grid, block, 0, stream, out)
LAUNCHER(gr_match, (unsigned *out, cudaStream_t stream), matches, 1, 32, 0, stream, out)
