/* Functions for programs that are compiled with CUDA 12's headers. Most of these functions have no edge data. Each
 * #undef undoes the renaming of include/cuda12. */
#include "hostcuda/src/driver/driver_calls.h"

#if CUDART_VERSION < 13000
/* ---- the runtime ------------------------------------------------------------------------------------------------- */

#undef cudaEventElapsedTime
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    return cudaEventElapsedTime_v2(ms, start, end);
}

#undef cudaGraphAddDependencies
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     size_t numDependencies)
{
    return cudaGraphAddDependencies_v2(graph, from, to, NULL, numDependencies);
}

#undef cudaGraphAddNode
cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
                             size_t numDependencies, struct cudaGraphNodeParams *nodeParams)
{
    return cudaGraphAddNode_v2(pGraphNode, graph, pDependencies, NULL, numDependencies, nodeParams);
}

#undef cudaGraphGetEdges
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *numEdges)
{
    return cudaGraphGetEdges_v2(graph, from, to, NULL, numEdges);
}

#undef cudaGraphNodeGetDependencies
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies, size_t *pNumDependencies)
{
    return cudaGraphNodeGetDependencies_v2(node, pDependencies, NULL, pNumDependencies);
}

#undef cudaGraphNodeGetDependentNodes
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
                                           size_t *pNumDependentNodes)
{
    return cudaGraphNodeGetDependentNodes_v2(node, pDependentNodes, NULL, pNumDependentNodes);
}

#undef cudaGraphRemoveDependencies
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                        size_t numDependencies)
{
    return cudaGraphRemoveDependencies_v2(graph, from, to, NULL, numDependencies);
}

/* CUDA 12's headers define cudaStreamGetCaptureInfo as this function. */
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
                                        unsigned long long *id_out, cudaGraph_t *graph_out,
                                        const cudaGraphNode_t **dependencies_out, size_t *numDependencies_out)
{
    return cudaStreamGetCaptureInfo_v3(stream, captureStatus_out, id_out, graph_out, dependencies_out, NULL,
                                       numDependencies_out);
}

#undef cudaStreamUpdateCaptureDependencies
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                size_t numDependencies, unsigned int flags)
{
    return cudaStreamUpdateCaptureDependencies_v2(stream, dependencies, NULL, numDependencies, flags);
}

/* ---- the driver -------------------------------------------------------------------------------------------------- */

#undef cuDeviceGetUuid
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    return cuDeviceGetUuid_v2(uuid, dev);
}

#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    return cuEventElapsedTime_v2(pMilliseconds, hStart, hEnd);
}

#undef cuGraphAddDependencies
CUresult cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, size_t numDependencies)
{
    return cuGraphAddDependencies_v2(hGraph, from, to, NULL, numDependencies);
}

#undef cuGraphAddNode
CUresult cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                        size_t numDependencies, CUgraphNodeParams *nodeParams)
{
    return cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, NULL, numDependencies, nodeParams);
}

#undef cuGraphGetEdges
CUresult cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges)
{
    return cuGraphGetEdges_v2(hGraph, from, to, NULL, numEdges);
}

#undef cuGraphNodeGetDependencies
CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies, size_t *numDependencies)
{
    return cuGraphNodeGetDependencies_v2(hNode, dependencies, NULL, numDependencies);
}

#undef cuGraphNodeGetDependentNodes
CUresult cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes, size_t *numDependentNodes)
{
    return cuGraphNodeGetDependentNodes_v2(hNode, dependentNodes, NULL, numDependentNodes);
}

#undef cuGraphRemoveDependencies
CUresult cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                   size_t numDependencies)
{
    return cuGraphRemoveDependencies_v2(hGraph, from, to, NULL, numDependencies);
}

/* CUDA 12's headers define cuStreamGetCaptureInfo as this function. */
CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
                                   CUgraph *graph_out, const CUgraphNode **dependencies_out,
                                   size_t *numDependencies_out)
{
    return cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, graph_out, dependencies_out, NULL,
                                     numDependencies_out);
}
HC_PER_THREAD(cuStreamGetCaptureInfo_v2,
              (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, CUgraph *graph_out,
               const CUgraphNode **dependencies_out, size_t *numDependencies_out),
              hStream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out)

#undef cuStreamUpdateCaptureDependencies
CUresult cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode *dependencies, size_t numDependencies,
                                           unsigned int flags)
{
    return cuStreamUpdateCaptureDependencies_v2(hStream, dependencies, NULL, numDependencies, flags);
}
HC_PER_THREAD(cuStreamUpdateCaptureDependencies,
              (CUstream hStream, CUgraphNode *dependencies, size_t numDependencies, unsigned int flags), hStream,
              dependencies, numDependencies, flags)
#endif
