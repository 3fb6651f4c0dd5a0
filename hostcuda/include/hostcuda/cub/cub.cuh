/* cub for the host device: the parts of NVIDIA's library with which a block or a warp reduces, scans, loads and stores.
 * Names and parameters are NVIDIA's; each header lists the differences. A program that uses other parts does not
 * compile. */
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
