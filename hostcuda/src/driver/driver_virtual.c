#include "hostcuda/src/driver/driver_virtual.h"

#include "hostcuda/src/driver/driver_calls.h"
#include "hostcuda/src/memory/memory_blocks.h"
#include "hostcuda/src/memory/capacity.h"
#include "hostcuda/src/stream/queue_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GRANULARITY = 2 << 20 }; /* as on a GPU */

/* Memory from cuMemCreate. The file has no name; mappings of it share its pages. */
struct memory {
    unsigned references; /* the program's handles, and mappings */
    unsigned handles;    /* the program's handles */
    size_t bytes;
    int file;
    CUmemAllocationProp properties;
};

struct mapping {
    struct mapping *next;
    unsigned char *base;
    size_t bytes;
    struct memory *memory;
    struct hc_block *block;
    bool unmapping; /* cuMemUnmap is waiting for work that may use it */
    unsigned char access[HC_DEVICES_MAX];
};

struct range {
    struct range *next;
    unsigned char *base;
    size_t bytes;
};

static struct range *ranges;
static struct mapping *mappings;

static bool is_aligned(uint64_t value, uint64_t to)
{
    return value % to == 0;
}

static bool is_within(const void *address, size_t bytes, const unsigned char *base, size_t base_bytes)
{
    uintptr_t offset = (uintptr_t)address - (uintptr_t)base;
    return (uintptr_t)address >= (uintptr_t)base && offset <= base_bytes && bytes <= base_bytes - offset;
}

/* ---- address ranges -------------------------------------------------------------------------------------------- */

static struct range *find_range(const void *address, size_t bytes)
{
    struct range *range = ranges;
    while (range && !is_within(address, bytes, range->base, range->bytes))
        range = range->next;
    return range;
}

bool hc_virtual_find_range(const void *address, void **base, size_t *bytes)
{
    const struct range *range = find_range(address, 1);
    if (range) {
        *base = range->base;
        *bytes = range->bytes;
    }
    return range;
}

/* Maps addresses without access. Returns NULL if there is no room. */
static unsigned char *map_addresses_only(void *hint, size_t bytes, size_t alignment)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (hint && is_aligned((uintptr_t)hint, alignment)) {
        void *at = mmap(hint, bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
        if (at == hint)
            return at;
        if (at != MAP_FAILED)
            munmap(at, bytes); /* an old kernel treats the flag as a hint */
    }
    unsigned char *whole = mmap(NULL, bytes + alignment, PROT_NONE, flags, -1, 0);
    if (whole == MAP_FAILED)
        return NULL;
    size_t before = (alignment - (uintptr_t)whole % alignment) % alignment;
    if (before)
        munmap(whole, before);
    munmap(whole + before + bytes, alignment - before);
    return whole + before;
}

static cudaError_t reserve_addresses(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr hint)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!address || !bytes || !is_aligned(bytes, GRANULARITY) || !is_aligned(hint, page) ||
        (alignment & (alignment - 1)))
        return cudaErrorInvalidValue;
    if (alignment < GRANULARITY)
        alignment = GRANULARITY;
    if (bytes > SIZE_MAX - alignment)
        return cudaErrorMemoryAllocation;
    struct range *range = calloc(1, sizeof *range);
    unsigned char *base = range ? map_addresses_only((void *)(uintptr_t)hint, bytes, alignment) : NULL;
    if (!base) {
        free(range);
        return cudaErrorMemoryAllocation;
    }
    *range = (struct range){.next = ranges, .base = base, .bytes = bytes};
    ranges = range;
    *address = (CUdeviceptr)(uintptr_t)base;
    return cudaSuccess;
}

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags)
{
    HC_DRIVER_CALL(flags ? cudaErrorInvalidValue : reserve_addresses(ptr, size, alignment, addr));
}

