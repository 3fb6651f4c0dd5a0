/* What the driver knows about an address. */
#include "memory/ledger.h"

#include <cuda.h>
#include <stdatomic.h>
#include <stdio.h>

typedef CUresult (*get_attributes)(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr);
typedef CUresult (*get_attribute)(void *data, CUpointer_attribute attribute, CUdeviceptr ptr);

/* Looks the function up once in a process. */
static bg_status find_get_attributes(get_attributes *found)
{
    static _Atomic(get_attributes) known;
    bg_status status = BG_OK;

    *found = atomic_load_explicit(&known, memory_order_acquire);
    if (*found != NULL)
        return BG_OK;
    BG__TRY(bg__driver_get_entry_point("cuPointerGetAttributes", 7000, (void *)found));
    atomic_store_explicit(&known, *found, memory_order_release);
done:
    return status;
}

static bg_status find_get_attribute(get_attribute *found)
{
    static _Atomic(get_attribute) known;
    bg_status status = BG_OK;

    *found = atomic_load_explicit(&known, memory_order_acquire);
    if (*found != NULL)
        return BG_OK;
    BG__TRY(bg__driver_get_entry_point("cuPointerGetAttribute", 4000, (void *)found));
    atomic_store_explicit(&known, *found, memory_order_release);
done:
    return status;
}

/* Uses the call for one attribute; the call for several was not slower in replays that check some 300 allocations
 * (H100). */
bg_status bg__driver_get_generation(const void *ptr, uint64_t *generation)
{
    unsigned long long id = 0;
    get_attribute get;
    CUresult result;
    bg_status status;

    BG__TRY(find_get_attribute(&get));
    result = get(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, (CUdeviceptr)(uintptr_t)ptr);
    if (result == CUDA_ERROR_INVALID_VALUE) /* no memory that CUDA knows */
        id = 0;
    else
        BG__TRY_DRIVER("cuPointerGetAttribute", result);
    *generation = id;
done:
    return status;
}

/* For mapped memory, the range covers all reserved addresses, which may have several mappings, each with its own id.
 * The owner is the mapping at ptr. */
bg_status bg__driver_find_owner(const void *ptr, bg__owner *owner)
{
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_BUFFER_ID,   CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED,  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE,  CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
                                   CU_POINTER_ATTRIBUTE_MAPPING_SIZE};
    unsigned type = 0, managed = 0;
    unsigned long long id = 0;
    uintptr_t address = (uintptr_t)ptr, range = 0, mapping = 0;
    size_t range_bytes = 0, mapping_bytes = 0;
    void *answers[] = {&id, &type, &managed, &range, &range_bytes, &mapping, &mapping_bytes};
    get_attributes get;
    bg_status status;

    BG__TRY(find_get_attributes(&get));
    BG__TRY_DRIVER("cuPointerGetAttributes",
                   get(sizeof asked / sizeof *asked, asked, answers, (CUdeviceptr)(uintptr_t)ptr));
    if (id == 0 || type == 0)
        goto done;
    if (address - range >= range_bytes) { /* CUDA does not report how far the allocation extends */
        range = address;
        range_bytes = UINTPTR_MAX - address;
    }
    owner->kind = managed ? BG__OWNER_MANAGED : type == CU_MEMORYTYPE_DEVICE ? BG__OWNER_DEVICE : BG__OWNER_PINNED;
    owner->generation = id;
    owner->base = owner->range = range;
    owner->bytes = range_bytes;
    if (address - mapping < mapping_bytes) {
        uintptr_t range_end = range + range_bytes, mapping_end = mapping + mapping_bytes;
        owner->base = mapping > range ? mapping : range;
        owner->bytes = (mapping_end < range_end ? mapping_end : range_end) - owner->base;
    }
done:
    return status;
}

static const char *owner_kind_text(const bg__owner *owner)
{
    switch (owner->kind) {
    case BG__OWNER_NONE: break;
    case BG__OWNER_REGISTERED: return "block";
    case BG__OWNER_POOL: return owner->shared ? "pool block of bucket" : "pool block";
    case BG__OWNER_DEVICE: return "device allocation";
    case BG__OWNER_PINNED: return "pinned host allocation";
    case BG__OWNER_MANAGED: return "managed allocation";
    }
    return "nothing";
}

const char *bg__owner_describe(const bg__owner *owner, char *text, size_t bytes)
{
    const char *quote = owner->name[0] != '\0' ? "\"" : "";
    snprintf(text, bytes, "%s%s%s%s%s of %zu bytes at %p (allocation id %llu)", owner_kind_text(owner),
             quote[0] ? " " : "", quote, owner->name, quote, owner->bytes, (void *)owner->base,
             (unsigned long long)owner->generation);
    if (owner->kind == BG__OWNER_NONE)
        snprintf(text, bytes, "nothing");
    return text;
}
