/* Finds the allocation that holds an address, by a query to the driver. */
#ifndef BG_DEBUG_POINTERS_H
#define BG_DEBUG_POINTERS_H

#include <cuda.h>
#include <cudaTypedefs.h>

#include "base/base.h"

/* A device or pinned allocation, or a mapping of virtual memory. CUDA never uses an id twice in a process. */
typedef struct bg__allocation {
    uintptr_t base;
    size_t bytes;
    unsigned long long id;
} bg__allocation;

static inline bool bg__allocation_has(const bg__allocation *allocation, uintptr_t address)
{
    return address - allocation->base < allocation->bytes;
}

/* Allocations that do not overlap, in order of their addresses. Starts zeroed. */
typedef struct bg__allocations {
    bg__allocation *list;
    size_t count, capacity;
    PFN_cuPointerGetAttributes_v7000 get;
} bg__allocations;

/* Needed before the first bg__pointer_find. Errors: UNSUPPORTED. */
bg_status bg__allocations_init(bg__allocations *set);
void bg__allocations_free(bg__allocations *set);
/* The allocation of the set that holds address; NULL: none. */
const bg__allocation *bg__allocations_find(const bg__allocations *set, uintptr_t address);
/* Whether an allocation of the set overlaps the `bytes` bytes from `base` on. */
bool bg__allocations_overlap(const bg__allocations *set, uintptr_t base, size_t bytes);
/* Adds an allocation, unless it overlaps an allocation of the set. Errors: OUT_OF_MEMORY. */
bg_status bg__allocations_add(bg__allocations *set, const bg__allocation *allocation);

/* Queries the driver for the allocation that contains `address` now; id 0: CUDA knows none. */
bg_status bg__pointer_find(const bg__allocations *set, uintptr_t address, bg__allocation *allocation);
/* Whether `word` may be an address. If it cannot be one, the driver need not be queried. */
static inline bool bg__pointer_may_be(uint64_t word)
{
    return word >= (1u << 16) && word < (1ull << 57); /* the limit of five-level paging on x86-64 */
}

#endif
