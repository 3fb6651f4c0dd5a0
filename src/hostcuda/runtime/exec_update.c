/* Executable graphs changed after they were made: the calls. */
#include "hostcuda/call/call.h"
#include "hostcuda/exec/exec.h"
#include "hostcuda/op/params.h"
#include "hostcuda/runtime/node_params.h"
#include "hostcuda/stream/event.h"

#include <string.h>

#define EXEC_SETTER(name, sign, make)                                                                                  \
    cudaError_t name sign                                                                                              \
    {                                                                                                                  \
        struct hc_op *op = NULL;                                                                                       \
        cudaError_t error = hc_begin();                                                                                \
        if (!error)                                                                                                    \
            error = make;                                                                                              \
        if (!error)                                                                                                    \
            error = hc_exec_set(hGraphExec, node, op);                                                                 \
        return hc_end(error);                                                                                          \
    }

EXEC_SETTER(cudaGraphExecKernelNodeSetParams,
            (cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const struct cudaKernelNodeParams *pNodeParams),
            pNodeParams ? hc_op_from_kernel_params(pNodeParams, &op) : cudaErrorInvalidValue)
EXEC_SETTER(cudaGraphExecMemcpyNodeSetParams,
            (cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const struct cudaMemcpy3DParms *pNodeParams),
            hc_op_from_3d(pNodeParams, &op))
EXEC_SETTER(cudaGraphExecMemcpyNodeSetParams1D,
            (cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst, const void *src, size_t count,
             enum cudaMemcpyKind kind),
            hc_op_from_1d(dst, src, count, kind, &op))
EXEC_SETTER(cudaGraphExecMemsetNodeSetParams,
            (cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const struct cudaMemsetParams *pNodeParams),
            hc_op_from_fill(pNodeParams, &op))
EXEC_SETTER(cudaGraphExecHostNodeSetParams,
            (cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const struct cudaHostNodeParams *pNodeParams),
            hc_op_from_host(pNodeParams, &op))
EXEC_SETTER(cudaGraphExecEventRecordNodeSetEvent, (cudaGraphExec_t hGraphExec, cudaGraphNode_t node, cudaEvent_t event),
            hc_op_from_event(HC_OP_RECORD, event, &op))
EXEC_SETTER(cudaGraphExecEventWaitNodeSetEvent, (cudaGraphExec_t hGraphExec, cudaGraphNode_t node, cudaEvent_t event),
            hc_op_from_event(HC_OP_WAIT, event, &op))

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int isEnabled)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = hc_exec_enable(hGraphExec, hNode, isEnabled);
    return hc_end(error);
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int *isEnabled)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = isEnabled ? hc_exec_is_enabled(hGraphExec, hNode, isEnabled) : cudaErrorInvalidValue;
    return hc_end(error);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                cudaGraphExecUpdateResultInfo *resultInfo)
{
    cudaError_t error = hc_begin();
    if (error || !resultInfo)
        return hc_end(error ? error : cudaErrorInvalidValue);
    memset(resultInfo, 0, sizeof *resultInfo);
    error = hc_exec_update(hGraphExec, hGraph, resultInfo);
    if (error && !resultInfo->result)
        resultInfo->result = cudaGraphExecUpdateError;
    return hc_end(error);
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                 cudaGraph_t childGraph)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = hc_exec_set_child(hGraphExec, node, childGraph);
    return hc_end(error);
}

/* ---- any node ------------------------------------------------------------------------------------------------- */

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
                                       struct cudaGraphNodeParams *nodeParams)
{
    struct hc_op *op = NULL;
    cudaError_t error = hc_begin();
    if (!error && nodeParams && nodeParams->type == cudaGraphNodeTypeGraph)
        return hc_end(hc_exec_set_child(graphExec, node, nodeParams->graph.graph));
    if (!error)
        error = hc_op_from_node_params(nodeParams, &op);
    if (!error)
        error = hc_exec_set(graphExec, node, op);
    return hc_end(error);
}
