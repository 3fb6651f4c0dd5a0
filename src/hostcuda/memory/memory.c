#include "hostcuda/memory/memory.h"

#include "hostcuda/core/grow.h"
#include "hostcuda/stream/capture.h"
#include "hostcuda/memory/hostile.h"
#include "hostcuda/stream/ops.h"
#include "hostcuda/stream/queue.h"
#include "hostcuda/stream/stream.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGNMENT = 256 };

static struct hc_block **blocks; /* by address */
static size_t block_count, block_capacity, live_bytes[HC_DEVICES_MAX];
static uint64_t block_ids;

/* The first block that begins after the address. */
static size_t upper_bound(const void *address)
{
    size_t low = 0, high = block_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)blocks[middle]->base <= (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool reserve_slot(void)
{
    return hc_grow(&blocks, &block_capacity, block_count + 1, sizeof(*blocks));
}

size_t hc_device_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 32;
}

bool hc_device_claim(int device, size_t bytes)
{
    if (bytes > hc_device_bytes() - live_bytes[device])
        return false;
    live_bytes[device] += bytes;
    return true;
}

void hc_device_unclaim(int device, size_t bytes)
{
    live_bytes[device] -= bytes;
}

struct hc_block *hc_block_borrow(enum hc_memory kind, void *base, size_t bytes, int device)
{
    struct hc_block *block = reserve_slot() ? calloc(1, sizeof *block) : NULL;
    if (!block)
        return NULL;
    *block = (struct hc_block){.base = base,
                               .bytes = bytes,
                               .kind = kind,
                               .device = device,
                               .references = 1,
                               .live = true,
                               .borrowed = true,
                               .id = ++block_ids};
    size_t at = upper_bound(base);
    memmove(blocks + at + 1, blocks + at, (block_count - at) * sizeof(struct hc_block *));
    blocks[at] = block;
    block_count++;
    return block;
}

struct hc_block *hc_block_make(enum hc_memory kind, size_t bytes, int device)
{
    if (bytes > hc_device_bytes() || (kind == HC_MEMORY_DEVICE && !hc_device_claim(device, bytes)))
        return NULL;
    void *base = hc_backing_take(bytes, ALIGNMENT, kind == HC_MEMORY_DEVICE, block_ids + 1);
    struct hc_block *block = base ? hc_block_borrow(kind, base, bytes, device) : NULL;
    if (block) {
        block->borrowed = false;
        return block;
    }
    if (base)
        hc_backing_give(base);
    if (kind == HC_MEMORY_DEVICE)
        hc_device_unclaim(device, bytes);
    return NULL;
}

void hc_block_retain(struct hc_block *block)
{
    block->references++;
}

void hc_block_release(struct hc_block *block)
{
    if (--block->references)
        return;
    size_t at = upper_bound(block->base) - 1;
    if (blocks) {
        memmove(blocks + at, blocks + at + 1, (block_count - at - 1) * sizeof(struct hc_block *));
        block_count--;
    }
    if (!block->borrowed) {
        if (block->kind == HC_MEMORY_DEVICE)
            hc_device_unclaim(block->device, block->bytes);
        hc_backing_give(block->base);
    }
    free(block);
}

size_t hc_block_count(void)
{
    return block_count;
}

struct hc_block *hc_block_find(const void *address)
{
    size_t at = upper_bound(address);
    if (!at)
        return NULL;
    struct hc_block *block = blocks[at - 1];
    bool inside = (uintptr_t)address - (uintptr_t)block->base < block->bytes;
    return inside && (block->live || block->graphs) ? block : NULL;
}

const struct hc_block *hc_block_ask(const void *address)
{
    const struct hc_block *block = hc_block_find(address);
    return block && block->live ? block : NULL;
}

struct hc_block *hc_block_overlapping(const void *address, size_t bytes)
{
    uintptr_t low = (uintptr_t)address, high = low + bytes;
    for (size_t i = 0; i < block_count && (uintptr_t)blocks[i]->base < high; i++)
        if (blocks[i]->live && (uintptr_t)blocks[i]->base + blocks[i]->bytes > low)
            return blocks[i];
    return NULL;
}

/* Mappings that touch are one memory to copies and fills. */
bool hc_block_overrun(const void *address, size_t bytes)
{
    struct hc_block *block = hc_block_find(address);
    if (!block)
        return false;
    size_t left = block->bytes - ((uintptr_t)address - (uintptr_t)block->base);
    while (left < bytes && block->borrowed && block->kind == HC_MEMORY_DEVICE) {
        block = hc_block_find(block->base + block->bytes);
        if (!block || !block->borrowed)
            break;
        left += block->bytes;
    }
    return left < bytes;
}

/* ---- allocation ---------------------------------------------------------------------------------------------- */

static cudaError_t allocate(void **address, size_t bytes, enum hc_memory kind)
{
    if (!address)
        return cudaErrorInvalidValue;
    cudaError_t error = hc_capture_unsafe_call();
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
    cudaError_t error = hc_begin_as(name);
    if (!error)
        error = allocate(address, bytes, kind);
    return hc_end(error);
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    return allocate_entry(__func__, devPtr, size, HC_MEMORY_DEVICE);
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    return allocate_entry(__func__, ptr, size, HC_MEMORY_PINNED);
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    const unsigned allowed = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    if (flags & ~allowed) {
        cudaError_t error = hc_begin();
        return hc_end(error ? error : cudaErrorInvalidValue);
    }
    return allocate_entry(__func__, pHost, size, HC_MEMORY_PINNED);
}

cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
    cudaError_t error = hc_begin();
    struct hc_block *block = hc_block_find(pHost);
    if (!error && (!pDevice || flags || !block || block->kind != HC_MEMORY_PINNED))
        error = cudaErrorInvalidValue;
    if (!error)
        *pDevice = pHost;
    return hc_end(error);
}

cudaError_t hc_block_settle(const struct hc_block *block)
{
    int current = hc_thread()->device, owner = block->device;
    cudaError_t error = hc_run_device(current);
    cudaError_t owners = owner == current ? error : hc_run_device(owner);
    return owners ? owners : error;
}

static cudaError_t free_now(void *address, enum hc_memory kind)
{
    cudaError_t error = hc_capture_unsafe_call();
    if (error || !address)
        return error;
    struct hc_block *block = hc_block_find(address);
    if (!block || block->base != address || block->kind != kind || !block->live || block->borrowed)
        return cudaErrorInvalidValue;
    block->live = false;
    error = hc_block_settle(block);
    hc_block_release(block);
    return error;
}

/* A lost device answers with its error, as CUDA does, but the host's memory behind it is given back. */
static cudaError_t free_entry(const char *name, void *address, enum hc_memory kind)
{
    cudaError_t error = hc_begin_quiet_as(name);
    cudaError_t freed = error ? error : free_now(address, kind);
    if (!error)
        error = hc_device(hc_thread()->device)->sticky;
    return hc_end(error ? error : freed);
}

cudaError_t cudaFree(void *devPtr)
{
    return free_entry(__func__, devPtr, HC_MEMORY_DEVICE);
}

cudaError_t cudaFreeHost(void *ptr)
{
    return free_entry(__func__, ptr, HC_MEMORY_PINNED);
}

/* ---- stream-ordered allocation ------------------------------------------------------------------------------- */

static cudaError_t allocate_ordered(void **address, size_t bytes, cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    cudaError_t error = address ? hc_stream_for_work(handle, &stream) : cudaErrorInvalidValue;
    if (!error && !stream->capture)
        error = hc_capture_unsafe_call(); /* on a stream outside, it is no safer than cudaMalloc (measured) */
    if (error)
        return error;
    *address = NULL;
    if (!bytes)
        return cudaSuccess;
    struct hc_block *block = hc_block_make(HC_MEMORY_DEVICE, bytes, stream->device);
    if (!block)
        return cudaErrorMemoryAllocation;
    void *base = block->base;
    if (stream->capture) {
        /* the node refers to the block from now on; it is live once a launch of the graph has been issued */
        block->live = false;
        block->graphs = true;
        hc_backing_set_live(block, false);
        struct hc_op *op = hc_op_memory(HC_OP_ALLOC, block);
        hc_block_release(block);
        error = op ? hc_stream_submit(stream, op) : cudaErrorMemoryAllocation;
    }
    if (!error)
        *address = base;
    return error;
}

cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = allocate_ordered(devPtr, size, hStream);
    return hc_end(error);
}

static cudaError_t free_ordered(void *address, cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    cudaError_t error = hc_stream_for_work(handle, &stream);
    if (!error && !stream->capture)
        error = hc_capture_unsafe_call();
    if (error)
        return error;
    struct hc_block *block = hc_block_find(address);
    if (!block || block->base != address || block->kind != HC_MEMORY_DEVICE || block->borrowed)
        return cudaErrorInvalidValue;
    if (stream->capture ? !block->graphs : !block->live) /* graphs free what graphs allocated (measured) */
        return cudaErrorInvalidValue;
    struct hc_op *op = hc_op_memory(HC_OP_FREE, block);
    if (!op)
        return cudaErrorMemoryAllocation;
    if (!stream->capture)
        block->live = false; /* a captured free counts when its graph is launched */
    return hc_stream_submit(stream, op);
}

cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = free_ordered(devPtr, hStream);
    return hc_end(error);
}

/* ---- questions ----------------------------------------------------------------------------------------------- */

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    cudaError_t error = hc_begin();
    if (!error && (!free || !total))
        error = cudaErrorInvalidValue;
    if (!error) {
        *total = hc_device_bytes();
        *free = *total - live_bytes[hc_thread()->device];
    }
    return hc_end(error);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
    cudaError_t error = hc_begin();
    if (!error && !attributes)
        error = cudaErrorInvalidValue;
    if (error)
        return hc_end(error);
    const struct hc_block *block = hc_block_ask(ptr);
    memset(attributes, 0, sizeof *attributes);
    attributes->type = !block                            ? cudaMemoryTypeUnregistered
                       : block->kind == HC_MEMORY_DEVICE ? cudaMemoryTypeDevice
                                                         : cudaMemoryTypeHost;
    attributes->device = block ? block->device : cudaInvalidDeviceId;
    attributes->devicePointer = block ? (void *)(uintptr_t)ptr : NULL;
    attributes->hostPointer = block && block->kind == HC_MEMORY_DEVICE ? NULL : (void *)(uintptr_t)ptr;
    return hc_end(cudaSuccess);
}
