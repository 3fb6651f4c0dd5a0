#include "node_copy.h"

#include <cudaTypedefs.h>

static bg_status copy_kernel_node(const bg__node *from, cudaGraph_t graph, const cudaGraphNode_t *after,
                                  cudaGraphNode_t *made)
{
    PFN_cuGraphAddKernelNode_v12000 add = NULL; /* the runtime does not know kernels of libraries */
    bg_status status;

    BG__TRY(bg__driver_get_entry_point("cuGraphAddKernelNode", 12000, (void *)&add));
    BG__TRY_DRIVER("cuGraphAddKernelNode", add(made, graph, after, after != NULL, &from->of.launch));
    BG__TRY_CUDA(cudaGraphKernelNodeCopyAttributes(*made, from->handle));
done:
    return status;
}

static bg_status copy_event_node(const bg__node *from, cudaGraph_t graph, const cudaGraphNode_t *after,
                                 cudaGraphNode_t *made, bool *empty)
{
    bool record = from->type == cudaGraphNodeTypeEventRecord;
    cudaError_t error = record ? cudaGraphAddEventRecordNode(made, graph, after, after != NULL, from->of.event)
                               : cudaGraphAddEventWaitNode(made, graph, after, after != NULL, from->of.event);
    bg_status status = BG_OK;

    *empty = error == cudaErrorInvalidResourceHandle;
    if (*empty)
        bg__clear_cuda_error(error);
    else
        BG__TRY_CUDA(error);
done:
    return status;
}

bg_status bg__node_copy(const bg__node *from, cudaGraph_t graph, const cudaGraphNode_t *after, cudaGraphNode_t *made,
                        bool *empty)
{
    size_t count = after != NULL;
    bg_status status = BG_OK;

    *empty = false;
    switch (from->type) {
    case cudaGraphNodeTypeKernel: return copy_kernel_node(from, graph, after, made);
    case cudaGraphNodeTypeMemcpy:
        BG__TRY_CUDA(cudaGraphAddMemcpyNode(made, graph, after, count, &from->of.copy));
        break;
    case cudaGraphNodeTypeMemset:
        BG__TRY_CUDA(cudaGraphAddMemsetNode(made, graph, after, count, &from->of.fill));
        break;
    case cudaGraphNodeTypeHost: BG__TRY_CUDA(cudaGraphAddHostNode(made, graph, after, count, &from->of.host)); break;
    case cudaGraphNodeTypeEventRecord:
    case cudaGraphNodeTypeWaitEvent: return copy_event_node(from, graph, after, made, empty);
    default: return bg__fail(BG_ERROR_UNSUPPORTED, "a %s cannot run without its graph", bg__node_kind(from));
    }
done:
    return status;
}
