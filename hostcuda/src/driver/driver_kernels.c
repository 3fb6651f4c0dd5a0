/* Driver functions for kernels and kernel nodes. */
#include "hostcuda/src/driver/driver_calls.h"
#include "hostcuda/src/exec/exec.h"
#include "hostcuda/src/graph/graph_edges.h"
#include "hostcuda/src/graph/graph_object.h"
#include "hostcuda/src/kernel/attributes.h"
#include "hostcuda/src/op/op_kinds.h"
#include "hostcuda/src/op/params.h"
#include "hostcuda/src/stream/submit.h"

#include <stdio.h>

/* ---- functions and kernels ------------------------------------------------------------------------------------- */

static cudaError_t get_kernel_name(struct hc_kernel *kernel, const char **name)
{
    if (!name)
        return cudaErrorInvalidValue;
    if (!kernel)
        return cudaErrorInvalidResourceHandle;
    *name = hc_kernel_name(kernel);
    return cudaSuccess;
}

CUresult cuFuncGetName(const char **name, CUfunction hfunc)
{
    HC_DRIVER_CALL(get_kernel_name(hc_kernel_from_cufunction(hfunc), name));
}

CUresult cuKernelGetName(const char **name, CUkernel hfunc)
{
    HC_DRIVER_CALL(get_kernel_name(hc_kernel_from_cukernel(hfunc), name));
}

/* NULL gives another error than a wrong handle (measured). */
static cudaError_t get_parameter(struct hc_kernel *kernel, const void *handle, size_t index, size_t *offset,
                                 size_t *bytes)
{
    if (kernel)
        return hc_kernel_get_parameter(kernel, index, offset, bytes);
    return handle ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    HC_DRIVER_CALL(get_parameter(hc_kernel_from_cufunction(func), func, paramIndex, paramOffset, paramSize));
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    HC_DRIVER_CALL(get_parameter(hc_kernel_from_cukernel(kernel), kernel, paramIndex, paramOffset, paramSize));
}

CUresult cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    cudaError_t error = hc_driver_begin();
    struct hc_kernel *found = hc_kernel_from_cukernel(kernel);
    if (!error && !pFunc)
        error = cudaErrorInvalidValue;
    if (!error && !found)
        error = cudaErrorInvalidResourceHandle;
    if (!error)
        *pFunc = (CUfunction)(void *)&found->function_handle;
    return hc_driver_end(error);
}

static cudaError_t get_function_attribute(int *value, CUfunction_attribute attribute, const struct hc_kernel *kernel)
{
    struct cudaFuncAttributes all;
    if (!value || (unsigned)attribute >= CU_FUNC_ATTRIBUTE_MAX)
        return cudaErrorInvalidValue;
    if (!kernel)
        return cudaErrorInvalidResourceHandle;
    hc_kernel_get_attributes(kernel, &all);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = all.maxThreadsPerBlock; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = all.numRegs; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = all.ptxVersion; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = all.binaryVersion; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = all.maxDynamicSharedSizeBytes; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = all.preferredShmemCarveout; break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = all.nonPortableClusterSizeAllowed; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = all.clusterSchedulingPolicyPreference; break;
    default: *value = 0; /* a CPU's kernels do not have these: constants, clusters */
    }
    return cudaSuccess;
}

CUresult cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    HC_DRIVER_CALL(get_function_attribute(pi, attrib, hc_kernel_from_cufunction(hfunc)));
}

/* Attributes that can be set have the same numbers in the runtime and in the driver. */
static cudaError_t set_function_attribute(struct hc_kernel *kernel, CUfunction_attribute attribute, int value)
{
    return kernel ? hc_kernel_set_attribute(kernel, (enum cudaFuncAttribute)attribute, value)
                  : cudaErrorInvalidResourceHandle;
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    HC_DRIVER_CALL(set_function_attribute(hc_kernel_from_cufunction(hfunc), attrib, value));
}

/* ---- occupancy -------------------------------------------------------------------------------------------------- */

/* Returns the function that the program passes to the runtime. NULL: there is none. */
static const void *runtime_function_of(CUfunction handle)
{
    hc_lock();
    const struct hc_kernel *kernel = hc_kernel_from_cufunction(handle);
    hc_unlock();
    return kernel ? kernel->function : NULL;
}

