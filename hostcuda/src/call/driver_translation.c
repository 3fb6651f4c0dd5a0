#include "hostcuda/src/call/driver_translation.h"

#include "hostcuda/src/kernel/kernel_table.h"

#include <string.h>

#define ADDRESS(pointer) ((CUdeviceptr)(uintptr_t)(pointer))
#define POINTER(address) ((void *)(uintptr_t)(address))

/* ---- kernels and contexts ---------------------------------------------------------------------------------------- */

CUfunction hc_function_to_driver(const void *function)
{
    hc_lock();
    struct hc_kernel *kernel = hc_kernel_find(function);
    hc_unlock();
    return kernel ? (CUfunction)(void *)&kernel->function_handle : NULL;
}

static const void *function_of(CUfunction function, CUkernel handle)
{
    hc_lock();
    const struct hc_kernel *kernel = function ? hc_kernel_from_cufunction(function) : hc_kernel_from_cukernel(handle);
    hc_unlock();
    return kernel ? kernel->function : NULL;
}

/* The address only has to be different for each device. */
CUcontext hc_context_of_device(int device)
{
    return (CUcontext)(void *)hc_device(device);
}

CUcontext hc_context_of_thread(void)
{
    return hc_context_of_device(hc_thread()->device);
}

int hc_device_of_context(CUcontext context)
{
    for (int device = 0; device < hc_device_count(); device++)
        if (hc_context_of_device(device) == context)
            return device;
    return -1;
}

bool hc_kernel_params_to_driver(const struct cudaKernelNodeParams *params, CUDA_KERNEL_NODE_PARAMS *kernel)
{
    CUfunction function = params ? hc_function_to_driver(params->func) : NULL;
    if (!function)
        return false;
    *kernel = (CUDA_KERNEL_NODE_PARAMS){
        .func = function,
        .gridDimX = params->gridDim.x,
        .gridDimY = params->gridDim.y,
        .gridDimZ = params->gridDim.z,
        .blockDimX = params->blockDim.x,
        .blockDimY = params->blockDim.y,
        .blockDimZ = params->blockDim.z,
        .sharedMemBytes = params->sharedMemBytes,
        .kernelParams = params->kernelParams,
        .extra = params->extra,
    };
    return true;
}

void hc_kernel_params_to_runtime(const CUDA_KERNEL_NODE_PARAMS *kernel, struct cudaKernelNodeParams *params)
{
    *params = (struct cudaKernelNodeParams){
        .func = POINTER(function_of(kernel->func, kernel->kern)),
        .gridDim = {kernel->gridDimX, kernel->gridDimY, kernel->gridDimZ},
        .blockDim = {kernel->blockDimX, kernel->blockDimY, kernel->blockDimZ},
        .sharedMemBytes = kernel->sharedMemBytes,
        .kernelParams = kernel->kernelParams,
        .extra = kernel->extra,
    };
}

/* Attributes have the same layout and numbers in the runtime and in the driver. */
bool hc_launch_config_to_driver(const cudaLaunchConfig_t *config, CUlaunchConfig *launch)
{
    if (!config)
        return false;
    *launch = (CUlaunchConfig){
        .gridDimX = config->gridDim.x,
        .gridDimY = config->gridDim.y,
        .gridDimZ = config->gridDim.z,
        .blockDimX = config->blockDim.x,
        .blockDimY = config->blockDim.y,
        .blockDimZ = config->blockDim.z,
        .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
        .hStream = config->stream,
        .attrs = (CUlaunchAttribute *)(void *)config->attrs,
        .numAttrs = config->numAttrs,
    };
    return true;
}

/* ---- copies and fills -------------------------------------------------------------------------------------------- */

static const struct {
    CUmemorytype from, to;
} copy_kinds[] = {
    [cudaMemcpyHostToHost] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST},
    [cudaMemcpyHostToDevice] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE},
    [cudaMemcpyDeviceToHost] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST},
    [cudaMemcpyDeviceToDevice] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE},
    [cudaMemcpyDefault] = {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED},
};
enum { KINDS = sizeof copy_kinds / sizeof *copy_kinds };

static bool is_kind(enum cudaMemcpyKind kind)
{
    return (unsigned)kind < KINDS;
}

/* If one side is unified, the addresses determine its type. */
bool hc_copy_kind_to_runtime(CUmemorytype from, CUmemorytype to, enum cudaMemcpyKind *kind)
{
    *kind = cudaMemcpyDefault;
    for (unsigned i = 0; i < KINDS; i++)
        if (copy_kinds[i].from == from && copy_kinds[i].to == to)
            *kind = (enum cudaMemcpyKind)i;
    return from >= CU_MEMORYTYPE_HOST && to >= CU_MEMORYTYPE_HOST && from <= CU_MEMORYTYPE_UNIFIED &&
           to <= CU_MEMORYTYPE_UNIFIED && from != CU_MEMORYTYPE_ARRAY && to != CU_MEMORYTYPE_ARRAY;
}

