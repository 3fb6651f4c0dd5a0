/* Calls that update executable graphs. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/exec/exec.h"

#include <string.h>

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int isEnabled)
{
    HC_THROUGH_DRIVER(cuGraphNodeSetEnabled, hGraphExec, hNode, isEnabled);
    HC_CALL(hc_exec_enable_node(hGraphExec, hNode, isEnabled));
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int *isEnabled)
{
    HC_THROUGH_DRIVER(cuGraphNodeGetEnabled, hGraphExec, hNode, isEnabled);
    HC_CALL(isEnabled ? hc_exec_node_is_enabled(hGraphExec, hNode, isEnabled) : cudaErrorInvalidValue);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                cudaGraphExecUpdateResultInfo *resultInfo)
{
    HC_THROUGH_DRIVER(cuGraphExecUpdate, hGraphExec, hGraph, HC_SAME_AS(CUgraphExecUpdateResultInfo *, resultInfo));
    cudaGraphExecUpdateResultInfo info;
    cudaError_t error = hc_call_begin();
    if (error)
        return hc_call_end(error);
    memset(&info, 0, sizeof info);
    error = hc_exec_update(hGraphExec, hGraph, &info);
    if (error && !info.result)
        info.result = cudaGraphExecUpdateError;
    if (resultInfo)
        *resultInfo = info;
    return hc_call_end(error);
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                 cudaGraph_t childGraph)
{
    HC_THROUGH_DRIVER(cuGraphExecChildGraphNodeSetParams, hGraphExec, node, childGraph);
    HC_CALL(hc_exec_set_child(hGraphExec, node, childGraph));
}
