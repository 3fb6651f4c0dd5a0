/* Launches of kernels and host functions. */
#include "hostcuda/call/call.h"
#include "hostcuda/call/translate.h"
#include "hostcuda/op/ops.h"
#include "hostcuda/stream/capture.h"
#include "hostcuda/stream/submit.h"

#include <stdio.h>

cudaError_t cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                             cudaStream_t stream)
{
    CUfunction function;
    HC_THROUGH_IF((function = hc_driver_function(func)) && sharedMem <= UINT32_MAX, cuLaunchKernel, function, gridDim.x,
                  gridDim.y, gridDim.z, blockDim.x, blockDim.y, blockDim.z, (unsigned)sharedMem, stream, args, NULL);
    const struct cudaKernelNodeParams params = {(void *)(uintptr_t)func, gridDim, blockDim,
                                                (unsigned)sharedMem,     args,    NULL};
    HC_CALL(sharedMem > UINT32_MAX ? cudaErrorInvalidValue : hc_launch(&params, stream));
}

/* Attributes that change nothing of the result are taken; others fail loudly. */
static cudaError_t check_attributes(const cudaLaunchConfig_t *config)
{
    if (config->numAttrs && !config->attrs)
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        switch (config->attrs[i].id) {
        case cudaLaunchAttributeIgnore:
        case cudaLaunchAttributePriority:
        case cudaLaunchAttributeAccessPolicyWindow:
        case cudaLaunchAttributeProgrammaticStreamSerialization: continue;
        default:
            fprintf(stderr, "hostcuda: launch attribute %d is not implemented\n", (int)config->attrs[i].id);
            return cudaErrorNotSupported;
        }
    }
    return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
    CUlaunchConfig launch;
    CUfunction function;
    HC_THROUGH_IF((function = hc_driver_function(func)) && hc_driver_config(config, &launch), cuLaunchKernelEx, &launch,
                  function, args, NULL);
    cudaError_t error = hc_begin();
    if (!error && (!config || config->dynamicSmemBytes > UINT32_MAX))
        error = cudaErrorInvalidValue;
    if (!error)
        error = check_attributes(config);
    if (!error) {
        const struct cudaKernelNodeParams params = {
            (void *)(uintptr_t)func, config->gridDim, config->blockDim, (unsigned)config->dynamicSmemBytes, args, NULL};
        error = hc_launch(&params, config->stream);
    }
    return hc_end(error);
}

static cudaError_t launch_host(cudaStream_t handle, cudaHostFn_t function, void *user)
{
    cudaStream_t stream = NULL;
    if (!function)
        return cudaErrorInvalidValue;
    cudaError_t error = hc_stream_for_work(handle, &stream);
    if (error)
        return error;
    struct hc_op *op = hc_op_host(function, user);
    return op ? hc_stream_submit(stream, op) : cudaErrorMemoryAllocation;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
    HC_THROUGH(cuLaunchHostFunc, stream, fn, userData);
    HC_CALL(launch_host(stream, fn, userData));
}

/* Not for captures: cudaLaunchHostFunc is. */
static cudaError_t add_callback(cudaStream_t handle, cudaStreamCallback_t callback, void *user, unsigned flags)
{
    cudaStream_t stream = NULL;
    if (!callback || flags)
        return cudaErrorInvalidValue;
    cudaError_t error = hc_stream_for_work(handle, &stream);
    if (error)
        return error;
    if (stream->capture) {
        hc_capture_invalidate(stream->capture);
        return cudaErrorStreamCaptureUnsupported;
    }
    struct hc_op *op = hc_op_callback(callback, handle, user);
    return op ? hc_stream_submit(stream, op) : cudaErrorMemoryAllocation;
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *userData,
                                  unsigned int flags)
{
    HC_THROUGH(cuStreamAddCallback, stream, (CUstreamCallback)(void (*)(void))callback, userData, flags);
    HC_CALL(add_callback(stream, callback, userData, flags));
}
