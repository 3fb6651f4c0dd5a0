/* Driver functions for graph nodes. Runtime functions do their work. Kernel nodes are in driver_kernels.c. */
#include "hostcuda/src/call/driver_translation.h"
#include "hostcuda/src/driver/driver_calls.h"

/* The parameters that come before the node's own parameters in a function that adds a node. */
#define PLACE_PARAMS     CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies
#define PLACE            phGraphNode, hGraph, dependencies, numDependencies
#define POINTER(address) ((void *)(uintptr_t)(address))

HC_ENTRY(cuGraphAddHostNode, (PLACE_PARAMS, const CUDA_HOST_NODE_PARAMS *nodeParams),
         cudaGraphAddHostNode(PLACE, HC_SAME_AS(const struct cudaHostNodeParams *, nodeParams)))
HC_ENTRY(cuGraphAddChildGraphNode, (PLACE_PARAMS, CUgraph childGraph), cudaGraphAddChildGraphNode(PLACE, childGraph))
HC_ENTRY(cuGraphAddEmptyNode, (PLACE_PARAMS), cudaGraphAddEmptyNode(PLACE))
HC_ENTRY(cuGraphAddEventRecordNode, (PLACE_PARAMS, CUevent event), cudaGraphAddEventRecordNode(PLACE, event))
HC_ENTRY(cuGraphAddEventWaitNode, (PLACE_PARAMS, CUevent event), cudaGraphAddEventWaitNode(PLACE, event))
HC_ENTRY(cuGraphAddMemAllocNode, (PLACE_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams),
         cudaGraphAddMemAllocNode(PLACE, HC_SAME_AS(struct cudaMemAllocNodeParams *, nodeParams)))
HC_ENTRY(cuGraphAddMemFreeNode, (PLACE_PARAMS, CUdeviceptr dptr), cudaGraphAddMemFreeNode(PLACE, POINTER(dptr)))

HC_ENTRY(cuGraphHostNodeGetParams, (CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams),
         cudaGraphHostNodeGetParams(hNode, HC_SAME_AS(struct cudaHostNodeParams *, nodeParams)))
HC_ENTRY(cuGraphHostNodeSetParams, (CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams),
         cudaGraphHostNodeSetParams(hNode, HC_SAME_AS(const struct cudaHostNodeParams *, nodeParams)))
HC_ENTRY(cuGraphExecHostNodeSetParams,
         (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams),
         cudaGraphExecHostNodeSetParams(hGraphExec, hNode, HC_SAME_AS(const struct cudaHostNodeParams *, nodeParams)))
HC_ENTRY(cuGraphChildGraphNodeGetGraph, (CUgraphNode hNode, CUgraph *phGraph),
         cudaGraphChildGraphNodeGetGraph(hNode, phGraph))
HC_ENTRY(cuGraphExecChildGraphNodeSetParams, (CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph),
         cudaGraphExecChildGraphNodeSetParams(hGraphExec, hNode, childGraph))
HC_ENTRY(cuGraphEventRecordNodeGetEvent, (CUgraphNode hNode, CUevent *event_out),
         cudaGraphEventRecordNodeGetEvent(hNode, event_out))
HC_ENTRY(cuGraphEventRecordNodeSetEvent, (CUgraphNode hNode, CUevent event),
         cudaGraphEventRecordNodeSetEvent(hNode, event))
HC_ENTRY(cuGraphExecEventRecordNodeSetEvent, (CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event),
         cudaGraphExecEventRecordNodeSetEvent(hGraphExec, hNode, event))
HC_ENTRY(cuGraphEventWaitNodeGetEvent, (CUgraphNode hNode, CUevent *event_out),
         cudaGraphEventWaitNodeGetEvent(hNode, event_out))
HC_ENTRY(cuGraphEventWaitNodeSetEvent, (CUgraphNode hNode, CUevent event), cudaGraphEventWaitNodeSetEvent(hNode, event))
HC_ENTRY(cuGraphExecEventWaitNodeSetEvent, (CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event),
         cudaGraphExecEventWaitNodeSetEvent(hGraphExec, hNode, event))
HC_ENTRY(cuGraphMemAllocNodeGetParams, (CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out),
         cudaGraphMemAllocNodeGetParams(hNode, HC_SAME_AS(struct cudaMemAllocNodeParams *, params_out)))
HC_ENTRY(cuGraphMemFreeNodeGetParams, (CUgraphNode hNode, CUdeviceptr *dptr_out),
         cudaGraphMemFreeNodeGetParams(hNode, dptr_out))

/* ---- translated parameters --------------------------------------------------------------------------------------- */

/* A call whose parameters are translated from the driver's struct. NULL, or a memory type that does not exist here, is
 * an error. */