static struct mapping *mapping_in(const void *base, size_t bytes)
{
    struct mapping *mapping = mappings;
    while (mapping && !is_within(mapping->base, 1, base, bytes) && !is_within(base, 1, mapping->base, mapping->bytes))
        mapping = mapping->next;
    return mapping;
}

static cudaError_t free_range(CUdeviceptr address, size_t bytes)
{
    struct range **link = &ranges;
    while (*link && (uintptr_t)(*link)->base != address)
        link = &(*link)->next;
    struct range *range = *link;
    if (!range || range->bytes != bytes || mapping_in(range->base, bytes))
        return cudaErrorInvalidValue;
    *link = range->next;
    munmap(range->base, range->bytes);
    free(range);
    return cudaSuccess;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    cudaError_t error = hc_driver_begin_quiet();
    if (!error)
        error = free_range(ptr, size);
    return hc_driver_end(error);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static cudaError_t check_location(const CUmemAllocationProp *prop)
{
    if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return cudaErrorInvalidValue;
    if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE || prop->requestedHandleTypes) {
        fprintf(stderr,
                "hostcuda: cuMemCreate: location type %d with handle types %d is not implemented; use "
                "CU_MEM_LOCATION_TYPE_DEVICE and no handle types\n",
                (int)prop->location.type, (int)prop->requestedHandleTypes);
        return cudaErrorNotSupported;
    }
    return prop->location.id >= 0 && prop->location.id < hc_device_count() ? cudaSuccess : cudaErrorInvalidDevice;
}

static int make_memory_file(size_t bytes)
{
    int file = memfd_create("hostcuda", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, (off_t)bytes) != 0) {
        close(file);
        file = -1;
    }
    return file;
}

static cudaError_t create_allocation(CUmemGenericAllocationHandle *handle, size_t bytes,
                                     const CUmemAllocationProp *prop)
{
    cudaError_t error =
        handle && bytes && is_aligned(bytes, GRANULARITY) ? check_location(prop) : cudaErrorInvalidValue;
    if (error)
        return error;
    if (!hc_device_claim_bytes(prop->location.id, bytes))
        return cudaErrorMemoryAllocation;
    struct memory *memory = calloc(1, sizeof *memory);
    int file = memory ? make_memory_file(bytes) : -1;
    if (file < 0 || !hc_handle_add(HC_MEMORY, memory)) {
        if (file >= 0)
            close(file);
        free(memory);
        hc_device_unclaim_bytes(prop->location.id, bytes);
        return cudaErrorMemoryAllocation;
    }
    *memory = (struct memory){.references = 1, .handles = 1, .bytes = bytes, .file = file, .properties = *prop};
    *handle = (CUmemGenericAllocationHandle)(uintptr_t)memory;
    return cudaSuccess;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                     unsigned long long flags)
{
    HC_DRIVER_CALL(flags ? cudaErrorInvalidValue : create_allocation(handle, size, prop));
}

/* Returns NULL if it is no handle, or the program has released it. */
static struct memory *find_memory(CUmemGenericAllocationHandle handle)
{
    struct memory *memory = (struct memory *)(uintptr_t)handle;
    return hc_handle_is(HC_MEMORY, memory) && memory->handles ? memory : NULL;
}

static void release_memory(struct memory *memory)
{
    if (--memory->references)
        return;
    hc_handle_remove(memory);
    hc_device_unclaim_bytes(memory->properties.location.id, memory->bytes);
    close(memory->file);
    free(memory);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    cudaError_t error = hc_driver_begin_quiet();
    struct memory *memory = find_memory(handle);
    if (!error && !memory)
        error = cudaErrorInvalidValue;
    if (!error) {
        memory->handles--;
        release_memory(memory);
    }
    return hc_driver_end(error);
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
    cudaError_t error = hc_driver_begin();
    const struct memory *memory = find_memory(handle);
    if (!error && (!prop || !memory))
        error = cudaErrorInvalidValue;
    if (!error)
        *prop = memory->properties;
    return hc_driver_end(error);
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option)
{
    cudaError_t error = hc_driver_begin();
    bool known = option == CU_MEM_ALLOC_GRANULARITY_MINIMUM || option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED;
    if (!error)
        error = granularity && known ? check_location(prop) : cudaErrorInvalidValue;
    if (!error)
        *granularity = GRANULARITY;
    return hc_driver_end(error);
}

