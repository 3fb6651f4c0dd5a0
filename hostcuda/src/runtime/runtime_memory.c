/* Calls that allocate and free memory, at once or in stream order. */
#include "hostcuda/src/runtime/runtime_memory.h"

#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/memory/backing.h"
#include "hostcuda/src/memory/capacity.h"
#include "hostcuda/src/op/op_kinds.h"
#include "hostcuda/src/stream/stream_capture.h"
#include "hostcuda/src/stream/queue_run.h"
#include "hostcuda/src/stream/submit.h"

#include <string.h>

cudaError_t hc_block_wait_unused(const struct hc_block *block)
{
    int current = hc_thread()->device, owner = block->device;
    cudaError_t error = hc_run_device(current);
    cudaError_t owners = owner == current ? error : hc_run_device(owner);
    return owners ? owners : error;
}

/* ---- allocation ---------------------------------------------------------------------------------------------- */

cudaError_t hc_block_allocate(void **address, size_t bytes, enum hc_memory kind)
{
    if (!address)
        return cudaErrorInvalidValue;
    cudaError_t error = hc_capture_check_unsafe_call();
    if (error)
        return error;
    *address = NULL;
    if (!bytes)
        return cudaSuccess;
    struct hc_block *block = hc_block_make(kind, bytes, hc_thread()->device);
    if (!block)
        return cudaErrorMemoryAllocation;
    *address = block->base;
    return cudaSuccess;
}

static cudaError_t allocate_entry(const char *name, void **address, size_t bytes, enum hc_memory kind)
{
    cudaError_t error = hc_call_begin_as(name);
    if (error == cudaErrorNotPermitted && !address)
        error = cudaErrorInvalidValue; /* checked first (measured) */
    if (!error)
        error = hc_block_allocate(address, bytes, kind);
    return hc_call_end(error);
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    HC_THROUGH_DRIVER_IF(size, cuMemAlloc, HC_SAME_AS(CUdeviceptr *, devPtr), size);
    return allocate_entry(__func__, devPtr, size, HC_MEMORY_DEVICE);
}

/* The device has no managed memory, as its attribute says. */
static cudaError_t reject_managed(void **address, size_t bytes, unsigned flags)
{
    bool attached = flags == cudaMemAttachGlobal || flags == cudaMemAttachHost;
    return address && bytes && attached ? cudaErrorNotSupported : cudaErrorInvalidValue;
}

cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
    HC_THROUGH_DRIVER(cuMemAllocManaged, HC_SAME_AS(CUdeviceptr *, devPtr), size, flags);
    HC_CALL(reject_managed(devPtr, size, flags));
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    HC_THROUGH_DRIVER_IF(size, cuMemAllocHost, ptr, size);
    return allocate_entry(__func__, ptr, size, HC_MEMORY_PINNED);
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    HC_THROUGH_DRIVER_IF(size, cuMemHostAlloc, pHost, size, flags);
    const unsigned allowed = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    if (flags & ~allowed) {
        cudaError_t error = hc_call_begin();
        return hc_call_end(error ? error : cudaErrorInvalidValue);
    }
    return allocate_entry(__func__, pHost, size, HC_MEMORY_PINNED);
}

cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
    HC_THROUGH_DRIVER(cuMemHostGetDevicePointer, HC_SAME_AS(CUdeviceptr *, pDevice), pHost, flags);
    cudaError_t error = hc_call_begin();
    struct hc_block *block = hc_block_find(pHost);
    if (!error && (!pDevice || flags || !block || block->kind != HC_MEMORY_PINNED))
        error = cudaErrorInvalidValue;
    if (!error)
        *pDevice = pHost;
    return hc_call_end(error);
}

static cudaError_t free_block(void *address, enum hc_memory kind)
{
    cudaError_t error = hc_capture_check_unsafe_call();
    if (error || !address)
        return error;
    struct hc_block *block = hc_block_find(address);
    if (!block || block->base != address || block->kind != kind || !block->live || block->borrowed)
        return cudaErrorInvalidValue;
    block->live = false;
    error = hc_block_wait_unused(block);
    hc_block_release(block);
    return error;
}

/* On a failed device, the call returns the device's error, as in CUDA, but frees the memory. */
static cudaError_t free_entry(const char *name, void *address, enum hc_memory kind)
{
    cudaError_t error = hc_call_begin_despite_errors_as(name);
    cudaError_t freed = error ? error : free_block(address, kind);
    if (!error)
        error = hc_device(hc_thread()->device)->sticky;
    return hc_call_end(error ? error : freed);
}

cudaError_t cudaFree(void *devPtr)
{
    HC_THROUGH_DRIVER_IF(devPtr, cuMemFree, HC_ADDRESS(devPtr));
    return free_entry(__func__, devPtr, HC_MEMORY_DEVICE);
}

