/* Driver functions for graphs and executable graphs. Runtime functions do their work. */
#include "hostcuda/src/driver/driver_calls.h"

#define EDGES(pointer)       HC_SAME_AS(cudaGraphEdgeData *, pointer)
#define CONST_EDGES(pointer) HC_SAME_AS(const cudaGraphEdgeData *, pointer)

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

HC_ENTRY(cuGraphCreate, (CUgraph * phGraph, unsigned int flags), cudaGraphCreate(phGraph, flags))
HC_ENTRY(cuGraphDestroy, (CUgraph hGraph), cudaGraphDestroy(hGraph))
HC_ENTRY(cuGraphClone, (CUgraph * phGraphClone, CUgraph originalGraph), cudaGraphClone(phGraphClone, originalGraph))
HC_ENTRY(cuGraphNodeFindInClone, (CUgraphNode * phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph),
         cudaGraphNodeFindInClone(phNode, hOriginalNode, hClonedGraph))
HC_ENTRY(cuGraphDebugDotPrint, (CUgraph hGraph, const char *path, unsigned int flags),
         cudaGraphDebugDotPrint(hGraph, path, flags))

HC_ENTRY(cuGraphGetNodes, (CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes),
         cudaGraphGetNodes(hGraph, nodes, numNodes))
HC_ENTRY(cuGraphGetRootNodes, (CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes),
         cudaGraphGetRootNodes(hGraph, rootNodes, numRootNodes))
HC_ENTRY(cuGraphGetEdges,
         (CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edgeData, size_t *numEdges),
         cudaGraphGetEdges(hGraph, from, to, EDGES(edgeData), numEdges))
HC_ENTRY(cuGraphNodeGetDependencies,
         (CUgraphNode hNode, CUgraphNode *dependencies, CUgraphEdgeData *edgeData, size_t *numDependencies),
         cudaGraphNodeGetDependencies(hNode, dependencies, EDGES(edgeData), numDependencies))
HC_ENTRY(cuGraphNodeGetDependentNodes,
         (CUgraphNode hNode, CUgraphNode *dependentNodes, CUgraphEdgeData *edgeData, size_t *numDependentNodes),
         cudaGraphNodeGetDependentNodes(hNode, dependentNodes, EDGES(edgeData), numDependentNodes))
HC_ENTRY(cuGraphAddDependencies,
         (CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edgeData,
          size_t numDependencies),
         cudaGraphAddDependencies(hGraph, from, to, CONST_EDGES(edgeData), numDependencies))
HC_ENTRY(cuGraphRemoveDependencies,
         (CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edgeData,
          size_t numDependencies),
         cudaGraphRemoveDependencies(hGraph, from, to, CONST_EDGES(edgeData), numDependencies))
HC_ENTRY(cuGraphDestroyNode, (CUgraphNode hNode), cudaGraphDestroyNode(hNode))

/* ---- executable graphs ------------------------------------------------------------------------------------------- */

HC_ENTRY(cuGraphInstantiateWithFlags, (CUgraphExec * phGraphExec, CUgraph hGraph, unsigned long long flags),
         cudaGraphInstantiateWithFlags(phGraphExec, hGraph, flags))
HC_ENTRY(cuGraphInstantiateWithParams,
         (CUgraphExec * phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams),
         cudaGraphInstantiateWithParams(phGraphExec, hGraph,
                                        HC_SAME_AS(cudaGraphInstantiateParams *, instantiateParams)))
HC_ENTRY(cuGraphExecGetFlags, (CUgraphExec hGraphExec, cuuint64_t *flags),
         cudaGraphExecGetFlags(hGraphExec, HC_SAME_AS(unsigned long long *, flags)))
HC_ENTRY(cuGraphExecDestroy, (CUgraphExec hGraphExec), cudaGraphExecDestroy(hGraphExec))
HC_ENTRY(cuGraphExecUpdate, (CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo *resultInfo),
         cudaGraphExecUpdate(hGraphExec, hGraph, HC_SAME_AS(cudaGraphExecUpdateResultInfo *, resultInfo)))
HC_ENTRY(cuGraphNodeSetEnabled, (CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled),
         cudaGraphNodeSetEnabled(hGraphExec, hNode, isEnabled))
HC_ENTRY(cuGraphNodeGetEnabled, (CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int *isEnabled),
         cudaGraphNodeGetEnabled(hGraphExec, hNode, isEnabled))

HC_ENTRY(cuGraphLaunch, (CUgraphExec hGraphExec, CUstream hStream), cudaGraphLaunch(hGraphExec, hStream))
HC_PER_THREAD(cuGraphLaunch, (CUgraphExec hGraphExec, CUstream hStream), hGraphExec, hStream)
HC_ENTRY(cuGraphUpload, (CUgraphExec hGraphExec, CUstream hStream), cudaGraphUpload(hGraphExec, hStream))
HC_PER_THREAD(cuGraphUpload, (CUgraphExec hGraphExec, CUstream hStream), hGraphExec, hStream)

/* The stream is among the parameters, so both variants are the same. */
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *phGraphExec, CUgraph hGraph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams);
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *phGraphExec, CUgraph hGraph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    if (!instantiateParams || instantiateParams->hUploadStream)
        return cuGraphInstantiateWithParams(phGraphExec, hGraph, instantiateParams);
    instantiateParams->hUploadStream = CU_STREAM_PER_THREAD;
    CUresult result = cuGraphInstantiateWithParams(phGraphExec, hGraph, instantiateParams);
    instantiateParams->hUploadStream = NULL;
    return result;
}

/* ---- user objects ------------------------------------------------------------------------------------------------ */

HC_ENTRY(cuUserObjectCreate,
         (CUuserObject * object_out, void *ptr, CUhostFn destroy, unsigned int initialRefcount, unsigned int flags),
         cudaUserObjectCreate(object_out, ptr, destroy, initialRefcount, flags))
HC_ENTRY(cuUserObjectRetain, (CUuserObject object, unsigned int count), cudaUserObjectRetain(object, count))
HC_ENTRY(cuUserObjectRelease, (CUuserObject object, unsigned int count), cudaUserObjectRelease(object, count))
HC_ENTRY(cuGraphRetainUserObject, (CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags),
         cudaGraphRetainUserObject(graph, object, count, flags))
HC_ENTRY(cuGraphReleaseUserObject, (CUgraph graph, CUuserObject object, unsigned int count),
         cudaGraphReleaseUserObject(graph, object, count))