/* ---- mappings ---------------------------------------------------------------------------------------------------- */

static struct mapping *find_mapping(const void *address)
{
    struct mapping *mapping = mappings;
    while (mapping && (mapping->unmapping || !is_within(address, 1, mapping->base, mapping->bytes)))
        mapping = mapping->next;
    return mapping;
}

static bool unmap_pages(unsigned char *base, size_t bytes)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    return mmap(base, bytes, PROT_NONE, flags, -1, 0) != MAP_FAILED;
}

static cudaError_t create_mapping(unsigned char *base, size_t bytes, struct memory *memory)
{
    struct mapping *mapping = calloc(1, sizeof *mapping);
    if (!mapping || mmap(base, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->file, 0) == MAP_FAILED) {
        free(mapping);
        return cudaErrorMemoryAllocation;
    }
    struct hc_block *block = hc_block_make_borrowed(HC_MEMORY_DEVICE, base, bytes, memory->properties.location.id);
    if (!block) {
        unmap_pages(base, bytes);
        free(mapping);
        return cudaErrorMemoryAllocation;
    }
    *mapping = (struct mapping){.next = mappings, .base = base, .bytes = bytes, .memory = memory, .block = block};
    memory->references++;
    mappings = mapping;
    return cudaSuccess;
}

static cudaError_t map_addresses(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle)
{
    unsigned char *base = (unsigned char *)(uintptr_t)address;
    struct memory *memory = find_memory(handle);
    if (!memory || !bytes || !is_aligned(address, GRANULARITY))
        return cudaErrorInvalidValue;
    if (offset || bytes != memory->bytes)
        return cudaErrorNotSupported; /* a mapping must cover the whole memory, and no more (measured) */
    if (!find_range(base, bytes) || mapping_in(base, bytes))
        return cudaErrorInvalidValue;
    return create_mapping(base, bytes, memory);
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    HC_DRIVER_CALL(flags ? cudaErrorInvalidValue : map_addresses(ptr, size, offset, handle));
}

static void destroy_mapping(struct mapping *mapping)
{
    struct mapping **link = &mappings;
    while (*link != mapping)
        link = &(*link)->next;
    *link = mapping->next;
    hc_block_release(mapping->block);
    release_memory(mapping->memory);
    free(mapping);
}

/* Returns how many bytes of [base, base + bytes) whole mappings cover. */
static size_t mapped_bytes_in(const unsigned char *base, size_t bytes)
{
    size_t sum = 0;
    for (const struct mapping *mapping = mappings; mapping; mapping = mapping->next)
        if (!mapping->unmapping && is_within(mapping->base, mapping->bytes, base, bytes))
            sum += mapping->bytes;
    return sum;
}

/* Whether a mapping reaches over either end, or is already being unmapped. */
static bool cuts_mapping(const unsigned char *base, size_t bytes)
{
    for (const struct mapping *mapping = mappings; mapping; mapping = mapping->next) {
        bool apart = base + bytes <= mapping->base || mapping->base + mapping->bytes <= base;
        if (!apart && (mapping->unmapping || !is_within(mapping->base, mapping->bytes, base, bytes)))
            return true;
    }
    return false;
}

/* Waits first, since queued work may still use the memory. The addresses stay reserved. Ranges without mappings are
 * ignored (measured). */
