/* Virtual memory: reserves addresses once, and maps device memory when it is needed. */
#include "memory/pages.h"

#include <stdlib.h>

static bg_status find_driver_functions(bg__pages *pages)
{
    enum { SINCE = 10020 };
    const struct {
        const char *name;
        void *function;
    } entries[] = {
        {"cuMemAddressReserve", &pages->address_reserve},
        {"cuMemAddressFree", &pages->address_free},
        {"cuMemCreate", &pages->create},
        {"cuMemRelease", &pages->release},
        {"cuMemMap", &pages->map},
        {"cuMemUnmap", &pages->unmap},
        {"cuMemSetAccess", &pages->set_access},
        {"cuMemGetAllocationGranularity", &pages->get_granularity},
    };
    bg_status status = BG_OK;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        BG__TRY(bg__driver_get_entry_point(entries[i].name, SINCE, entries[i].function));
done:
    return status;
}

/* Returns false if the result does not fit into a size_t. */
static bool round_up_bytes(size_t *bytes, size_t to)
{
    if (*bytes > SIZE_MAX - to)
        return false;
    *bytes = (*bytes + to - 1) / to * to;
    return true;
}

/* The default size is halved until the process can reserve it (ulimit -v, valgrind); a requested size is not. */
static CUresult reserve_pages(const bg__pages *pages, CUdeviceptr *base, size_t *bytes, bool asked)
{
    const size_t least = (size_t)1 << 30, wanted = *bytes;
    CUresult result = pages->address_reserve(base, *bytes, 0, 0, 0);
    while (result == CUDA_ERROR_OUT_OF_MEMORY && !asked && *bytes / 2 >= least) {
        *bytes = *bytes / 2 / pages->granularity * pages->granularity;
        result = pages->address_reserve(base, *bytes, 0, 0, 0);
    }
    if (result == CUDA_SUCCESS && *bytes < wanted)
        bg__warn("%zu bytes of virtual addresses cannot be reserved; %zu are reserved instead", wanted, *bytes);
    return result;
}

bg_status bg__pages_init(bg__pages *pages, int device, size_t bytes, size_t limit)
{
    const bool asked = bytes > 0;
    size_t free_bytes;
    CUdeviceptr base;
    bg_status status;

    *pages = (bg__pages){.limit = limit};
    pages->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    pages->properties.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    BG__TRY(find_driver_functions(pages));
    if (!asked)
        BG__TRY_CUDA(cudaMemGetInfo(&free_bytes, &bytes));
    BG__TRY_DRIVER("cuMemGetAllocationGranularity",
                   pages->get_granularity(&pages->granularity, &pages->properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    if (!round_up_bytes(&bytes, pages->granularity))
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "reserve_bytes is %zu, which exceeds the address space; lower it", bytes);
    BG__TRY_DRIVER("cuMemAddressReserve", reserve_pages(pages, &base, &bytes, asked));
    pages->base = (char *)(uintptr_t)base;
    pages->bytes = bytes;
done:
    if (status == BG_ERROR_OUT_OF_MEMORY) {
        bg__error_add_location("reserving %zu bytes of virtual addresses for a pool", bytes);
        bg__error_set_advice("%s options.reserve_bytes, or raise the limit of ulimit -v", asked ? "lower" : "set");
    }
    if (status == BG_ERROR_CUDA && bg__error_cuda_cause() == cudaErrorNotSupported)
        status = bg__fail(
            BG_ERROR_UNSUPPORTED,
            "device %d does not support virtual memory management, which pools need; capture without a pool there",
            device);
    return status;
}

size_t bg__pages_mapped_bytes(const bg__pages *pages)
{
    return pages->ends[BG__LOW].bytes + pages->ends[BG__HIGH].bytes;
}

static void warn_if_not_released(CUresult result, const char *call)
{
    bg__warn_if_not_released((cudaError_t)result, call);
}

void bg__pages_clear(bg__pages *pages)
{
    bg__relaxed_mode relaxed = bg__relaxed_mode_try_begin();
    for (int side = BG__LOW; side <= BG__HIGH; side++) {
        bg__mapped_end *end = &pages->ends[side];
        /* Each cuMemUnmap undoes one cuMemMap. */
        while (end->count > 0) {
            size_t step = end->steps[--end->count];
            end->bytes -= step;
            warn_if_not_released(
                pages->unmap((CUdeviceptr)(uintptr_t)bg__pages_address(pages, side, end->bytes, step), step),
                "cuMemUnmap");
        }
        free(end->steps);
    }
    if (pages->base != NULL)
        warn_if_not_released(pages->address_free((CUdeviceptr)(uintptr_t)pages->base, pages->bytes),
                             "cuMemAddressFree");
    *pages = (bg__pages){.base = NULL};
    bg__relaxed_mode_end(relaxed);
}

static bg_status map_pages(bg__pages *pages, char *at, size_t bytes)
{
    const CUmemAccessDesc access = {.location = pages->properties.location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)at;
    CUmemGenericAllocationHandle handle;
    bool created = false, mapped = false;
    bg__relaxed_mode relaxed;
    bg_status status;

    BG__TRY(bg__relaxed_mode_begin(&relaxed)); /* captures may be running */
    BG__TRY_DRIVER("cuMemCreate", pages->create(&handle, bytes, &pages->properties, 0));
    created = true;
    BG__TRY_DRIVER("cuMemMap", pages->map(address, bytes, 0, handle, 0));
    mapped = true;
    BG__TRY_DRIVER("cuMemSetAccess", pages->set_access(address, bytes, &access, 1));
done:
    if (status != BG_OK && mapped)
        warn_if_not_released(pages->unmap(address, bytes), "cuMemUnmap");
    if (created) /* the mapping keeps the memory */
        warn_if_not_released(pages->release(handle), "cuMemRelease");
    bg__relaxed_mode_end(relaxed);
    return status;
}

bg_status bg__pages_grow(bg__pages *pages, bg__side side, size_t bytes)
{
    bg__mapped_end *end = &pages->ends[side];
    size_t mapped = bg__pages_mapped_bytes(pages), step;
    bg_status status = BG_OK;

    if (bytes <= end->bytes)
        return BG_OK;
    step = bytes - end->bytes;
    if (!round_up_bytes(&step, pages->granularity) || step > pages->bytes - mapped)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY,
                 "the %zu bytes of addresses that the pool reserved are too few; raise options.reserve_bytes, or "
                 "capture smaller sizes",
                 pages->bytes);
    if (pages->limit > 0 && (mapped > pages->limit || step > pages->limit - mapped))
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY,
                 "%zu more bytes would exceed the pool's limit; raise limit_bytes of the pool's options (for a "
                 "runner: memory_limit and memory_fraction of its configuration), or capture smaller sizes",
                 step);
    BG__TRY(BG__ARRAY_GROW(end->steps, end->count, end->capacity, "parts of a pool"));
    BG__TRY(map_pages(pages, bg__pages_address(pages, side, end->bytes, step), step));
    end->steps[end->count++] = step;
    end->bytes += step;
done:
    return status;
}
