/* Executable graphs: instantiation, launch, destruction. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/exec/exec.h"
#include "hostcuda/src/stream/stream_capture.h"
#include "hostcuda/src/stream/submit.h"

/* There is nothing to upload; only a launch's checks are made. */
static cudaError_t check_upload(cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    cudaError_t error = hc_stream_for_work(handle, &stream);
    if (error || !stream->capture)
        return error;
    hc_capture_invalidate(stream->capture);
    return cudaErrorStreamCaptureUnsupported;
}

static cudaError_t instantiate_graph(cudaGraphExec_t *result, cudaGraph_t graph, unsigned long long flags,
                                     bool may_upload)
{
    const unsigned long long allowed = cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                       cudaGraphInstantiateFlagUseNodePriority |
                                       (may_upload ? (unsigned long long)cudaGraphInstantiateFlagUpload : 0);
    if (!result || flags & ~allowed)
        return cudaErrorInvalidValue;
    cudaError_t error = hc_capture_check_unsafe_call();
    if (error)
        return error;
    if (!hc_graph_is_handle(graph) || graph->capturing)
        return cudaErrorInvalidValue;
    if (graph->has_memory && graph->instantiated)
        return cudaErrorNotSupported;
    return hc_exec_make(result, graph, flags);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
    HC_THROUGH_DRIVER(cuGraphInstantiateWithFlags, pGraphExec, graph, flags);
    HC_CALL(instantiate_graph(pGraphExec, graph, flags, false));
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
    HC_THROUGH_DRIVER(cuGraphInstantiateWithFlags, pGraphExec, graph, flags);
    HC_CALL(instantiate_graph(pGraphExec, graph, flags, false));
}

/* The upload only checks its stream. */
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams *instantiateParams)
{
    HC_THROUGH_DRIVER(cuGraphInstantiateWithParams, pGraphExec, graph,
                      HC_SAME_AS(CUDA_GRAPH_INSTANTIATE_PARAMS *, instantiateParams));
    cudaError_t error = hc_call_begin();
    if (error || !instantiateParams)
        return hc_call_end(error ? error : cudaErrorInvalidValue);
    instantiateParams->errNode_out = NULL;
    error = instantiate_graph(pGraphExec, graph, instantiateParams->flags, true);
    if (!error && instantiateParams->flags & cudaGraphInstantiateFlagUpload)
        error = check_upload(instantiateParams->uploadStream);
    instantiateParams->result_out = error ? cudaGraphInstantiateError : cudaGraphInstantiateSuccess;
    cudaGraphNode_t circular =
        error == cudaErrorInvalidValue && hc_graph_is_handle(graph) ? hc_graph_find_cycle(graph) : NULL;
    if (circular) {
        instantiateParams->result_out = cudaGraphInstantiateInvalidStructure;
        instantiateParams->errNode_out = circular;
    }
    return hc_call_end(error);
}

/* Only this flag is returned (measured with the flag for node priorities). */
cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags)
{
    HC_THROUGH_DRIVER(cuGraphExecGetFlags, graphExec, HC_SAME_AS(cuuint64_t *, flags));
    cudaError_t error = hc_call_begin();
    if (!error && (!hc_handle_is(HC_EXEC, graphExec) || !flags))
        error = cudaErrorInvalidValue;
    if (!error)
        *flags = graphExec->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch;
    return hc_call_end(error);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
    HC_THROUGH_DRIVER(cuGraphExecDestroy, graphExec);
    cudaError_t error = hc_call_begin_despite_errors();
    if (!error)
        error = hc_capture_check_unsafe_call();
    if (!error && !hc_handle_is(HC_EXEC, graphExec))
        error = cudaErrorInvalidValue;
    if (!error)
        hc_exec_destroy(graphExec);
    return hc_call_end(error);
}

static cudaError_t launch_exec(cudaGraphExec_t exec, cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    if (!hc_handle_is(HC_EXEC, exec))
        return cudaErrorInvalidValue;
    cudaError_t error = hc_stream_for_work(handle, &stream);
    if (error)
        return error;
    if (stream->capture) {
        hc_capture_invalidate(stream->capture);
        return cudaErrorStreamCaptureUnsupported;
    }
    return hc_exec_launch(exec, stream);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    HC_THROUGH_DRIVER(cuGraphLaunch, graphExec, stream);
    HC_CALL(launch_exec(graphExec, stream));
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    HC_THROUGH_DRIVER(cuGraphUpload, graphExec, stream);
    HC_CALL(hc_handle_is(HC_EXEC, graphExec) ? check_upload(stream) : cudaErrorInvalidValue);
}
