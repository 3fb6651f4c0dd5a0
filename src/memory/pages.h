/* A range of addresses, and the device memory that is mapped into it from both ends. */
#ifndef BG_MEMORY_PAGES_H
#define BG_MEMORY_PAGES_H

#include "memory/memory.h"

#include <cudaTypedefs.h>

/* From the lowest address up, or from the highest down. */
typedef enum bg__side { BG__LOW, BG__HIGH } bg__side;

typedef struct bg__mapped_end {
    size_t bytes;
    size_t *steps; /* the bytes of each mapping, the oldest first; the oldest lies at this end of the range */
    size_t count, capacity;
} bg__mapped_end;

typedef struct bg__pages {
    PFN_cuMemAddressReserve_v10020 address_reserve;
    PFN_cuMemAddressFree_v10020 address_free;
    PFN_cuMemCreate_v10020 create;
    PFN_cuMemRelease_v10020 release;
    PFN_cuMemMap_v10020 map;
    PFN_cuMemUnmap_v10020 unmap;
    PFN_cuMemSetAccess_v10020 set_access;
    PFN_cuMemGetAllocationGranularity_v10020 get_granularity;

    CUmemAllocationProp properties;
    size_t granularity;
    char *base; /* NULL: nothing is reserved */
    size_t bytes;
    size_t limit; /* of mapped memory; 0: none */
    bg__mapped_end ends[2];
} bg__pages;

/* bytes 0: as much as the device has, halved until the process can reserve it. Clearing a zeroed struct is fine. */
bg_status bg__pages_init(bg__pages *pages, int device, size_t bytes, size_t limit);
/* All work on the memory must have finished. */
void bg__pages_clear(bg__pages *pages);
/* Maps the side's first `bytes` bytes, as far as they are not mapped. After an error nothing has changed. */
bg_status bg__pages_grow(bg__pages *pages, bg__side side, size_t bytes);
size_t bg__pages_mapped_bytes(const bg__pages *pages);

/* Returns the address of `bytes` bytes that begin `offset` bytes from the side's end. */
static inline void *bg__pages_address(const bg__pages *pages, bg__side side, size_t offset, size_t bytes)
{
    return pages->base + (side == BG__LOW ? offset : pages->bytes - offset - bytes);
}
static inline bool bg__pages_contain(const bg__pages *pages, bg__side side, const void *ptr)
{
    uintptr_t at = (uintptr_t)ptr, base = (uintptr_t)pages->base, end = base + pages->bytes;
    return side == BG__LOW ? at >= base && at - base < pages->ends[BG__LOW].bytes
                           : at < end && end - at <= pages->ends[BG__HIGH].bytes;
}

#endif
