#include "node_launch.h"

#include <cudaTypedefs.h>
#include <string.h>

#include "debug/attach/nodes/node_pieces.h"

static struct {
    PFN_cuCtxGetCurrent_v4000 current;
    PFN_cuLaunchKernel_v4000 launch;
    PFN_cuLaunchKernelEx_v11060 launch_ex; /* with attributes */
    PFN_cuMemsetD8Async_v3020 fill_8;
    PFN_cuMemsetD16Async_v3020 fill_16;
    PFN_cuMemsetD32Async_v3020 fill_32;
    PFN_cuMemsetD2D8Async_v3020 rows_8;
    PFN_cuMemsetD2D16Async_v3020 rows_16;
    PFN_cuMemsetD2D32Async_v3020 rows_32;
} driver;

bg_status bg__node_launch_begin(void)
{
    bg_status status;
    BG__TRY(bg__driver_get_entry_point("cuCtxGetCurrent", 4000, (void *)&driver.current));
    BG__TRY(bg__driver_get_entry_point("cuLaunchKernel", 4000, (void *)&driver.launch));
    BG__TRY(bg__driver_get_entry_point("cuLaunchKernelEx", 11060, (void *)&driver.launch_ex));
    BG__TRY(bg__driver_get_entry_point("cuMemsetD8Async", 3020, (void *)&driver.fill_8));
    BG__TRY(bg__driver_get_entry_point("cuMemsetD16Async", 3020, (void *)&driver.fill_16));
    BG__TRY(bg__driver_get_entry_point("cuMemsetD32Async", 3020, (void *)&driver.fill_32));
    BG__TRY(bg__driver_get_entry_point("cuMemsetD2D8Async", 3020, (void *)&driver.rows_8));
    BG__TRY(bg__driver_get_entry_point("cuMemsetD2D16Async", 3020, (void *)&driver.rows_16));
    BG__TRY(bg__driver_get_entry_point("cuMemsetD2D32Async", 3020, (void *)&driver.rows_32));
done:
    return status;
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

static bool get_attribute(const bg__node *node, cudaLaunchAttributeID id, cudaLaunchAttributeValue *value)
{
    cudaError_t error = cudaGraphKernelNodeGetAttribute(node->handle, id, value);
    bg__clear_cuda_error(error);
    return error == cudaSuccess;
}

/* Whether the attribute differs from its default. Of the attributes that only change speed, priority alone is copied.
 */
static bool is_attribute_set(cudaLaunchAttributeID id, const cudaLaunchAttributeValue *value)
{
    switch ((int)id) {
    case cudaLaunchAttributeCooperative: return value->cooperative != 0;
    case cudaLaunchAttributeClusterDimension:
        return value->clusterDim.x > 1 || value->clusterDim.y > 1 || value->clusterDim.z > 1;
    case cudaLaunchAttributePriority: return value->priority != 0;
    default: return false;
    }
}

static const cudaLaunchAttributeID copied_attributes[] = {
    cudaLaunchAttributeCooperative, cudaLaunchAttributeClusterDimension, cudaLaunchAttributePriority};
enum { COPIED_ATTRIBUTES = sizeof copied_attributes / sizeof *copied_attributes };

static unsigned copy_attributes(const bg__node *node, CUlaunchAttribute list[COPIED_ATTRIBUTES])
{
    unsigned count = 0;
    for (size_t i = 0; i < COPIED_ATTRIBUTES; i++) {
        cudaLaunchAttributeValue value = {0};
        if (!get_attribute(node, copied_attributes[i], &value) || !is_attribute_set(copied_attributes[i], &value))
            continue;
        list[count].id = (CUlaunchAttributeID)copied_attributes[i];
        memcpy(&list[count].value, &value, sizeof value);
        count++;
    }
    return count;
}

/* The driver accepts a CUkernel in place of a CUfunction. */
static cudaError_t launch_kernel(const bg__node *node, cudaStream_t stream)
{
    const CUDA_KERNEL_NODE_PARAMS *k = &node->of.launch;
    CUfunction function = k->func != NULL ? k->func : (CUfunction)(void *)k->kern;
    CUlaunchAttribute attributes[COPIED_ATTRIBUTES] = {0};
    unsigned count = copy_attributes(node, attributes);
    const CUlaunchConfig config = {k->gridDimX,  k->gridDimY,       k->gridDimZ, k->blockDimX, k->blockDimY,
                                   k->blockDimZ, k->sharedMemBytes, stream,      attributes,   count};

    if (count > 0)
        return (cudaError_t)driver.launch_ex(&config, function, k->kernelParams, k->extra);
    return (cudaError_t)driver.launch(function, k->gridDimX, k->gridDimY, k->gridDimZ, k->blockDimX, k->blockDimY,
                                      k->blockDimZ, k->sharedMemBytes, stream, k->kernelParams, k->extra);
}

/* ---- the others ------------------------------------------------------------------------------------------------- */

static cudaError_t launch_memset(const struct cudaMemsetParams *f, cudaStream_t stream)
{
    CUdeviceptr to = (CUdeviceptr)(uintptr_t)f->dst;
    bool rows = f->height > 1;

    switch (f->elementSize) {
    case 1:
        return (cudaError_t)(rows ? driver.rows_8(to, f->pitch, (unsigned char)f->value, f->width, f->height, stream)
                                  : driver.fill_8(to, (unsigned char)f->value, f->width, stream));
    case 2:
        return (cudaError_t)(rows ? driver.rows_16(to, f->pitch, (unsigned short)f->value, f->width, f->height, stream)
                                  : driver.fill_16(to, (unsigned short)f->value, f->width, stream));
    default:
        return (cudaError_t)(rows ? driver.rows_32(to, f->pitch, f->value, f->width, f->height, stream)
                                  : driver.fill_32(to, f->value, f->width, stream));
    }
}

cudaError_t bg__node_launch_eager(const bg__node *node, cudaStream_t stream)
{
    switch (node->type) {
    case cudaGraphNodeTypeKernel: return launch_kernel(node, stream);
    case cudaGraphNodeTypeMemcpy: return cudaMemcpy3DAsync(&node->of.copy, stream);
    case cudaGraphNodeTypeMemset: return launch_memset(&node->of.fill, stream);
    case cudaGraphNodeTypeHost: return cudaLaunchHostFunc(stream, node->of.host.fn, node->of.host.userData);
    default: return cudaSuccess; /* an empty node */
    }
}

/* ---- what cannot be launched ------------------------------------------------------------------------------------ */

/* CUDA copies from and to pageable host memory during the call instead of in stream order, or waits for the stream. */
static const char *find_copy_obstacle(const bg__node *node)
{
    for (int which = BG__SOURCE; which <= BG__DESTINATION; which++) {
        bg__node_range end;
        if (bg__memcpy_node_range(node, which, &end) && bg__memory_is_pageable(end.address))
            return "outside of a graph, CUDA copies from and to pageable host memory during the call";
    }
    return NULL;
}

static const char *find_kernel_obstacle(const bg__node *node)
{
    cudaLaunchAttributeValue value = {0};
    CUcontext current = NULL;

    if (node->of.launch.ctx != NULL && driver.current(&current) == CUDA_SUCCESS && node->of.launch.ctx != current)
        return "it runs in another context than the one that launches the graph";
    if (get_attribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &value) &&
        value.deviceUpdatableKernelNode.deviceUpdatable != 0)
        return "the device may update the kernel in the graph";
    return NULL;
}

const char *bg__node_launch_obstacle(const bg__node *node)
{
    if (!node->known && node->type != cudaGraphNodeTypeEmpty)
        return "CUDA does not report its parameters";
    switch (node->type) {
    case cudaGraphNodeTypeKernel: return find_kernel_obstacle(node);
    case cudaGraphNodeTypeMemcpy: return find_copy_obstacle(node);
    case cudaGraphNodeTypeMemset:
    case cudaGraphNodeTypeHost:
    case cudaGraphNodeTypeEmpty: return NULL;
    case cudaGraphNodeTypeEventRecord:
    case cudaGraphNodeTypeWaitEvent: return "the event that it uses may be gone, or another library's";
    default: return "nodes of this kind exist only in graphs";
    }
}
