#include "hostcuda/graph/graph.h"

enum cudaGraphNodeType hc_node_type(enum hc_op_kind kind)
{
    switch (kind) {
    case HC_OP_KERNEL: return cudaGraphNodeTypeKernel;
    case HC_OP_COPY: return cudaGraphNodeTypeMemcpy;
    case HC_OP_FILL: return cudaGraphNodeTypeMemset;
    case HC_OP_HOST: return cudaGraphNodeTypeHost;
    case HC_OP_EMPTY: return cudaGraphNodeTypeEmpty;
    case HC_OP_RECORD: return cudaGraphNodeTypeEventRecord;
    case HC_OP_WAIT: return cudaGraphNodeTypeWaitEvent;
    case HC_OP_ALLOC: return cudaGraphNodeTypeMemAlloc;
    case HC_OP_FREE: return cudaGraphNodeTypeMemFree;
    case HC_OP_CHILD: return cudaGraphNodeTypeGraph;
    }
    return cudaGraphNodeTypeEmpty;
}

cudaError_t hc_node_set(cudaGraphNode_t node, struct hc_op *op)
{
    if (!hc_handle_is(HC_NODE, node) || node->op->kind != op->kind) {
        hc_op_release(op);
        return cudaErrorInvalidValue;
    }
    hc_op_release(node->op);
    node->op = op;
    return cudaSuccess;
}