static cudaError_t count_blocks(int *blocks, CUfunction handle, int threads, size_t bytes, unsigned flags)
{
    const void *function = runtime_function_of(handle);
    if (!function)
        return cudaErrorInvalidResourceHandle;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, bytes, flags);
}
HC_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor,
         (int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize),
         count_blocks(numBlocks, func, blockSize, dynamicSMemSize, CU_OCCUPANCY_DEFAULT))
HC_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
         (int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags),
         count_blocks(numBlocks, func, blockSize, dynamicSMemSize, flags))

static cudaError_t available_shared_bytes(size_t *bytes, CUfunction handle, int blocks, int threads)
{
    const void *function = runtime_function_of(handle);
    return function ? cudaOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads)
                    : cudaErrorInvalidResourceHandle;
}
HC_ENTRY(cuOccupancyAvailableDynamicSMemPerBlock,
         (size_t * dynamicSmemSize, CUfunction func, int numBlocks, int blockSize),
         available_shared_bytes(dynamicSmemSize, func, numBlocks, blockSize))

/* ---- launches -------------------------------------------------------------------------------------------------- */

/* A launch accepts a CUkernel in place of a CUfunction; a node does not (measured). */
static const struct hc_kernel *find_launched_kernel(const void *handle)
{
    const struct hc_kernel *kernel = hc_kernel_from_cufunction(handle);
    return kernel ? kernel : hc_kernel_from_cukernel(handle);
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                        unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                        unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra)
{
    cudaError_t error = hc_driver_begin();
    const struct hc_kernel *kernel = find_launched_kernel(f);
    if (!error && !kernel)
        error = cudaErrorInvalidResourceHandle;
    if (!error) {
        const struct cudaKernelNodeParams params = {
            .func = (void *)(uintptr_t)kernel->function,
            .gridDim = {gridDimX, gridDimY, gridDimZ},
            .blockDim = {blockDimX, blockDimY, blockDimZ},
            .sharedMemBytes = sharedMemBytes,
            .kernelParams = kernelParams,
            .extra = extra,
        };
        error = hc_stream_launch(&params, NULL, hStream);
    }
    return hc_driver_end(error);
}

HC_PER_THREAD(cuLaunchKernel,
              (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
               unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes,
               CUstream hStream, void **kernelParams, void **extra),
              f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, kernelParams,
              extra)

static cudaError_t launch_config(const CUlaunchConfig *c, CUfunction function, void **parameters, void **extra)
{
    if (!c)
        return cudaErrorInvalidValue;
    hc_lock();
    const struct hc_kernel *kernel = find_launched_kernel(function);
    hc_unlock();
    if (!kernel)
        return cudaErrorInvalidResourceHandle;
    if (extra) {
        fprintf(stderr, "hostcuda: cuLaunchKernelEx with parameters as one buffer is not implemented\n");
        return cudaErrorNotSupported;
    }
    const cudaLaunchConfig_t config = {
        .gridDim = {c->gridDimX, c->gridDimY, c->gridDimZ},
        .blockDim = {c->blockDimX, c->blockDimY, c->blockDimZ},
        .dynamicSmemBytes = c->sharedMemBytes,
        .stream = c->hStream,
        .attrs = HC_SAME_AS(cudaLaunchAttribute *, c->attrs),
        .numAttrs = c->numAttrs,
    };
    return cudaLaunchKernelExC(&config, kernel->function, parameters);
}
HC_ENTRY(cuLaunchKernelEx, (const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra),
         launch_config(config, f, kernelParams, extra))

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra);
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra)
{
    if (!config || config->hStream)
        return cuLaunchKernelEx(config, f, kernelParams, extra);
    CUlaunchConfig own = *config;
    own.hStream = CU_STREAM_PER_THREAD;
    return cuLaunchKernelEx(&own, f, kernelParams, extra);
}

/* ---- kernel nodes ---------------------------------------------------------------------------------------------- */

/* CUDA returns a library's kernel only as a CUkernel. It returns a kernel of the program as a CUfunction and as a
 * CUkernel (measured). */