bool hc_copy_2d_to_driver(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                          enum cudaMemcpyKind kind, CUDA_MEMCPY2D *copy)
{
    if (!is_kind(kind) || (height > 1 && (to_pitch < width || from_pitch < width)))
        return false; /* the driver accepts a pitch of 0, the runtime does not */
    *copy = (CUDA_MEMCPY2D){
        .srcMemoryType = copy_kinds[kind].from,
        .srcHost = from,
        .srcDevice = ADDRESS(from),
        .srcPitch = from_pitch,
        .dstMemoryType = copy_kinds[kind].to,
        .dstHost = to,
        .dstDevice = ADDRESS(to),
        .dstPitch = to_pitch,
        .WidthInBytes = width,
        .Height = height,
    };
    return true;
}

/* For the driver, a height of 0 means the height of the copy; the runtime does not accept it. */
static bool has_slice_heights(const struct cudaMemcpy3DParms *params)
{
    return params->extent.depth <= 1 || (params->srcPtr.ysize && params->dstPtr.ysize);
}

bool hc_copy_3d_to_driver(const struct cudaMemcpy3DParms *params, CUDA_MEMCPY3D *copy)
{
    if (!params || params->srcArray || params->dstArray || !is_kind(params->kind) || !has_slice_heights(params))
        return false;
    *copy = (CUDA_MEMCPY3D){
        .srcXInBytes = params->srcPos.x,
        .srcY = params->srcPos.y,
        .srcZ = params->srcPos.z,
        .srcMemoryType = copy_kinds[params->kind].from,
        .srcHost = params->srcPtr.ptr,
        .srcDevice = ADDRESS(params->srcPtr.ptr),
        .srcPitch = params->srcPtr.pitch,
        .srcHeight = params->srcPtr.ysize,
        .dstXInBytes = params->dstPos.x,
        .dstY = params->dstPos.y,
        .dstZ = params->dstPos.z,
        .dstMemoryType = copy_kinds[params->kind].to,
        .dstHost = params->dstPtr.ptr,
        .dstDevice = ADDRESS(params->dstPtr.ptr),
        .dstPitch = params->dstPtr.pitch,
        .dstHeight = params->dstPtr.ysize,
        .WidthInBytes = params->extent.width,
        .Height = params->extent.height,
        .Depth = params->extent.depth,
    };
    return true;
}

bool hc_copy_1d_to_driver(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *copy)
{
    const struct cudaMemcpy3DParms params = {
        .srcPtr = {(void *)(uintptr_t)from, bytes, bytes, 1},
        .dstPtr = {to, bytes, bytes, 1},
        .extent = {bytes, 1, 1},
        .kind = kind,
    };
    return hc_copy_3d_to_driver(&params, copy);
}

/* A height of 0 means that the slices are contiguous. */
static size_t height_of(size_t height, size_t y, const CUDA_MEMCPY3D *copy)
{
    return height || copy->Depth <= 1 ? height : y + copy->Height;
}

/* The driver's width in bytes becomes the runtime's width in elements of one byte, since there are no arrays. */
bool hc_copy_3d_to_runtime(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *params)
{
    enum cudaMemcpyKind kind;
    if (!copy || !hc_copy_kind_to_runtime(copy->srcMemoryType, copy->dstMemoryType, &kind))
        return false;
    bool from_host = copy->srcMemoryType == CU_MEMORYTYPE_HOST, to_host = copy->dstMemoryType == CU_MEMORYTYPE_HOST;
    *params = (struct cudaMemcpy3DParms){
        .srcPos = {copy->srcXInBytes, copy->srcY, copy->srcZ},
        .srcPtr = {from_host ? POINTER(copy->srcHost) : POINTER(copy->srcDevice), copy->srcPitch, copy->WidthInBytes,
                   height_of(copy->srcHeight, copy->srcY, copy)},
        .dstPos = {copy->dstXInBytes, copy->dstY, copy->dstZ},
        .dstPtr = {to_host ? copy->dstHost : POINTER(copy->dstDevice), copy->dstPitch, copy->WidthInBytes,
                   height_of(copy->dstHeight, copy->dstY, copy)},
        .extent = {copy->WidthInBytes, copy->Height, copy->Depth},
        .kind = kind,
    };
    return true;
}

bool hc_fill_to_driver(const struct cudaMemsetParams *params, CUDA_MEMSET_NODE_PARAMS *fill)
{
    if (params)
        *fill = (CUDA_MEMSET_NODE_PARAMS){ADDRESS(params->dst), params->pitch, params->value,
                                          params->elementSize,  params->width, params->height};
    return params;
}

