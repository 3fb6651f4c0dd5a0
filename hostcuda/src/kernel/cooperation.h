/* Launches whose blocks must run at the same time: clusters, and cooperative launches. Here, blocks run one after the
 * other, so only grids and clusters of one block are supported. */
#ifndef HOSTCUDA_COOPERATION_H
#define HOSTCUDA_COOPERATION_H

#include "hostcuda/src/kernel/kernel_table.h"

struct hc_cooperation {
    bool all;
    bool clusters;
    dim3 cluster; /* valid if `clusters` is set */
};

/* Returns CUDA's error for the launch. NotSupported, with a message on stderr: a GPU could run it, the host device
 * cannot. */
cudaError_t hc_cooperation_check(const struct hc_cooperation *cooperation, const struct hc_kernel *kernel, dim3 grid,
                                 dim3 block, size_t shared_bytes);

#endif
