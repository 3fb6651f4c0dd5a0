/* Memory in rows, each of which begins where a GPU reads well. */
#include "hostcuda/call/call.h"
#include "hostcuda/memory/copy.h"
#include "hostcuda/runtime/memory.h"

enum { PITCH = 512 };

/* *address is NULL where there is nothing to allocate. */
static cudaError_t allocate_rows(void **address, size_t *pitch, size_t width, size_t height)
{
    if (!address || !pitch || width > HC_PITCH_MAX)
        return cudaErrorInvalidValue;
    size_t rounded = (width + PITCH - 1) / PITCH * PITCH;
    if (rounded && height > SIZE_MAX / rounded)
        return cudaErrorMemoryAllocation;
    cudaError_t error = hc_allocate(address, rounded * height, HC_MEMORY_DEVICE);
    if (!error)
        *pitch = rounded;
    return error;
}

cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
    HC_THROUGH_IF(width && height, cuMemAllocPitch, HC_SAME_AS(CUdeviceptr *, devPtr), pitch, width, height, 4);
    HC_CALL(allocate_rows(devPtr, pitch, width, height));
}

static cudaError_t allocate_box(struct cudaPitchedPtr *box, struct cudaExtent extent)
{
    void *address = NULL;
    size_t pitch = 0;
    if (!box || extent.width > HC_PITCH_MAX)
        return cudaErrorInvalidValue;
    if (extent.depth && extent.height > SIZE_MAX / extent.depth)
        return cudaErrorMemoryAllocation;
    cudaError_t error = allocate_rows(&address, &pitch, extent.width, extent.height * extent.depth);
    if (!error)
        *box = (struct cudaPitchedPtr){address, pitch, extent.width, extent.height};
    return error;
}

static bool has_rows(const struct cudaPitchedPtr *box, struct cudaExtent extent)
{
    return box && extent.width && extent.height && extent.depth && extent.height <= SIZE_MAX / extent.depth;
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
    CUdeviceptr address = 0;
    size_t pitch = 0;
    HC_THROUGH_THEN(
        has_rows(pitchedDevPtr, extent),
        (*pitchedDevPtr = (struct cudaPitchedPtr){(void *)(uintptr_t)address, pitch, extent.width, extent.height}),
        cuMemAllocPitch, &address, &pitch, extent.width, extent.height * extent.depth, 4);
    HC_CALL(allocate_box(pitchedDevPtr, extent));
}
