#include "hostcuda/src/memory/backing.h"

#include "hostcuda/src/memory/capacity.h"
#include "hostcuda/src/memory/fence.h"
#include "hostcuda/src/memory/memory_modes.h"
#include "hostcuda/src/memory/memory_regions.h"

#include <stdlib.h>
#include <string.h>

static void poison_region(const struct hc_region *region)
{
    if (hc_memory_modes & HC_POISON)
        memset(region->base, HC_POISON_BYTE, region->bytes);
}

void *hc_backing_allocate(size_t bytes, size_t alignment, bool device, uint64_t id)
{
    void *base = NULL;
    if (!hc_memory_modes)
        return posix_memalign(&base, alignment, bytes) == 0 ? base : NULL;
    if (bytes > hc_device_bytes())
        return NULL; /* a mapping takes no memory at first, so it would succeed */
    if (hc_memory_modes & HC_FENCE)
        hc_fence_install_handler();
    struct hc_region *region = hc_region_allocate(bytes, alignment, device, id);
    if (!region)
        return NULL;
    poison_region(region);
    if (device)
        hc_region_protect(region, false);
    return region->base;
}

void hc_backing_free(void *base)
{
    if (!hc_memory_modes) {
        free(base);
        return;
    }
    struct hc_region *region = hc_region_at(base);
    if (!(hc_memory_modes & HC_FENCE)) /* fenced memory cannot be read anyway */
        poison_region(region);
    hc_region_free(region);
}

void hc_backing_set_live(const void *base, bool live)
{
    struct hc_region *region = hc_memory_modes ? hc_region_at(base) : NULL;
    if (!region)
        return;
    hc_region_protect(region, true);
    poison_region(region);
    hc_region_protect(region, false);
    region->state = live ? HC_REGION_LIVE : HC_REGION_IDLE;
}

bool hc_backing_owns(const void *address)
{
    return hc_memory_modes && hc_region_at(address);
}