#define COPY_ENTRY(entry, params, ...)                                                                                 \
    CUresult entry params                                                                                              \
    {                                                                                                                  \
        struct cudaMemcpy3DParms copy;                                                                                 \
        HC_DRIVER_AS(hc_copy_3d_to_runtime(driver, &copy) ? (__VA_ARGS__) : cudaErrorInvalidValue);                    \
    }
COPY_ENTRY(cuGraphAddMemcpyNode, (PLACE_PARAMS, const CUDA_MEMCPY3D *driver, CUcontext ctx), (void)ctx,
           cudaGraphAddMemcpyNode(PLACE, &copy))
COPY_ENTRY(cuGraphMemcpyNodeSetParams, (CUgraphNode hNode, const CUDA_MEMCPY3D *driver),
           cudaGraphMemcpyNodeSetParams(hNode, &copy))
COPY_ENTRY(cuGraphExecMemcpyNodeSetParams,
           (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMCPY3D *driver, CUcontext ctx), (void)ctx,
           cudaGraphExecMemcpyNodeSetParams(hGraphExec, hNode, &copy))

#define FILL_ENTRY(entry, params, ...)                                                                                 \
    CUresult entry params                                                                                              \
    {                                                                                                                  \
        struct cudaMemsetParams fill;                                                                                  \
        if (driver)                                                                                                    \
            hc_fill_to_runtime(driver, &fill);                                                                         \
        HC_DRIVER_AS(driver ? (__VA_ARGS__) : cudaErrorInvalidValue);                                                  \
    }
FILL_ENTRY(cuGraphAddMemsetNode, (PLACE_PARAMS, const CUDA_MEMSET_NODE_PARAMS *driver, CUcontext ctx), (void)ctx,
           cudaGraphAddMemsetNode(PLACE, &fill))
FILL_ENTRY(cuGraphMemsetNodeSetParams, (CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *driver),
           cudaGraphMemsetNodeSetParams(hNode, &fill))
FILL_ENTRY(cuGraphExecMemsetNodeSetParams,
           (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *driver, CUcontext ctx), (void)ctx,
           cudaGraphExecMemsetNodeSetParams(hGraphExec, hNode, &fill))

#define NODE_ENTRY(entry, params, then, ...)                                                                           \
    CUresult entry params                                                                                              \
    {                                                                                                                  \
        struct cudaGraphNodeParams node;                                                                               \
        if (!nodeParams || !hc_node_params_to_runtime(nodeParams, &node))                                              \
            HC_DRIVER_AS(cudaErrorInvalidValue);                                                                       \
        if (!hc_driver_enter_runtime(__func__))                                                                        \
            return CUDA_ERROR_NOT_INITIALIZED;                                                                         \
        cudaError_t error = (__VA_ARGS__);                                                                             \
        if (!error)                                                                                                    \
            then;                                                                                                      \
        return hc_driver_leave_runtime(error);                                                                         \
    }
/* Stores the address that an added allocation node has got. */
static void store_allocated_address(const struct cudaGraphNodeParams *node, CUgraphNodeParams *nodeParams)
{
    if (node->type == cudaGraphNodeTypeMemAlloc)
        nodeParams->alloc.dptr = (CUdeviceptr)(uintptr_t)node->alloc.dptr;
}
NODE_ENTRY(cuGraphAddNode,
           (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
            const CUgraphEdgeData *dependencyData, size_t numDependencies, CUgraphNodeParams *nodeParams),
           store_allocated_address(&node, nodeParams),
           cudaGraphAddNode(phGraphNode, hGraph, dependencies, HC_SAME_AS(const cudaGraphEdgeData *, dependencyData),
                            numDependencies, &node))
NODE_ENTRY(cuGraphNodeSetParams, (CUgraphNode hNode, CUgraphNodeParams *nodeParams), (void)0,
           cudaGraphNodeSetParams(hNode, &node))
NODE_ENTRY(cuGraphExecNodeSetParams, (CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams *nodeParams),
           (void)0, cudaGraphExecNodeSetParams(hGraphExec, hNode, &node))

/* ---- getters ----------------------------------------------------------------------------------------------------- */

static cudaError_t get_copy_params(CUgraphNode node, CUDA_MEMCPY3D *driver)
{
    struct cudaMemcpy3DParms copy;
    cudaError_t error = cudaGraphMemcpyNodeGetParams(node, driver ? &copy : NULL);
    if (!error)
        (void)hc_copy_3d_to_driver(&copy, driver);
    return error;
}
HC_ENTRY(cuGraphMemcpyNodeGetParams, (CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams), get_copy_params(hNode, nodeParams))

static cudaError_t get_fill_params(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *driver)
{
    struct cudaMemsetParams fill;
    cudaError_t error = cudaGraphMemsetNodeGetParams(node, driver ? &fill : NULL);
    if (!error)
        (void)hc_fill_to_driver(&fill, driver);
    return error;
}
HC_ENTRY(cuGraphMemsetNodeGetParams, (CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams),
         get_fill_params(hNode, nodeParams))
