#include "hostcuda/src/memory/memory_regions.h"

#include "hostcuda/src/memory/memory_modes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLACK_BYTE = 0xa5 };
/* Limits for freed blocks, unless addresses are never reused. Fenced blocks keep their addresses but no memory. */
static const size_t QUARANTINE_BYTES = (size_t)64 << 20, QUARANTINE_FENCED_BYTES = (size_t)64 << 30;

static struct hc_region *regions;
static size_t quarantined;
static uint64_t free_count;

static size_t page_bytes(void)
{
    long page = sysconf(_SC_PAGESIZE);
    return page > 0 ? (size_t)page : 4096;
}

static size_t round_up_to_unit(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static _Noreturn void abort_region(const char *what)
{
    fprintf(stderr, "hostcuda: %s\n", what);
    abort();
}

static unsigned char *data_of(const struct hc_region *region)
{
    return region->map + page_bytes();
}

static size_t data_bytes(const struct hc_region *region)
{
    return region->map_bytes - 2 * page_bytes();
}

/* ---- the list ------------------------------------------------------------------------------------------------ */

static struct hc_region *first_region(void)
{
    return __atomic_load_n(&regions, __ATOMIC_ACQUIRE);
}

struct hc_region *hc_region_at(const void *address)
{
    for (struct hc_region *region = first_region(); region; region = region->next)
        if (region->state != HC_REGION_GONE && (uintptr_t)address - (uintptr_t)region->map < region->map_bytes)
            return region;
    return NULL;
}

/* Returns an entry whose mapping is gone, or a new one. */
static struct hc_region *acquire_entry(void)
{
    for (struct hc_region *region = first_region(); region; region = region->next)
        if (region->state == HC_REGION_GONE && !region->open)
            return region;
    struct hc_region *region = calloc(1, sizeof *region);
    if (region) {
        region->next = regions;
        __atomic_store_n(&regions, region, __ATOMIC_RELEASE);
    }
    return region;
}

static void unmap_region(struct hc_region *region)
{
    region->state = HC_REGION_GONE;
    munmap(region->map, region->map_bytes);
}

/* ---- allocating and freeing ---------------------------------------------------------------------------------- */

static struct hc_region *last_freed(size_t bytes, size_t alignment)
{
    struct hc_region *best = NULL;
    for (struct hc_region *region = first_region(); region; region = region->next)
        if (region->state == HC_REGION_FREED && !region->open &&
            round_up_to_unit(region->bytes, alignment) == round_up_to_unit(bytes, alignment) &&
            (!best || region->freed_at > best->freed_at))
            best = region;
    return best;
}

static bool map_region(struct hc_region *region, size_t bytes, size_t alignment)
{
    size_t page = page_bytes(), data = round_up_to_unit(bytes, page);
    unsigned char *mapping =
        mmap(NULL, data + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        return false;
    if (hc_memory_modes & HC_FENCE &&
        (mprotect(mapping, page, PROT_NONE) != 0 || mprotect(mapping + page + data, page, PROT_NONE) != 0)) {
        munmap(mapping, data + 2 * page);
        return false;
    }
    region->map = mapping;
    region->map_bytes = data + 2 * page;
    region->base = mapping + page + data - round_up_to_unit(bytes, alignment);
    return true;
}

static void fill_slack(const struct hc_region *region)
{
    unsigned char *data = data_of(region), *end = region->base + region->bytes;
    memset(data, SLACK_BYTE, (size_t)(region->base - data));
    memset(end, SLACK_BYTE, (size_t)(data + data_bytes(region) - end));
}

struct hc_region *hc_region_allocate(size_t bytes, size_t alignment, bool device, uint64_t id)
{
    struct hc_region *region = hc_memory_modes & HC_REUSE ? last_freed(bytes, alignment) : NULL;
    if (region)
        quarantined -= region->map_bytes;
    else if (!(region = acquire_entry()) || !map_region(region, bytes, alignment))
        return NULL;
    region->bytes = bytes;
    region->device = device;
    region->id = id;
    region->open = false;
    hc_region_protect(region, true);
    fill_slack(region);
    region->state = HC_REGION_LIVE;
    return region;
}

static struct hc_region *oldest_freed(void)
{
    struct hc_region *oldest = NULL;
    for (struct hc_region *region = first_region(); region; region = region->next)
        if (region->state == HC_REGION_FREED && (!oldest || region->freed_at < oldest->freed_at))
            oldest = region;
    return oldest;
}

static void empty_quarantine(void)
{
    size_t limit = hc_memory_modes & HC_FENCE ? QUARANTINE_FENCED_BYTES : QUARANTINE_BYTES;
    while (quarantined > limit) {
        struct hc_region *oldest = oldest_freed();
        quarantined -= oldest->map_bytes;
        unmap_region(oldest);
    }
}

static void drop_contents(const struct hc_region *region)
{
    madvise(data_of(region), data_bytes(region), MADV_DONTNEED); /* only advice: it saves memory */
}

void hc_region_free(struct hc_region *region)
{
    region->state = HC_REGION_FREED;
    region->freed_at = ++free_count;
    quarantined += region->map_bytes;
    if (hc_memory_modes & HC_FENCE) {
        hc_region_protect(region, false);
        drop_contents(region);
    } else if (hc_memory_modes & HC_NEVER_REUSE && quarantined > QUARANTINE_BYTES) {
        drop_contents(region);
    }
    if (!(hc_memory_modes & HC_NEVER_REUSE))
        empty_quarantine();
}

/* ---- pages --------------------------------------------------------------------------------------------------- */

bool hc_region_contains(const struct hc_region *region, const void *address)
{
    return (uintptr_t)address - (uintptr_t)data_of(region) < data_bytes(region);
}

void hc_region_protect(const struct hc_region *region, bool open)
{
    if (!(hc_memory_modes & HC_FENCE))
        return;
    if (mprotect(data_of(region), data_bytes(region), open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
        abort_region("mprotect failed, as it does with too many mappings; raise vm.max_map_count, or unset "
                     "HOSTCUDA_MEMORY=fence");
}

const unsigned char *hc_region_find_damage(const struct hc_region *region)
{
    const unsigned char *end = data_of(region) + data_bytes(region);
    for (const unsigned char *byte = data_of(region); byte < end; byte++) {
        if (byte == region->base)
            byte += region->bytes;
        if (byte < end && *byte != SLACK_BYTE)
            return byte;
    }
    return NULL;
}

static size_t distance_to(const struct hc_region *region, const void *address)
{
    uintptr_t at = (uintptr_t)address, base = (uintptr_t)region->base, end = base + region->bytes;
    return at < base ? base - at : at < end ? 0 : at - end + 1;
}

const struct hc_region *hc_region_nearest(const void *address)
{
    const struct hc_region *best = NULL;
    for (const struct hc_region *region = first_region(); region; region = region->next)
        if (region->state != HC_REGION_GONE && (!best || distance_to(region, address) < distance_to(best, address)))
            best = region;
    return best;
}

void hc_region_describe(const struct hc_region *region, const void *address, char *text, size_t text_bytes)
{
    static const char *const states[] = {"", "", "unallocated ", "freed "};
    if (!region) {
        snprintf(text, text_bytes, "and no block is near it");
        return;
    }
    uintptr_t at = (uintptr_t)address, base = (uintptr_t)region->base, end = base + region->bytes;
    const char *where = at < base ? "before the start of" : at < end ? "into" : "past the end of";
    size_t distance = at < base ? base - at : at < end ? at - base : at - end;
    snprintf(text, text_bytes, "%zu bytes %s %s%s block %llu, %zu bytes at %p", distance, where, states[region->state],
             region->device ? "device" : "pinned", (unsigned long long)region->id, region->bytes, (void *)region->base);
}
