/* Launches whose blocks are to run at once: as clusters, or all of them. Here blocks run one after the other, so that
 * only blocks that have no company can be served. */
#ifndef HOSTCUDA_COOPERATION_H
#define HOSTCUDA_COOPERATION_H

#include "hostcuda/src/kernel/kernel_table.h"

struct hc_cooperation {
    bool all;
    bool clusters;
    dim3 cluster; /* where there are clusters */
};

/* What CUDA says of a launch whose shape is allowed; NotSupported, and a sentence on stderr: it could be on a GPU. */
cudaError_t hc_cooperation_check(const struct hc_cooperation *cooperation, const struct hc_kernel *kernel, dim3 grid,
                                 dim3 block, size_t shared_bytes);

#endif
