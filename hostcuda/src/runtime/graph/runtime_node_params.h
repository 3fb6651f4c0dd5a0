/* The parameters of any node, in CUDA's one form for all. */
#ifndef HOSTCUDA_NODE_PARAMS_H
#define HOSTCUDA_NODE_PARAMS_H

#include "hostcuda/src/op/op_kinds.h"

cudaError_t hc_node_params_check(const struct cudaGraphNodeParams *params);
/* An op of them, checked; not an allocation or a free, which belong to a graph. */
cudaError_t hc_op_from_node_params(const struct cudaGraphNodeParams *params, struct hc_op **op);

#endif
