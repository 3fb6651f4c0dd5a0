/* Blocks as mappings of their own, with room around them; freed ones stay known, so that a stale address has a name. */
#ifndef HOSTCUDA_REGIONS_H
#define HOSTCUDA_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hc_region_state {
    HC_REGION_GONE,
    HC_REGION_LIVE,
    HC_REGION_IDLE, /* a graph's node owns the address, and work has freed it or not yet allocated it */
    HC_REGION_FREED,
};

/* Never freed before the end of the process: signal handlers walk the list. */
struct hc_region {
    struct hc_region *next;
    struct hc_region *next_open; /* of those that device work has opened */
    unsigned char *map;          /* guard page, data pages, guard page */
    size_t map_bytes;
    unsigned char *base; /* the block, which ends where the data pages end, but for its alignment */
    size_t bytes;
    uint64_t id;
    uint64_t freed_at; /* order of frees */
    enum hc_region_state state;
    bool device, open;
};

/* NULL: no memory. Its pages are open, its slack is filled. */
struct hc_region *hc_region_take(size_t bytes, size_t alignment, bool device, uint64_t id);
void hc_region_give(struct hc_region *region);
/* The region whose mapping, guards included, contains the address. */
struct hc_region *hc_region_at(const void *address);
/* The region whose block is nearest to the address; NULL: there is none. */
const struct hc_region *hc_region_nearest(const void *address);
/* Of a region that is live: the address lies in its data pages, which are more than its block. */
bool hc_region_holds(const struct hc_region *region, const void *address);
void hc_region_protect(const struct hc_region *region, bool open);
/* The first byte around the block that is not as it was filled; NULL: all are. Its pages are open. */
const unsigned char *hc_region_damage(const struct hc_region *region);
/* "4 bytes past the end of device block 7, 256 bytes at 0x..."; NULL: that nothing is near. */
void hc_region_describe(const struct hc_region *region, const void *address, char *text, size_t text_bytes);

#endif
