/* Calls for stream capture. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/graph/graph_edges.h"
#include "hostcuda/src/stream/stream_capture.h"

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    HC_THROUGH_DRIVER(cuStreamEndCapture, stream, pGraph);
    HC_CALL(hc_capture_end(stream, pGraph));
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    HC_THROUGH_DRIVER(cuStreamBeginCapture, stream, (CUstreamCaptureMode)mode);
    HC_CALL(hc_capture_begin(stream, mode));
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                          const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                                          enum cudaStreamCaptureMode mode)
{
    HC_THROUGH_DRIVER(cuStreamBeginCaptureToGraph, stream, graph, dependencies,
                      HC_SAME_AS(const CUgraphEdgeData *, dependencyData), numDependencies, (CUstreamCaptureMode)mode);
    HC_CHECKED_CALL(hc_graph_check_edges(dependencyData, numDependencies),
                    hc_capture_begin_to_graph(stream, mode, graph, dependencies, numDependencies));
}

/* CUDA accepts any mode, and crashes on NULL (measured). A mode that does not exist protects as thread-local does. */
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    HC_THROUGH_DRIVER(cuThreadExchangeStreamCaptureMode, HC_SAME_AS(CUstreamCaptureMode *, mode));
    cudaError_t error = hc_call_begin();
    if (!error && !mode)
        error = cudaErrorInvalidValue;
    if (!error) {
        struct hc_thread *thread = hc_thread();
        enum cudaStreamCaptureMode old = thread->mode;
        thread->mode = *mode;
        *mode = old;
    }
    return hc_call_end(error);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus)
{
    HC_THROUGH_DRIVER(cuStreamIsCapturing, stream, HC_SAME_AS(CUstreamCaptureStatus *, pCaptureStatus));
    cudaStream_t found = NULL;
    HC_CALL(hc_capture_status(stream, &found, pCaptureStatus));
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
                                     unsigned long long *id_out, cudaGraph_t *graph_out,
                                     const cudaGraphNode_t **dependencies_out, const cudaGraphEdgeData **edgeData_out,
                                     size_t *numDependencies_out)
{
    HC_THROUGH_DRIVER(cuStreamGetCaptureInfo, stream, HC_SAME_AS(CUstreamCaptureStatus *, captureStatus_out),
                      HC_SAME_AS(cuuint64_t *, id_out), graph_out, dependencies_out,
                      HC_SAME_AS(const CUgraphEdgeData **, edgeData_out), numDependencies_out);
    cudaError_t error = hc_call_begin();
    if (!error)
        error = hc_capture_get_info(stream, &(struct hc_capture_info){captureStatus_out, id_out, graph_out,
                                                                      dependencies_out, numDependencies_out});
    if (!error && edgeData_out && *captureStatus_out == cudaStreamCaptureStatusActive)
        *edgeData_out = NULL; /* no edge carries data */
    return hc_call_end(error);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                                                unsigned int flags)
{
    HC_THROUGH_DRIVER(cuStreamUpdateCaptureDependencies, stream, dependencies,
                      HC_SAME_AS(const CUgraphEdgeData *, dependencyData), numDependencies, flags);
    HC_CHECKED_CALL(hc_graph_check_edges(dependencyData, numDependencies),
                    hc_capture_update_dependencies(stream, dependencies, numDependencies, flags));
}
