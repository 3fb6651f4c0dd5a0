/* What an address means now, by the driver's count. */
#ifndef BG_DEBUG_POINTERS_H
#define BG_DEBUG_POINTERS_H

#include <cuda.h>
#include <cudaTypedefs.h>

#include "base/base.h"

/* An allocation, device or pinned; of virtual memory, a mapping. The id is never used twice in a process. */
typedef struct bg__allocation {
    uintptr_t base;
    size_t bytes;
    unsigned long long id;
} bg__allocation;

static inline bool bg__allocation_has(const bg__allocation *allocation, uintptr_t address)
{
    return address - allocation->base < allocation->bytes;
}

/* A set of allocations, in order of their addresses; no two overlap. Starts zeroed. */
typedef struct bg__allocations {
    bg__allocation *list;
    size_t count, capacity;
    PFN_cuPointerGetAttributes_v7000 get;
} bg__allocations;

/* Before the first bg__pointer_find. */
bg_status bg__allocations_init(bg__allocations *set);
void bg__allocations_free(bg__allocations *set);
/* The member that holds address; NULL: none. */
const bg__allocation *bg__allocations_find(const bg__allocations *set, uintptr_t address);
/* What overlaps a member is not added. OUT_OF_MEMORY. */
bg_status bg__allocations_add(bg__allocations *set, const bg__allocation *allocation);

/* The allocation that holds address now; id 0: none that CUDA knows. */
bg_status bg__pointer_find(const bg__allocations *set, uintptr_t address, bg__allocation *allocation);
/* Whether a word may be an address at all, so that the driver need not be asked. */
static inline bool bg__pointer_may_be(uint64_t word)
{
    return word >= (1u << 16) && word < (1ull << 57); /* five levels of pages, the most that x86-64 has */
}

#endif