static void get_kernel_params(const struct hc_op *op, CUDA_KERNEL_NODE_PARAMS *params)
{
    struct hc_kernel *kernel = op->launch.kernel;
    *params = (CUDA_KERNEL_NODE_PARAMS){
        .func = kernel->native ? NULL : (CUfunction)(void *)&kernel->function_handle,
        .kern = (CUkernel)(void *)kernel,
        .gridDimX = op->launch.grid.x,
        .gridDimY = op->launch.grid.y,
        .gridDimZ = op->launch.grid.z,
        .blockDimX = op->launch.block.x,
        .blockDimY = op->launch.block.y,
        .blockDimZ = op->launch.block.z,
        .sharedMemBytes = (unsigned)op->launch.shared_bytes,
        .kernelParams = op->launch.packed ? NULL : op->launch.arguments,
        .extra = op->launch.packed ? (void **)(uintptr_t)op->launch.extra : NULL,
    };
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    cudaError_t error = hc_driver_begin();
    if (!error && (!hc_handle_is(HC_NODE, hNode) || hNode->op->kind != HC_OP_KERNEL || !nodeParams))
        error = cudaErrorInvalidValue;
    if (!error)
        get_kernel_params(hNode->op, nodeParams);
    return hc_driver_end(error);
}

static cudaError_t op_from_driver_params(const CUDA_KERNEL_NODE_PARAMS *params, struct hc_op **op)
{
    if (!params)
        return cudaErrorInvalidValue;
    const struct hc_kernel *kernel =
        params->func ? hc_kernel_from_cufunction(params->func) : hc_kernel_from_cukernel(params->kern);
    if (!kernel)
        return cudaErrorInvalidResourceHandle;
    const struct cudaKernelNodeParams plain = {
        .func = (void *)(uintptr_t)kernel->function,
        .gridDim = {params->gridDimX, params->gridDimY, params->gridDimZ},
        .blockDim = {params->blockDimX, params->blockDimY, params->blockDimZ},
        .sharedMemBytes = params->sharedMemBytes,
        .kernelParams = params->kernelParams,
        .extra = params->extra,
    };
    return hc_op_from_kernel_params(&plain, op);
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct hc_op *op = NULL;
    cudaError_t error = hc_driver_begin();
    if (!error)
        error = op_from_driver_params(nodeParams, &op);
    if (!error)
        error = hc_node_replace_op(hNode, op);
    return hc_driver_end(error);
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct hc_op *op = NULL;
    cudaError_t error = hc_driver_begin();
    if (!error)
        error = op_from_driver_params(nodeParams, &op);
    if (!error)
        error = hc_exec_set_node(hGraphExec, hNode, op);
    return hc_driver_end(error);
}

CUresult cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                              size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct hc_op *op = NULL;
    cudaError_t error = hc_driver_begin();
    if (!error)
        error = hc_graph_check_add(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
    if (!error)
        error = op_from_driver_params(nodeParams, &op);
    if (!error)
        error = hc_graph_add_node(phGraphNode, hGraph, dependencies, numDependencies, op);
    return hc_driver_end(error);
}

HC_ENTRY(cuGraphKernelNodeCopyAttributes, (CUgraphNode dst, CUgraphNode src),
         cudaGraphKernelNodeCopyAttributes(dst, src))
HC_ENTRY(cuGraphKernelNodeSetAttribute,
         (CUgraphNode hNode, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue *value),
         cudaGraphKernelNodeSetAttribute(hNode, (cudaLaunchAttributeID)attr,
                                         HC_SAME_AS(const cudaLaunchAttributeValue *, value)))
HC_ENTRY(cuGraphKernelNodeGetAttribute, (CUgraphNode hNode, CUkernelNodeAttrID attr, CUkernelNodeAttrValue *value_out),
         cudaGraphKernelNodeGetAttribute(hNode, (cudaLaunchAttributeID)attr,
                                         HC_SAME_AS(cudaLaunchAttributeValue *, value_out)))

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
    cudaError_t error = hc_driver_begin();
    if (!error && (!hc_handle_is(HC_NODE, hNode) || !type))
        error = cudaErrorInvalidValue;
    if (!error)
        *type = (CUgraphNodeType)hc_node_type(hNode->op->kind); /* the same numbers as the runtime's */
    return hc_driver_end(error);
}
