#include "hostcuda/src/kernel/cooperation.h"

#include "hostcuda/src/kernel/occupancy.h"

#include <stdio.h>

static size_t count(dim3 shape)
{
    return (size_t)shape.x * shape.y * shape.z;
}

static bool divides(dim3 cluster, dim3 grid)
{
    return cluster.x && cluster.y && cluster.z && grid.x % cluster.x == 0 && grid.y % cluster.y == 0 &&
           grid.z % cluster.z == 0;
}

static cudaError_t refuse(const char *what)
{
    fprintf(stderr, "hostcuda: %s of more than one block is not implemented\n", what);
    return cudaErrorNotSupported;
}

cudaError_t hc_cooperation_check(const struct hc_cooperation *cooperation, const struct hc_kernel *kernel, dim3 grid,
                                 dim3 block, size_t shared_bytes)
{
    if (cooperation->clusters && !divides(cooperation->cluster, grid))
        return cudaErrorInvalidClusterSize;
    if (cooperation->clusters && count(cooperation->cluster) > 1)
        return refuse("a cluster");
    if (!cooperation->all)
        return cudaSuccess;
    int most = hc_multiprocessors() * hc_blocks_that_fit(kernel, (int)count(block), shared_bytes);
    if (count(grid) > (size_t)most)
        return cudaErrorCooperativeLaunchTooLarge;
    return count(grid) > 1 ? refuse("a cooperative launch") : cudaSuccess;
}
