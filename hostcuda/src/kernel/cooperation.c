#include "hostcuda/src/kernel/cooperation.h"

#include "hostcuda/src/kernel/occupancy.h"

#include <stdio.h>

static size_t count_blocks(dim3 shape)
{
    return (size_t)shape.x * shape.y * shape.z;
}

static bool divides_grid(dim3 cluster, dim3 grid)
{
    return cluster.x && cluster.y && cluster.z && grid.x % cluster.x == 0 && grid.y % cluster.y == 0 &&
           grid.z % cluster.z == 0;
}

static cudaError_t refuse_cooperation(const char *what)
{
    fprintf(stderr, "hostcuda: %s of more than one block is not supported, since blocks run one after the other\n",
            what);
    return cudaErrorNotSupported;
}

cudaError_t hc_cooperation_check(const struct hc_cooperation *cooperation, const struct hc_kernel *kernel, dim3 grid,
                                 dim3 block, size_t shared_bytes)
{
    if (cooperation->clusters && !divides_grid(cooperation->cluster, grid))
        return cudaErrorInvalidClusterSize;
    if (cooperation->clusters && count_blocks(cooperation->cluster) > 1)
        return refuse_cooperation("a cluster");
    if (!cooperation->all)
        return cudaSuccess;
    int most = hc_multiprocessor_count() * hc_occupancy_blocks(kernel, (int)count_blocks(block), shared_bytes);
    if (count_blocks(grid) > (size_t)most)
        return cudaErrorCooperativeLaunchTooLarge;
    return count_blocks(grid) > 1 ? refuse_cooperation("a cooperative launch") : cudaSuccess;
}
