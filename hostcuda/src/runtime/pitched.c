/* Pitched allocations: each row begins at an address that a GPU reads well. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/memory/memory_copy.h"
#include "hostcuda/src/runtime/runtime_memory.h"

enum { PITCH = 512 };

/* Both outputs are written even on failure: NULL if there is nothing to allocate, and the pitch for the width
 * (measured). */
static cudaError_t allocate_rows(void **address, size_t *pitch, size_t width, size_t height)
{
    if (!address || !pitch)
        return cudaErrorInvalidValue;
    *address = NULL;
    *pitch = 0;
    if (!width || !height)
        return cudaSuccess;
    if (width > HC_PITCH_MAX)
        return cudaErrorInvalidValue;
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    if (height > SIZE_MAX / *pitch)
        return cudaErrorMemoryAllocation;
    return hc_block_allocate(address, *pitch * height, HC_MEMORY_DEVICE);
}

cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
    HC_THROUGH_DRIVER_IF(width && height, cuMemAllocPitch, HC_SAME_AS(CUdeviceptr *, devPtr), pitch, width, height, 4);
    HC_CALL(allocate_rows(devPtr, pitch, width, height));
}

static size_t rows_of(struct cudaExtent extent)
{
    size_t rows = 0;
    return __builtin_mul_overflow(extent.height, extent.depth, &rows) ? SIZE_MAX : rows;
}

/* The extent is written only if the allocation succeeded or was empty. */
static cudaError_t allocate_box(struct cudaPitchedPtr *box, struct cudaExtent extent)
{
    if (!box)
        return cudaErrorInvalidValue;
    cudaError_t error = allocate_rows(&box->ptr, &box->pitch, extent.width, rows_of(extent));
    if (!error) {
        box->xsize = extent.width;
        box->ysize = extent.height;
    }
    return error;
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
    if (pitchedDevPtr)
        HC_THROUGH_DRIVER_THEN(extent.width && rows_of(extent),
                               (pitchedDevPtr->xsize = extent.width, pitchedDevPtr->ysize = extent.height),
                               cuMemAllocPitch, HC_SAME_AS(CUdeviceptr *, &pitchedDevPtr->ptr), &pitchedDevPtr->pitch,
                               extent.width, rows_of(extent), 4);
    HC_CALL(allocate_box(pitchedDevPtr, extent));
}
