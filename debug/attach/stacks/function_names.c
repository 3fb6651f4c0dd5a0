/* Maps a driver function to the API function that the program called. */
#include "function_names.h"

#include <stdio.h>
#include <string.h>

bool bg__function_has_name(const char *function, const char *name)
{
    size_t bytes = strlen(name);
    return strncmp(function, name, bytes) == 0 && (function[bytes] == '\0' || function[bytes] == '_');
}

const char *bg__function_runtime_name(const char *function)
{
    static const char *const names[][2] = {
        {"cuMemAlloc", "cudaMalloc"},
        {"cuMemAllocPitch", "cudaMallocPitch"},
        {"cuMemAllocManaged", "cudaMallocManaged"},
        {"cuMemAllocHost", "cudaMallocHost"},
        {"cuMemHostAlloc", "cudaHostAlloc"},
        {"cuMemAllocAsync", "cudaMallocAsync"},
        {"cuMemAllocFromPoolAsync", "cudaMallocFromPoolAsync"},
        {"cuMemFree", "cudaFree"},
        {"cuMemFreeHost", "cudaFreeHost"},
        {"cuMemFreeAsync", "cudaFreeAsync"},
        {"cuMemcpyHtoD", "cudaMemcpy"},
        {"cuMemcpyDtoH", "cudaMemcpy"},
        {"cuMemcpyDtoD", "cudaMemcpy"},
        {"cuMemcpy", "cudaMemcpy"},
        {"cuMemcpyHtoDAsync", "cudaMemcpyAsync"},
        {"cuMemcpyDtoHAsync", "cudaMemcpyAsync"},
        {"cuMemcpyDtoDAsync", "cudaMemcpyAsync"},
        {"cuMemcpyAsync", "cudaMemcpyAsync"},
        {"cuMemcpy2D", "cudaMemcpy2D"},
        {"cuMemcpy2DUnaligned", "cudaMemcpy2D"},
        {"cuMemcpy2DAsync", "cudaMemcpy2DAsync"},
        {"cuMemcpy3D", "cudaMemcpy3D"},
        {"cuMemcpy3DAsync", "cudaMemcpy3DAsync"},
        {"cuMemsetD8", "cudaMemset"},
        {"cuMemsetD8Async", "cudaMemsetAsync"},
        {"cuCtxSynchronize", "cudaDeviceSynchronize"},
        {"cuStreamSynchronize", "cudaStreamSynchronize"},
        {"cuStreamQuery", "cudaStreamQuery"},
        {"cuStreamWaitEvent", "cudaStreamWaitEvent"},
        {"cuStreamGetId", "cudaStreamGetId"},
        {"cuStreamGetFlags", "cudaStreamGetFlags"},
        {"cuStreamGetDevice", "cudaStreamGetDevice"},
        {"cuStreamAddCallback", "cudaStreamAddCallback"},
        {"cuStreamBeginCapture", "cudaStreamBeginCapture"},
        {"cuStreamEndCapture", "cudaStreamEndCapture"},
        {"cuEventQuery", "cudaEventQuery"},
        {"cuEventRecord", "cudaEventRecord"},
        {"cuEventSynchronize", "cudaEventSynchronize"},
        {"cuLaunchKernel", "cudaLaunchKernel"},
        {"cuLaunchKernelEx", "cudaLaunchKernelExC"},
        {"cuLaunchCooperativeKernel", "cudaLaunchCooperativeKernel"},
        {"cuLaunchHostFunc", "cudaLaunchHostFunc"},
        {"cuGraphLaunch", "cudaGraphLaunch"},
        {"cuGraphInstantiate", "cudaGraphInstantiate"},
        {"cuGraphInstantiateWithFlags", "cudaGraphInstantiate"},
        {"cuGraphInstantiateWithParams", "cudaGraphInstantiateWithParams"},
        {"cuGraphExecDestroy", "cudaGraphExecDestroy"},
        {"cuGraphAddNode", "cudaGraphAddNode"},
        {"cuGraphAddKernelNode", "cudaGraphAddKernelNode"},
        {"cuGraphAddMemcpyNode", "cudaGraphAddMemcpyNode"},
        {"cuGraphAddMemsetNode", "cudaGraphAddMemsetNode"},
        {"cuGraphAddHostNode", "cudaGraphAddHostNode"},
        {"cuGraphAddChildGraphNode", "cudaGraphAddChildGraphNode"},
        {"cuGraphAddEmptyNode", "cudaGraphAddEmptyNode"},
        {"cuGraphAddEventRecordNode", "cudaGraphAddEventRecordNode"},
        {"cuGraphAddEventWaitNode", "cudaGraphAddEventWaitNode"},
        {"cuGraphAddMemAllocNode", "cudaGraphAddMemAllocNode"},
        {"cuGraphAddMemFreeNode", "cudaGraphAddMemFreeNode"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (bg__function_has_name(function, names[i][0]))
            return names[i][1];
    return NULL;
}

const char *bg__function_api_name(const char *function, const bg__stack *from, char *text, size_t bytes)
{
    const char *runtime = bg__stack_is_from_runtime(from) ? bg__function_runtime_name(function) : NULL;
    if (runtime != NULL)
        return runtime;
    snprintf(text, bytes, "%.*s", (int)strcspn(function, "_"), function);
    return text;
}
