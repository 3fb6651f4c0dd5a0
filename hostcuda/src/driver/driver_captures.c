/* Queries of a capture. */
#include "hostcuda/src/driver/driver_calls.h"
#include "hostcuda/src/stream/stream_capture.h"

/* The statuses have the same numbers as the runtime's. */
CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
                                CUgraph *graph_out, const CUgraphNode **dependencies_out,
                                const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out)
{
    enum cudaStreamCaptureStatus status;
    unsigned long long id = 0;
    const struct hc_capture_info asked = {&status, &id, graph_out, dependencies_out, numDependencies_out};
    cudaError_t error = hc_driver_begin();
    if (!error)
        error = captureStatus_out ? hc_capture_get_info(hStream, &asked) : cudaErrorInvalidValue;
    if (!error)
        *captureStatus_out = (CUstreamCaptureStatus)status;
    if (!error && status == cudaStreamCaptureStatusActive && id_out)
        *id_out = id;
    if (!error && status == cudaStreamCaptureStatusActive && edgeData_out)
        *edgeData_out = NULL;
    return hc_driver_end(error);
}
