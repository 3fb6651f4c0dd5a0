#include "hostcuda/memory/hostile.h"

#include "hostcuda/memory/memory.h"
#include "hostcuda/memory/regions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned hc_hostile;

static unsigned mode_of(const char *word, size_t length)
{
    static const struct {
        const char *name;
        unsigned mode;
    } modes[] = {{"poison", HC_POISON}, {"fence", HC_FENCE}, {"reuse", HC_REUSE}, {"never", HC_NEVER}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strlen(modes[i].name) == length && !memcmp(modes[i].name, word, length))
            return modes[i].mode;
    return 0;
}

bool hc_hostile_start(const char *text)
{
    unsigned modes = 0;
    for (const char *word = text; word && *word;) {
        size_t length = strcspn(word, ",");
        unsigned mode = mode_of(word, length);
        if (!mode) {
            fprintf(stderr,
                    "hostcuda: HOSTCUDA_MEMORY has the word \"%.*s\"; allowed are poison, fence, reuse, never\n",
                    (int)length, word);
            return false;
        }
        modes |= mode;
        word += length;
        word += *word == ',';
    }
    if (modes & HC_REUSE && modes & HC_NEVER) {
        fprintf(stderr, "hostcuda: HOSTCUDA_MEMORY has reuse and never, which exclude each other; allowed are poison, "
                        "fence, and one of reuse and never\n");
        return false;
    }
    hc_hostile = modes;
    return true;
}

static void poison(const struct hc_region *region)
{
    if (hc_hostile & HC_POISON)
        memset(region->base, HC_POISON_BYTE, region->bytes);
}

void *hc_backing_take(size_t bytes, size_t alignment, bool device, uint64_t id)
{
    void *base = NULL;
    if (!hc_hostile)
        return posix_memalign(&base, alignment, bytes) == 0 ? base : NULL;
    if (bytes > hc_device_bytes())
        return NULL; /* a mapping takes no memory yet, and would be given */
    if (hc_hostile & HC_FENCE)
        hc_fence_install();
    struct hc_region *region = hc_region_take(bytes, alignment, device, id);
    if (!region)
        return NULL;
    poison(region);
    if (device)
        hc_region_protect(region, false);
    return region->base;
}

void hc_backing_give(void *base)
{
    if (!hc_hostile) {
        free(base);
        return;
    }
    struct hc_region *region = hc_region_at(base);
    if (!(hc_hostile & HC_FENCE)) /* else nobody can read it */
        poison(region);
    hc_region_give(region);
}

void hc_backing_set_live(const struct hc_block *block, bool live)
{
    struct hc_region *region = hc_hostile ? hc_region_at(block->base) : NULL;
    if (!region)
        return;
    hc_region_protect(region, true);
    poison(region);
    hc_region_protect(region, false);
    region->state = live ? HC_REGION_LIVE : HC_REGION_IDLE;
}

bool hc_backing_owns(const void *address)
{
    return hc_hostile && hc_region_at(address);
}
