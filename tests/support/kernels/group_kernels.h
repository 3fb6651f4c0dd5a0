/* Kernels of cooperative groups. */
#ifndef GROUP_KERNELS_H
#define GROUP_KERNELS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GR_BLOCK_ROW = 6, GR_TILE_ROW = 12, GR_REDUCE_ROW = 8, GR_COALESCED_ROW = 3 };

/* Of each thread a row: its rank; the threads; the sum of the indices of block and thread; of both sizes; what the next
 * thread wrote, over a sync; the threads by the group's functions. */
cudaError_t gr_block(int *out, dim3 grid, dim3 block, cudaStream_t stream);
/* One block of 64 threads, tiles of 8: rank, meta rank, meta size, shfl of 3, up by 2, down by 3, xor of 5, any, all
 * and ballot of rank > 5, match_any of rank % 3, match_all of 1. The values are 100 + the thread's. */
cudaError_t gr_tile(int *out, cudaStream_t stream);
/* The same 64 threads, tiles of 4 in tiles of 16: rank, meta rank, meta size; in those of 16 the sum, least and
 * greatest of the threads' numbers, and the bits of all; in those of 32 the sum of halves, times two. */
cudaError_t gr_reduce(int *out, cudaStream_t stream);
/* One block of 64 threads that sums in shared memory, over a group of any kind: the block, and tiles of a size that is
 * known at run time. out[i] = the sum of the block, out[64 + i] = that of the tile. */
cudaError_t gr_any_group(int *out, unsigned tile, cudaStream_t stream);
/* Values of more than 8 bytes, from lane 5: out[i] = their sum. */
cudaError_t gr_wide(double *out, cudaStream_t stream);
/* One block of 64 threads. Of each third thread, which are together in a branch: rank, size, and a number that no other
 * one gets, from a counter that only leaders add to. Rows of the others stay. */
cudaError_t gr_coalesced(int *out, int *counter, cudaStream_t stream);
/* out[i] = i, by the rank in the grid */
cudaError_t gr_grid(int *out, dim3 grid, dim3 block, cudaStream_t stream);
/* 32 threads: out[i] = the lanes whose value, lane % 5, is the same; out[32 + i] = those of a value that all have. */
cudaError_t gr_match(unsigned *out, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
