/* Calls for memory pools: creation, the current pool, attributes, access by other devices. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/memory/memory_blocks.h"
#include "hostcuda/src/stream/stream_capture.h"

#include <stdio.h>

#define HANDLE(pool) ((cudaMemPool_t)(void *)(pool))

static bool is_device(const struct cudaMemLocation *location)
{
    return location->type == cudaMemLocationTypeDevice && location->id >= 0 && location->id < hc_device_count();
}

/* ---- creation, and the current pool ------------------------------------------------------------------------------ */

_Static_assert(sizeof(CUmemPoolProps) == sizeof(struct cudaMemPoolProps), "one layout");

static cudaError_t create_pool(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
{
    if (!pool || !props || props->allocType != cudaMemAllocationTypePinned)
        return cudaErrorInvalidValue;
    if (props->handleTypes & ~((unsigned)cudaMemHandleTypePosixFileDescriptor | (unsigned)cudaMemHandleTypeFabric))
        return cudaErrorInvalidValue;
    if (props->location.type == cudaMemLocationTypeHost || props->location.type == cudaMemLocationTypeHostNuma ||
        props->handleTypes) {
        fprintf(stderr, "hostcuda: memory pools on the host, or for other processes, are not implemented\n");
        return cudaErrorNotSupported;
    }
    if (!is_device(&props->location))
        return cudaErrorInvalidValue;
    struct hc_pool *made = hc_pool_make(props->location.id, props->maxSize);
    if (made)
        *pool = HANDLE(made);
    return made ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
    HC_THROUGH_DRIVER(cuMemPoolCreate, memPool, HC_SAME_AS(const CUmemPoolProps *, poolProps));
    HC_CHECKED_CALL(hc_capture_check_unsafe_call(), create_pool(memPool, poolProps));
}

static cudaError_t destroy_pool(cudaMemPool_t handle)
{
    struct hc_pool *pool = NULL;
    cudaError_t error = hc_pool_from_handle(handle, &pool);
    if (!error && pool == hc_pool_default(pool->device))
        error = cudaErrorInvalidValue;
    if (!error)
        hc_pool_destroy(pool);
    return error;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool)
{
    HC_THROUGH_DRIVER(cuMemPoolDestroy, memPool);
    HC_CHECKED_CALL(hc_capture_check_unsafe_call(), destroy_pool(memPool));
}

static cudaError_t get_device_pool(cudaMemPool_t *pool, int device, struct hc_pool *(*pool_of)(int device))
{
    if (!pool)
        return cudaErrorInvalidValue;
    if (device < 0 || device >= hc_device_count())
        return pool_of == hc_pool_default ? cudaErrorInvalidDevice : cudaErrorInvalidValue; /* measured */
    *pool = HANDLE(pool_of(device));
    return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
    HC_THROUGH_DRIVER(cuDeviceGetDefaultMemPool, memPool, device);
    HC_CALL(get_device_pool(memPool, device, hc_pool_default));
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
    HC_THROUGH_DRIVER(cuDeviceGetMemPool, memPool, device);
    HC_CALL(get_device_pool(memPool, device, hc_pool_current));
}

static cudaError_t set_device_pool(int device, cudaMemPool_t handle)
{
    struct hc_pool *pool = NULL;
    cudaError_t error = hc_pool_from_handle(handle, &pool);
    if (!error && pool->device != device)
        error = cudaErrorInvalidValue;
    if (!error)
        hc_pool_make_current(pool);
    return error;
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool)
{
    HC_THROUGH_DRIVER(cuDeviceSetMemPool, device, memPool);
    HC_CHECKED_CALL(hc_capture_check_unsafe_call(), set_device_pool(device, memPool));
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static bool is_reuse(enum cudaMemPoolAttr attr)
{
    return attr >= cudaMemPoolReuseFollowEventDependencies && attr <= cudaMemPoolReuseAllowInternalDependencies;
}

static cudaError_t get_pool_attribute(const struct hc_pool *pool, enum cudaMemPoolAttr attr, void *value)
{
    uint64_t *number = value;
    if (!value)
        return cudaErrorInvalidValue;
    if (is_reuse(attr)) {
        *(int *)value = !pool->strict[attr - cudaMemPoolReuseFollowEventDependencies];
        return cudaSuccess;
    }
    switch (attr) {
    case cudaMemPoolAttrReleaseThreshold: *number = pool->threshold; break;
    case cudaMemPoolAttrReservedMemCurrent: *number = pool->reserved; break;
    case cudaMemPoolAttrReservedMemHigh: *number = pool->reserved_high; break;
    case cudaMemPoolAttrUsedMemCurrent: *number = pool->used; break;
    case cudaMemPoolAttrUsedMemHigh: *number = pool->used_high; break;
    default: return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

/* Counters can only be reset. */
static cudaError_t set_pool_attribute(struct hc_pool *pool, enum cudaMemPoolAttr attr, const void *value)
{
    if (!value)
        return cudaErrorInvalidValue;
    if (is_reuse(attr)) {
        pool->strict[attr - cudaMemPoolReuseFollowEventDependencies] = !*(const int *)value;
        return cudaSuccess;
    }
    bool counted = attr >= cudaMemPoolAttrReleaseThreshold && attr <= cudaMemPoolAttrUsedMemHigh;
    uint64_t number = counted ? *(const uint64_t *)value : 0;
    if (attr == cudaMemPoolAttrReleaseThreshold)
        pool->threshold = number;
    else if (attr == cudaMemPoolAttrReservedMemHigh && !number)
        pool->reserved_high = pool->reserved;
    else if (attr == cudaMemPoolAttrUsedMemHigh && !number)
        pool->used_high = pool->used;
    else
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

/* Finds the pool for a call that is unsafe during a capture. */
static cudaError_t find_pool(cudaMemPool_t handle, struct hc_pool **pool)
{
    cudaError_t error = hc_capture_check_unsafe_call();
    return error ? error : hc_pool_from_handle(handle, pool);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
    HC_THROUGH_DRIVER(cuMemPoolGetAttribute, memPool, (CUmemPool_attribute)attr, value);
    struct hc_pool *pool = NULL;
    HC_CHECKED_CALL(find_pool(memPool, &pool), get_pool_attribute(pool, attr, value));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
    HC_THROUGH_DRIVER(cuMemPoolSetAttribute, memPool, (CUmemPool_attribute)attr, value);
    struct hc_pool *pool = NULL;
    HC_CHECKED_CALL(find_pool(memPool, &pool), set_pool_attribute(pool, attr, value));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
    HC_THROUGH_DRIVER(cuMemPoolTrimTo, memPool, minBytesToKeep);
    struct hc_pool *pool = NULL;
    HC_CHECKED_CALL(find_pool(memPool, &pool), (hc_pool_trim(pool, hc_pool_round_up(minBytesToKeep)), cudaSuccess));
}

/* ---- other devices ----------------------------------------------------------------------------------------------- */

/* A device cannot lose the access to its own pool. */
static cudaError_t check_access(const struct hc_pool *pool, const struct cudaMemAccessDesc *access)
{
    bool all = access->flags == cudaMemAccessFlagsProtReadWrite, none = access->flags == cudaMemAccessFlagsProtNone;
    if (access->location.type != cudaMemLocationTypeDevice || (!all && !none))
        return cudaErrorInvalidValue;
    return !is_device(&access->location) || (none && access->location.id == pool->device) ? cudaErrorInvalidDevice
                                                                                          : cudaSuccess;
}

static cudaError_t set_pool_access(struct hc_pool *pool, const struct cudaMemAccessDesc *list, size_t count)
{
    cudaError_t error = cudaSuccess;
    if (count > (size_t)hc_device_count())
        return cudaErrorInvalidDevice;
    if (count && !list)
        return cudaErrorInvalidValue;
    for (size_t i = 0; !error && i < count; i++)
        error = check_access(pool, &list[i]);
    for (size_t i = 0; !error && i < count; i++)
        pool->shown[list[i].location.id] = list[i].flags == cudaMemAccessFlagsProtReadWrite;
    return error;
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList, size_t count)
{
    HC_THROUGH_DRIVER(cuMemPoolSetAccess, memPool, HC_SAME_AS(const CUmemAccessDesc *, descList), count);
    struct hc_pool *pool = NULL;
    HC_CHECKED_CALL(hc_pool_from_handle(memPool, &pool), set_pool_access(pool, descList, count));
}

static cudaError_t get_pool_access(const struct hc_pool *pool, enum cudaMemAccessFlags *flags,
                                   const struct cudaMemLocation *location)
{
    if (!flags || !location || !is_device(location))
        return cudaErrorInvalidValue;
    bool shown = location->id == pool->device || pool->shown[location->id];
    *flags = shown ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
                                 struct cudaMemLocation *location)
{
    HC_THROUGH_DRIVER(cuMemPoolGetAccess, HC_SAME_AS(CUmemAccess_flags *, flags), memPool,
                      HC_SAME_AS(CUmemLocation *, location));
    struct hc_pool *pool = NULL;
    HC_CHECKED_CALL(hc_pool_from_handle(memPool, &pool), get_pool_access(pool, flags, location));
}

/* ---- graph memory ------------------------------------------------------------------------------------------------ */

/* Releases memory that no launch uses; the next launch allocates it again. */
static void release_unused_block(struct hc_block *block, const void *pool)
{
    if (block->pool == pool && !block->live)
        hc_block_remove_from_pool(block);
}

static cudaError_t trim_graph_memory(int device)
{
    if (device < 0 || device >= hc_device_count())
        return cudaErrorInvalidDevice;
    hc_block_visit_all(release_unused_block, hc_pool_of_graphs(device));
    hc_pool_trim(hc_pool_of_graphs(device), 0);
    return cudaSuccess;
}

cudaError_t cudaDeviceGraphMemTrim(int device)
{
    HC_THROUGH_DRIVER(cuDeviceGraphMemTrim, device);
    HC_CALL(trim_graph_memory(device));
}

/* Returns the equivalent attribute of a pool. */
static bool pool_attribute(enum cudaGraphMemAttributeType attr, enum cudaMemPoolAttr *same)
{
    switch (attr) {
    case cudaGraphMemAttrUsedMemCurrent: *same = cudaMemPoolAttrUsedMemCurrent; break;
    case cudaGraphMemAttrUsedMemHigh: *same = cudaMemPoolAttrUsedMemHigh; break;
    case cudaGraphMemAttrReservedMemCurrent: *same = cudaMemPoolAttrReservedMemCurrent; break;
    case cudaGraphMemAttrReservedMemHigh: *same = cudaMemPoolAttrReservedMemHigh; break;
    default: return false;
    }
    return true;
}

static cudaError_t check_graph_attribute(int device, enum cudaGraphMemAttributeType attr, enum cudaMemPoolAttr *same)
{
    if (device < 0 || device >= hc_device_count())
        return cudaErrorInvalidDevice;
    return pool_attribute(attr, same) ? cudaSuccess : cudaErrorInvalidValue;
}

/* Used memory is rounded up to the step of reservations (measured). */
static cudaError_t get_graph_memory_attribute(int device, enum cudaMemPoolAttr attr, void *value)
{
    struct hc_pool counted = *hc_pool_of_graphs(device);
    counted.used = hc_pool_round_up(counted.used);
    counted.used_high = hc_pool_round_up(counted.used_high);
    return get_pool_attribute(&counted, attr, value);
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value)
{
    HC_THROUGH_DRIVER(cuDeviceGetGraphMemAttribute, device, (CUgraphMem_attribute)attr, value);
    enum cudaMemPoolAttr same;
    HC_CHECKED_CALL(check_graph_attribute(device, attr, &same), get_graph_memory_attribute(device, same, value));
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value)
{
    HC_THROUGH_DRIVER(cuDeviceSetGraphMemAttribute, device, (CUgraphMem_attribute)attr, value);
    enum cudaMemPoolAttr same;
    HC_CHECKED_CALL(check_graph_attribute(device, attr, &same),
                    set_pool_attribute(hc_pool_of_graphs(device), same, value));
}
