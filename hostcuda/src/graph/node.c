#include "hostcuda/src/graph/graph_object.h"

#include <string.h>

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

cudaError_t hc_node_replace_op(cudaGraphNode_t node, struct hc_op *op)
{
    if (!hc_handle_is(HC_NODE, node) || node->op->kind != op->kind) {
        hc_op_release(op);
        return cudaErrorInvalidValue;
    }
    hc_op_release(node->op);
    node->op = op;
    return cudaSuccess;
}

cudaError_t hc_node_set_priority(cudaGraphNode_t node, int priority)
{
    cudaLaunchAttributeValue value;
    if (node->op->kind != HC_OP_KERNEL || priority == HC_PRIORITY_LEAST)
        return cudaSuccess;
    memset(&value, 0, sizeof value);
    value.priority = priority;
    return hc_node_attribute_set(&node->attributes, node->op->launch.grid, cudaLaunchAttributePriority, &value);
}
