/* Calls that update executable graphs. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through.h"
#include "hostcuda/src/exec/exec.h"

#include <string.h>

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int isEnabled)
{
    HC_THROUGH(cuGraphNodeSetEnabled, hGraphExec, hNode, isEnabled);
    HC_CALL(hc_exec_enable(hGraphExec, hNode, isEnabled));
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int *isEnabled)
{
    HC_THROUGH(cuGraphNodeGetEnabled, hGraphExec, hNode, isEnabled);
    HC_CALL(isEnabled ? hc_exec_is_enabled(hGraphExec, hNode, isEnabled) : cudaErrorInvalidValue);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                cudaGraphExecUpdateResultInfo *resultInfo)
{
    HC_THROUGH(cuGraphExecUpdate, hGraphExec, hGraph, HC_SAME_AS(CUgraphExecUpdateResultInfo *, resultInfo));
    cudaGraphExecUpdateResultInfo info;
    cudaError_t error = hc_begin();
    if (error)
        return hc_end(error);
    memset(&info, 0, sizeof info);
    error = hc_exec_update(hGraphExec, hGraph, &info);
    if (error && !info.result)
        info.result = cudaGraphExecUpdateError;
    if (resultInfo)
        *resultInfo = info;
    return hc_end(error);
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                 cudaGraph_t childGraph)
{
    HC_THROUGH(cuGraphExecChildGraphNodeSetParams, hGraphExec, node, childGraph);
    HC_CALL(hc_exec_set_child(hGraphExec, node, childGraph));
}
