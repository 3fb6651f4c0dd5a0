/* Blocks with mappings of their own and slack around them. Freed blocks stay known, so that messages can name a stale
 * address. */
#ifndef HOSTCUDA_MEMORY_REGIONS_H
#define HOSTCUDA_MEMORY_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hc_region_state {
    HC_REGION_GONE,
    HC_REGION_LIVE,
    HC_REGION_IDLE, /* owned by a graph's node; work has freed it, or has not allocated it yet */
    HC_REGION_FREED,
};

/* Entries stay until the process ends, since signal handlers walk the list. */
struct hc_region {
    struct hc_region *next;
    struct hc_region *next_open; /* next of the regions that device work has opened */
    unsigned char *map;          /* guard page, data pages, guard page */
    size_t map_bytes;
    unsigned char *base; /* the block; it ends where the data pages end, up to alignment */
    size_t bytes;
    uint64_t id;
    uint64_t freed_at; /* sequence number of the free */
    enum hc_region_state state;
    bool device, open;
};

/* Returns NULL if there is no memory. The region is accessible, and its slack is filled. */
struct hc_region *hc_region_allocate(size_t bytes, size_t alignment, bool device, uint64_t id);
void hc_region_free(struct hc_region *region);
/* Returns the region whose mapping, including guard pages, contains the address. */
struct hc_region *hc_region_at(const void *address);
/* Returns the region whose block is nearest to the address; NULL: there is none. */
const struct hc_region *hc_region_nearest(const void *address);
/* Whether the address is in the data pages of a live region, which are larger than its block. */
bool hc_region_contains(const struct hc_region *region, const void *address);
void hc_region_protect(const struct hc_region *region, bool open);
/* Returns the first overwritten byte around the block; NULL: there is none. The region must be accessible. */
const unsigned char *hc_region_find_damage(const struct hc_region *region);
/* Writes a text such as "4 bytes past the end of device block 7, 256 bytes at 0x...". region NULL: writes that no block
 * is near. */
void hc_region_describe(const struct hc_region *region, const void *address, char *text, size_t text_bytes);

#endif
