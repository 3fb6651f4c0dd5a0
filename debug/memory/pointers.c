#include "pointers.h"

#include <stdlib.h>
#include <string.h>

bg_status bg__allocations_init(bg__allocations *set)
{
    *set = (bg__allocations){NULL, 0, 0, NULL};
    return bg__driver_get_entry_point("cuPointerGetAttributes", 7000, &set->get);
}

void bg__allocations_free(bg__allocations *set)
{
    free(set->list);
    *set = (bg__allocations){NULL, 0, 0, NULL};
}

/* The number of allocations that begin at or below `address`. */
static size_t count_up_to(const bg__allocations *set, uintptr_t address)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->list[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const bg__allocation *bg__allocations_find(const bg__allocations *set, uintptr_t address)
{
    size_t at = count_up_to(set, address);
    return at > 0 && bg__allocation_has(&set->list[at - 1], address) ? &set->list[at - 1] : NULL;
}

bool bg__allocations_overlap(const bg__allocations *set, uintptr_t base, size_t bytes)
{
    size_t at = count_up_to(set, base);
    if (at > 0 && bg__allocation_has(&set->list[at - 1], base))
        return true;
    return at < set->count && set->list[at].base - base < bytes;
}

bg_status bg__allocations_add(bg__allocations *set, const bg__allocation *allocation)
{
    size_t at = count_up_to(set, allocation->base);
    bg_status status;

    if (allocation->bytes == 0 || bg__allocations_overlap(set, allocation->base, allocation->bytes))
        return BG_OK;
    BG__TRY(BG__ARRAY_GROW(set->list, set->count, set->capacity, "allocations"));
    memmove(&set->list[at + 1], &set->list[at], (set->count - at) * sizeof *set->list);
    set->list[at] = *allocation;
    set->count++;
done:
    return status;
}

/* Returns the intersection of `range` and `mapping` if both contain `address`; otherwise the one of the two that
 * contains it. If neither does, returns one byte at `address`. */
static bg__allocation narrow_allocation(uintptr_t address, const bg__allocation *range, const bg__allocation *mapping)
{
    bg__allocation both = *range;
    uintptr_t range_end = range->base + range->bytes, mapping_end = mapping->base + mapping->bytes;

    if (!bg__allocation_has(mapping, address))
        return bg__allocation_has(range, address) ? *range : (bg__allocation){address, 1, range->id};
    if (!bg__allocation_has(range, address))
        return *mapping;
    both.base = mapping->base > range->base ? mapping->base : range->base;
    both.bytes = (mapping_end < range_end ? mapping_end : range_end) - both.base;
    return both;
}

/* For an address that CUDA does not know, cuPointerGetAttributes succeeds with id 0 and leaves the range unchanged
 * (measured). For virtual memory the range is the whole reservation, and the id belongs to a mapping in it. A small
 * allocation is a range in a mapping that it shares with others. */
bg_status bg__pointer_find(const bg__allocations *set, uintptr_t address, bg__allocation *allocation)
{
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
                                        CU_POINTER_ATTRIBUTE_MAPPING_SIZE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    unsigned long long id = 0;
    uintptr_t mapping = 0, range = 0;
    size_t mapping_bytes = 0, range_bytes = 0;
    void *answers[] = {&id, &mapping, &mapping_bytes, &range, &range_bytes};
    bg_status status = BG_OK;

    *allocation = (bg__allocation){0, 0, 0};
    BG__TRY_DRIVER("cuPointerGetAttributes",
                   set->get(sizeof attributes / sizeof attributes[0], attributes, answers, (CUdeviceptr)address));
    if (id == 0)
        goto done;
    *allocation = narrow_allocation(address, &(const bg__allocation){range, range_bytes, id},
                                    &(const bg__allocation){mapping, mapping_bytes, id});
done:
    return status;
}