cudaError_t cudaFreeHost(void *ptr)
{
    HC_THROUGH_DRIVER_IF(ptr, cuMemFreeHost, ptr);
    return free_entry(__func__, ptr, HC_MEMORY_PINNED);
}

/* ---- stream-ordered allocation ------------------------------------------------------------------------------- */

/* The node refers to the block from now on. The block is live once a launch of the graph is issued. */
static cudaError_t capture_allocation(cudaStream_t stream, struct hc_block *block)
{
    block->live = false;
    block->graphs = true;
    hc_backing_set_live(block->base, false);
    struct hc_op *op = hc_op_make_memory(HC_OP_ALLOC, block);
    hc_block_release(block);
    return op ? hc_stream_submit(stream, op) : cudaErrorMemoryAllocation;
}

/* pool NULL: the current pool of the stream's device. Graphs' memory is not in any pool. */
static cudaError_t allocate_ordered(void **address, size_t bytes, struct hc_pool *pool, cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    cudaError_t error = address ? hc_stream_for_work(handle, &stream) : cudaErrorInvalidValue;
    if (!error && !stream->capture)
        error = hc_capture_check_unsafe_call(); /* a capture on another stream treats it like cudaMalloc (measured) */
    if (error)
        return error;
    *address = NULL;
    if (!bytes)
        return cudaSuccess;
    pool = pool ? pool : hc_pool_current(stream->device);
    struct hc_block *block =
        stream->capture ? hc_block_make(HC_MEMORY_DEVICE, bytes, pool->device) : hc_block_make_in_pool(pool, bytes);
    if (!block)
        return cudaErrorMemoryAllocation;
    void *base = block->base;
    error = stream->capture ? capture_allocation(stream, block) : cudaSuccess;
    if (!error)
        *address = base;
    return error;
}

cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
    HC_THROUGH_DRIVER_IF(size, cuMemAllocAsync, HC_SAME_AS(CUdeviceptr *, devPtr), size, hStream);
    HC_CALL(allocate_ordered(devPtr, size, NULL, hStream));
}

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
{
    HC_THROUGH_DRIVER_IF(size, cuMemAllocFromPoolAsync, HC_SAME_AS(CUdeviceptr *, ptr), size, memPool, stream);
    struct hc_pool *pool = NULL;
    HC_CHECKED_CALL(hc_pool_from_handle(memPool, &pool), allocate_ordered(ptr, size, pool, stream));
}

static cudaError_t free_ordered(void *address, cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    cudaError_t error = hc_stream_for_work(handle, &stream);
    if (!error && !stream->capture)
        error = hc_capture_check_unsafe_call();
    if (error || !address)
        return error;
    struct hc_block *block = hc_block_find(address);
    if (!block || block->base != address || block->kind != HC_MEMORY_DEVICE || block->borrowed)
        return cudaErrorInvalidValue;
    if (stream->capture ? !block->graphs : !block->live) /* in a graph, only graphs' memory can be freed (measured) */
        return cudaErrorInvalidValue;
    struct hc_op *op = hc_op_make_memory(HC_OP_FREE, block);
    if (!op)
        return cudaErrorMemoryAllocation;
    if (!stream->capture)
        block->live = false;                /* a captured free takes effect when its graph is launched */
    if (!stream->capture && !block->graphs) /* graphs keep their memory for the next launch */
        hc_block_begin_free(block);
    return hc_stream_submit(stream, op);
}

cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    HC_THROUGH_DRIVER_IF(devPtr, cuMemFreeAsync, HC_ADDRESS(devPtr), hStream);
    HC_CALL(free_ordered(devPtr, hStream));
}

/* ---- queries ------------------------------------------------------------------------------------------------- */

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    HC_THROUGH_DRIVER(cuMemGetInfo, free, total);
    cudaError_t error = hc_call_begin();
    if (!error && total) /* either pointer may be NULL (measured) */
        *total = hc_device_bytes();
    if (!error && free)
        *free = hc_device_free_bytes(hc_thread()->device);
    return hc_call_end(error);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
    cudaError_t error = hc_call_begin();
    if (!error && !attributes)
        error = cudaErrorInvalidValue;
    if (error)
        return hc_call_end(error);
    const struct hc_block *block = hc_block_find_live(ptr);
    memset(attributes, 0, sizeof *attributes);
    attributes->type = !block                            ? cudaMemoryTypeUnregistered
                       : block->kind == HC_MEMORY_DEVICE ? cudaMemoryTypeDevice
                                                         : cudaMemoryTypeHost;
    attributes->device = block ? block->device : cudaInvalidDeviceId;
    attributes->devicePointer = block ? (void *)(uintptr_t)ptr : NULL;
    attributes->hostPointer = block && block->kind == HC_MEMORY_DEVICE ? NULL : (void *)(uintptr_t)ptr;
    return hc_call_end(cudaSuccess);
}
