#include "hostcuda/src/stream/submit.h"

#include "hostcuda/src/op/params.h"
#include "hostcuda/src/stream/stream_capture.h"
#include "hostcuda/src/stream/queue.h"

cudaError_t hc_stream_for_work(cudaStream_t handle, cudaStream_t *stream)
{
    cudaError_t error = hc_stream_from_handle(handle, stream);
    return error ? error : hc_capture_check_work(*stream);
}

cudaError_t hc_stream_submit(cudaStream_t stream, struct hc_op *op)
{
    return stream->capture ? hc_capture_add_op(stream, op) : hc_queue_op(stream, op);
}

static cudaError_t make_launch(const struct cudaKernelNodeParams *params, const struct hc_cooperation *cooperation,
                               struct hc_op **op)
{
    cudaError_t error = hc_op_from_kernel_params(params, op);
    if (error || !cooperation)
        return error;
    error = hc_cooperation_check(cooperation, (*op)->launch.kernel, params->gridDim, params->blockDim,
                                 params->sharedMemBytes);
    if (error)
        hc_op_release(*op);
    return error;
}

cudaError_t hc_stream_launch(const struct cudaKernelNodeParams *params, const struct hc_cooperation *cooperation,
                             cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    struct hc_op *op = NULL;
    cudaError_t error = hc_stream_for_work(handle, &stream);
    if (error)
        return error;
    if (stream->device != hc_thread()->device)
        return cudaErrorInvalidResourceHandle;
    error = hc_check_packed_params(params);
    if (error)
        return stream->capture ? cudaErrorInvalidValue : error; /* and the capture stays valid (measured) */
    error = make_launch(params, cooperation, &op);
    /* an invalid launch invalidates the capture; a launch of an unknown kernel does not (measured) */
    if (error && hc_kernel_find(params->func))
        hc_capture_invalidate(stream->capture);
    return error ? error : hc_stream_submit(stream, op);
}

void hc_stream_destroy(cudaStream_t stream)
{
    hc_capture_stream_destroyed(stream);
    hc_stream_free_when_done(stream);
}