static cudaError_t unmap_addresses(CUdeviceptr address, size_t bytes)
{
    unsigned char *base = (unsigned char *)(uintptr_t)address;
    cudaError_t error = cudaSuccess;
    if (!bytes || !is_aligned(address, GRANULARITY) || !is_aligned(bytes, GRANULARITY) || !find_range(base, bytes) ||
        cuts_mapping(base, bytes))
        return cudaErrorInvalidValue;
    for (struct mapping *mapping = mappings; mapping; mapping = mapping->next) {
        if (is_within(mapping->base, mapping->bytes, base, bytes)) {
            mapping->unmapping = true;
            mapping->block->live = false;
        }
    }
    for (int device = 0; device < hc_device_count(); device++)
        if (!error)
            error = hc_run_device(device);
    for (struct mapping *mapping = mappings, *next = NULL; mapping; mapping = next) {
        next = mapping->next;
        if (!mapping->unmapping || !is_within(mapping->base, mapping->bytes, base, bytes))
            continue;
        if (!unmap_pages(mapping->base, mapping->bytes) && !error)
            error = cudaErrorMemoryAllocation;
        destroy_mapping(mapping);
    }
    return error;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    cudaError_t error = hc_driver_begin_quiet();
    if (!error)
        error = unmap_addresses(ptr, size);
    return hc_driver_end(error);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    cudaError_t error = hc_driver_begin();
    const struct mapping *mapping = find_mapping(addr);
    if (!error && (!handle || !mapping))
        error = cudaErrorInvalidValue;
    if (!error) {
        mapping->memory->references++;
        mapping->memory->handles++;
        *handle = (CUmemGenericAllocationHandle)(uintptr_t)mapping->memory;
    }
    return hc_driver_end(error);
}

/* ---- access ------------------------------------------------------------------------------------------------------ */

static cudaError_t check_access(const CUmemAccessDesc *desc)
{
    if (desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return cudaErrorNotSupported;
    if (desc->location.id < 0 || desc->location.id >= hc_device_count())
        return cudaErrorInvalidDevice;
    bool known = desc->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
                 desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return known ? cudaSuccess : cudaErrorInvalidValue;
}

/* All devices are one processor: what one device may do, all may. */
static cudaError_t apply_access(const struct mapping *mapping)
{
    unsigned any = 0;
    for (int device = 0; device < HC_DEVICES_MAX; device++)
        any |= mapping->access[device];
    int protection = any == CU_MEM_ACCESS_FLAGS_PROT_NONE   ? PROT_NONE
                     : any == CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ
                                                            : PROT_READ | PROT_WRITE;
    return mprotect(mapping->base, mapping->bytes, protection) ? cudaErrorMemoryAllocation : cudaSuccess;
}

static cudaError_t set_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *desc, size_t count)
{
    const unsigned char *base = (const unsigned char *)(uintptr_t)address;
    cudaError_t error = cudaSuccess;
    if (!bytes || !desc || !count || mapped_bytes_in(base, bytes) != bytes)
        return cudaErrorInvalidValue;
    for (size_t i = 0; !error && i < count; i++)
        error = check_access(&desc[i]);
    for (struct mapping *mapping = mappings; !error && mapping; mapping = mapping->next) {
        if (!is_within(mapping->base, mapping->bytes, base, bytes))
            continue;
        for (size_t i = 0; i < count; i++)
            mapping->access[desc[i].location.id] = (unsigned char)desc[i].flags;
        error = apply_access(mapping);
    }
    return error;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    HC_DRIVER_CALL(set_access(ptr, size, desc, count));
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
    cudaError_t error = hc_driver_begin();
    const struct mapping *mapping = find_mapping((const void *)(uintptr_t)ptr);
    if (!error && (!flags || !location || !mapping))
        error = cudaErrorInvalidValue;
    if (!error) {
        const CUmemAccessDesc asked = {.location = *location, .flags = CU_MEM_ACCESS_FLAGS_PROT_NONE};
        error = check_access(&asked);
    }
    if (!error)
        *flags = mapping->access[location->id];
    return hc_driver_end(error);
}
