/* cub for the host device: of NVIDIA's library, what a block or a warp does together to reduce, scan, load and store.
 * The names and parameters are those of NVIDIA's; each header says what differs. What is not here does not compile. */
#ifndef HOSTCUDA_CUB_CUB_CUH
#define HOSTCUDA_CUB_CUB_CUH

#include <hostcuda/cub/block/block_load.cuh>
#include <hostcuda/cub/block/block_reduce.cuh>
#include <hostcuda/cub/block/block_scan.cuh>
#include <hostcuda/cub/block/block_store.cuh>
#include <hostcuda/cub/thread/thread_operators.cuh>
#include <hostcuda/cub/thread/thread_reduce.cuh>
#include <hostcuda/cub/util_ptx.cuh>
#include <hostcuda/cub/util_type.cuh>
#include <hostcuda/cub/version.cuh>
#include <hostcuda/cub/warp/warp_reduce.cuh>
#include <hostcuda/cub/warp/warp_scan.cuh>

#endif
