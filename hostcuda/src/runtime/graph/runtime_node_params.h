/* Checks CUDA's generic struct, which has the parameters of any node, and makes ops from it. */
#ifndef HOSTCUDA_NODE_PARAMS_H
#define HOSTCUDA_NODE_PARAMS_H

#include "hostcuda/src/op/op_kinds.h"

cudaError_t hc_node_params_check(const struct cudaGraphNodeParams *params);
/* Makes an op from checked parameters. Not for allocations and frees, which need the graph. */
cudaError_t hc_op_from_node_params(const struct cudaGraphNodeParams *params, struct hc_op **op);

#endif
