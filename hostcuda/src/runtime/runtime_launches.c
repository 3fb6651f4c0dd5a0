/* Launches of kernels and host functions. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/call/driver_translation.h"
#include "hostcuda/src/op/op_kinds.h"
#include "hostcuda/src/stream/stream_capture.h"
#include "hostcuda/src/stream/submit.h"

#include <stdio.h>

/* Only 32 bits of the shared memory size count (measured). */
cudaError_t cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                             cudaStream_t stream)
{
    CUfunction function;
    HC_THROUGH_DRIVER_IF((function = hc_function_to_driver(func)), cuLaunchKernel, function, gridDim.x, gridDim.y,
                         gridDim.z, blockDim.x, blockDim.y, blockDim.z, (unsigned)sharedMem, stream, args, NULL);
    const struct cudaKernelNodeParams params = {(void *)(uintptr_t)func, gridDim, blockDim,
                                                (unsigned)sharedMem,     args,    NULL};
    HC_CALL(hc_stream_launch(&params, NULL, stream));
}

/* Accepts attributes that do not change the result; others return an error. */
static cudaError_t read_attribute(const cudaLaunchAttribute *attribute, struct hc_cooperation *cooperation)
{
    switch ((int)attribute->id) { /* older headers lack some */
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeProgrammaticStreamSerialization: return cudaSuccess;
    case cudaLaunchAttributeCooperative: cooperation->all = attribute->val.cooperative; return cudaSuccess;
    case cudaLaunchAttributeClusterDimension:
        cooperation->clusters = true;
        cooperation->cluster.x = attribute->val.clusterDim.x;
        cooperation->cluster.y = attribute->val.clusterDim.y;
        cooperation->cluster.z = attribute->val.clusterDim.z;
        return cudaSuccess;
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributeProgrammaticEvent:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributeMemSyncDomain:
    case cudaLaunchAttributePreferredClusterDimension:
    case cudaLaunchAttributeLaunchCompletionEvent:
    case cudaLaunchAttributeDeviceUpdatableKernelNode:
    case cudaLaunchAttributePreferredSharedMemoryCarveout:
    case cudaLaunchAttributeNvlinkUtilCentricScheduling:
        fprintf(stderr, "hostcuda: launch attribute %d is not implemented\n", (int)attribute->id);
        return cudaErrorNotSupported;
    default: return cudaErrorInvalidValue; /* there is no such attribute, or it is one for streams */
    }
}

static cudaError_t launch_config(const cudaLaunchConfig_t *config, const void *function, void **arguments)
{
    struct hc_cooperation cooperation = {0};
    if (!config || (config->numAttrs && !config->attrs))
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        cudaError_t error = read_attribute(&config->attrs[i], &cooperation);
        if (error)
            return error;
    }
    const struct cudaKernelNodeParams params = {(void *)(uintptr_t)function,        config->gridDim, config->blockDim,
                                                (unsigned)config->dynamicSmemBytes, arguments,       NULL};
    return hc_stream_launch(&params, &cooperation, config->stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
    CUlaunchConfig launch;
    CUfunction function;
    HC_THROUGH_DRIVER_IF((function = hc_function_to_driver(func)) && hc_launch_config_to_driver(config, &launch),
                         cuLaunchKernelEx, &launch, function, args, NULL);
    HC_CALL(launch_config(config, func, args));
}

static cudaError_t launch_host(cudaStream_t handle, cudaHostFn_t function, void *user)
{
    cudaStream_t stream = NULL;
    if (!function)
        return cudaErrorInvalidValue;
    cudaError_t error = hc_stream_for_work(handle, &stream);
    if (error)
        return error;
    struct hc_op *op = hc_op_make_host(function, user);
    return op ? hc_stream_submit(stream, op) : cudaErrorMemoryAllocation;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
    HC_THROUGH_DRIVER(cuLaunchHostFunc, stream, fn, userData);
    HC_CALL(launch_host(stream, fn, userData));
}

/* Captures refuse a callback, but allow cudaLaunchHostFunc. */
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
    struct hc_op *op = hc_op_make_callback(callback, handle, user);
    return op ? hc_stream_submit(stream, op) : cudaErrorMemoryAllocation;
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *userData,
                                  unsigned int flags)
{
    HC_THROUGH_DRIVER(cuStreamAddCallback, stream, (CUstreamCallback)(void (*)(void))callback, userData, flags);
    HC_CALL(add_callback(stream, callback, userData, flags));
}