void hc_fill_to_runtime(const CUDA_MEMSET_NODE_PARAMS *fill, struct cudaMemsetParams *params)
{
    *params = (struct cudaMemsetParams){POINTER(fill->dst), fill->pitch, fill->value,
                                        fill->elementSize,  fill->width, fill->height};
}

/* ---- any node ---------------------------------------------------------------------------------------------------- */

/* Node types that have no case here have the same layout in the runtime and in the driver. */
_Static_assert(sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v2) == sizeof(struct cudaMemAllocNodeParamsV2), "one layout");
_Static_assert(sizeof(CUDA_HOST_NODE_PARAMS_v2) >= sizeof(struct cudaHostNodeParamsV2), "one layout");
_Static_assert(sizeof(CUDA_CHILD_GRAPH_NODE_PARAMS) == sizeof(struct cudaChildGraphNodeParams), "one layout");

bool hc_node_params_to_driver(const struct cudaGraphNodeParams *params, CUgraphNodeParams *node)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMSET_NODE_PARAMS fill;
    if (!params)
        return false;
    *node = (CUgraphNodeParams){.type = (CUgraphNodeType)params->type, .reserved2 = params->reserved2};
    memcpy(node->reserved0, params->reserved0, sizeof node->reserved0);
    memcpy(node->reserved1, params->reserved1, sizeof params->reserved1);
    if (params->type == cudaGraphNodeTypeMemcpy) {
        memset(node->reserved1, 0, sizeof node->reserved1);
        node->memcpy.flags = params->memcpy.flags;
        return hc_copy_3d_to_driver(&params->memcpy.copyParams, &node->memcpy.copyParams);
    }
    if (params->type == cudaGraphNodeTypeKernel) {
        const struct cudaKernelNodeParams plain = {params->kernel.func,         params->kernel.gridDim,
                                                   params->kernel.blockDim,     params->kernel.sharedMemBytes,
                                                   params->kernel.kernelParams, params->kernel.extra};
        if (!hc_kernel_params_to_driver(&plain, &kernel))
            return false;
        memset(node->reserved1, 0, sizeof node->reserved1);
        memcpy(&node->kernel, &kernel, sizeof kernel); /* both structs begin alike; ctx NULL is the current context */
    }
    if (params->type == cudaGraphNodeTypeMemset) {
        const struct cudaMemsetParams plain = {params->memset.dst,         params->memset.pitch, params->memset.value,
                                               params->memset.elementSize, params->memset.width, params->memset.height};
        hc_fill_to_driver(&plain, &fill);
        node->memset = (CUDA_MEMSET_NODE_PARAMS_v2){fill.dst,   fill.pitch,  fill.value, fill.elementSize,
                                                    fill.width, fill.height, NULL};
    }
    return true;
}

bool hc_node_params_to_runtime(const CUgraphNodeParams *node, struct cudaGraphNodeParams *params)
{
    *params = (struct cudaGraphNodeParams){.type = (enum cudaGraphNodeType)node->type, .reserved2 = node->reserved2};
    memcpy(params->reserved0, node->reserved0, sizeof params->reserved0);
    memcpy(params->reserved1, node->reserved1, sizeof params->reserved1);
    if (node->type == CU_GRAPH_NODE_TYPE_MEMCPY) {
        memset(params->reserved1, 0, sizeof params->reserved1);
        params->memcpy.flags = node->memcpy.flags;
        return hc_copy_3d_to_runtime(&node->memcpy.copyParams, &params->memcpy.copyParams);
    }
    if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) {
        CUDA_KERNEL_NODE_PARAMS kernel;
        struct cudaKernelNodeParams plain;
        memcpy(&kernel, &node->kernel, sizeof kernel);
        hc_kernel_params_to_runtime(&kernel, &plain);
        params->kernel = (struct cudaKernelNodeParamsV2){.func = plain.func,
                                                         .gridDim = plain.gridDim,
                                                         .blockDim = plain.blockDim,
                                                         .sharedMemBytes = plain.sharedMemBytes,
                                                         .kernelParams = plain.kernelParams,
                                                         .extra = plain.extra};
    }
    if (node->type == CU_GRAPH_NODE_TYPE_MEMSET)
        params->memset = (struct cudaMemsetParamsV2){.dst = POINTER(node->memset.dst),
                                                     .pitch = node->memset.pitch,
                                                     .value = node->memset.value,
                                                     .elementSize = node->memset.elementSize,
                                                     .width = node->memset.width,
                                                     .height = node->memset.height};
    return true;
}

void hc_node_outputs_to_runtime(const CUgraphNodeParams *node, struct cudaGraphNodeParams *params)
{
    if (params->type == cudaGraphNodeTypeMemAlloc)
        params->alloc.dptr = POINTER(node->alloc.dptr);
}
