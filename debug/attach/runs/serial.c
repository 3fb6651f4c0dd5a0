#include "serial.h"

#include <string.h>

#include "debug/attach/stream_order/signature.h"
#include "debug/attach/nodes/node_pieces.h"
#include "debug/graph/node_copy.h"
#include "debug/graph/waiting_kernels.h"

static const char *obstacle_of(const bg__node *node)
{
    bg__node_range end;

    switch (node->type) {
    case cudaGraphNodeTypeEmpty: return NULL;
    case cudaGraphNodeTypeKernel:
        if (node->kernel != NULL && bg__kernel_waits_for_others(node->kernel->name) != NULL)
            return "it has kernels that wait for other ranks";
        if (node->kernel != NULL && bg__signature_may_wait(node->kernel->name))
            return "it has a kernel with a pointer to volatile or atomic memory, which may wait for what other work "
                   "writes there";
        break;
    case cudaGraphNodeTypeMemcpy:
        if (bg__memcpy_node_range(node, BG__DESTINATION, &end) && bg__memory_is_pageable(end.address))
            return "it copies into pageable host memory, which would not be restored";
        break;
    case cudaGraphNodeTypeMemset:
    case cudaGraphNodeTypeHost:
    case cudaGraphNodeTypeGraph:
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord: break;
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree: return "it has memory nodes, whose addresses belong to their graph";
    case cudaGraphNodeTypeConditional: return "it has conditional nodes, whose handles belong to their graph";
    default: return "it has nodes of a type that cannot be copied";
    }
    return node->known ? NULL : "it has nodes whose parameters CUDA does not report";
}

const char *bg__serial_obstacle(const bg__nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++) {
        const char *obstacle = obstacle_of(&nodes->node[i]);
        if (obstacle != NULL)
            return obstacle;
    }
    return NULL;
}

bool bg__serial_leaves_out(const bg__nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->node[i].type == cudaGraphNodeTypeHost)
            return true;
    return false;
}

bool bg__serial_is_seen(const bg__nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->node[i].type == cudaGraphNodeTypeHost || nodes->node[i].type == cudaGraphNodeTypeEventRecord)
            return true;
    return false;
}

static bool is_left_out(const bg__node *node)
{
    return node == NULL || node->type == cudaGraphNodeTypeEmpty || node->type == cudaGraphNodeTypeGraph ||
           node->type == cudaGraphNodeTypeHost || node->type == cudaGraphNodeTypeEventRecord;
}

static bg_status fill(cudaGraph_t graph, const bg__order *order, const size_t *steps, size_t count)
{
    cudaGraphNode_t last = NULL, made;
    bg_status status = BG_OK;

    for (size_t i = 0; i < count; i++) {
        bool empty;
        if (is_left_out(order->nodes[steps[i]]))
            continue;
        BG__TRY(bg__node_copy(order->nodes[steps[i]], graph, last != NULL ? &last : NULL, &made, &empty));
        last = empty ? last : made;
    }
done:
    return status;
}

bg_status bg__serial_run(const bg__order *order, const size_t *steps, size_t count, cudaStream_t stream)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    bg_status status;

    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY_CUDA(cudaGraphCreate(&graph, 0));
    BG__TRY(fill(graph, order, steps, count));
    BG__TRY_CUDA(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    BG__TRY_CUDA(cudaGraphLaunch(exec, stream));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
done:
    if (exec != NULL)
        BG__RELEASE(cudaGraphExecDestroy(exec));
    if (graph != NULL)
        BG__RELEASE(cudaGraphDestroy(graph));
    bg__relaxed_mode_end(relaxed);
    return status;
}
