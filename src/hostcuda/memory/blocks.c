#include "hostcuda/memory/blocks.h"

#include "hostcuda/core/grow.h"
#include "hostcuda/memory/backing.h"
#include "hostcuda/memory/capacity.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256 };

static struct hc_block **blocks; /* by address */
static size_t block_count, block_capacity;
static uint64_t block_ids;

/* The first block that begins after the address. */
static size_t upper_bound(const void *address)
{
    size_t low = 0, high = block_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)blocks[middle]->base <= (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool reserve_slot(void)
{
    return hc_grow(&blocks, &block_capacity, block_count + 1, sizeof(*blocks));
}

struct hc_block *hc_block_borrow(enum hc_memory kind, void *base, size_t bytes, int device)
{
    struct hc_block *block = reserve_slot() ? calloc(1, sizeof *block) : NULL;
    if (!block)
        return NULL;
    *block = (struct hc_block){.base = base,
                               .bytes = bytes,
                               .kind = kind,
                               .device = device,
                               .references = 1,
                               .live = true,
                               .borrowed = true,
                               .id = ++block_ids};
    size_t at = upper_bound(base);
    memmove(blocks + at + 1, blocks + at, (block_count - at) * sizeof(struct hc_block *));
    blocks[at] = block;
    block_count++;
    return block;
}

struct hc_block *hc_block_make(enum hc_memory kind, size_t bytes, int device)
{
    if (bytes > hc_device_bytes() || (kind == HC_MEMORY_DEVICE && !hc_device_claim(device, bytes)))
        return NULL;
    void *base = hc_backing_take(bytes, ALIGNMENT, kind == HC_MEMORY_DEVICE, block_ids + 1);
    struct hc_block *block = base ? hc_block_borrow(kind, base, bytes, device) : NULL;
    if (block) {
        block->borrowed = false;
        return block;
    }
    if (base)
        hc_backing_give(base);
    if (kind == HC_MEMORY_DEVICE)
        hc_device_unclaim(device, bytes);
    return NULL;
}

void hc_block_retain(struct hc_block *block)
{
    block->references++;
}

void hc_block_release(struct hc_block *block)
{
    if (--block->references)
        return;
    size_t at = upper_bound(block->base) - 1;
    if (blocks) {
        memmove(blocks + at, blocks + at + 1, (block_count - at - 1) * sizeof(struct hc_block *));
        block_count--;
    }
    if (!block->borrowed) {
        if (block->kind == HC_MEMORY_DEVICE)
            hc_device_unclaim(block->device, block->bytes);
        hc_backing_give(block->base);
    }
    free(block);
}

size_t hc_block_count(void)
{
    return block_count;
}

struct hc_block *hc_block_find(const void *address)
{
    size_t at = upper_bound(address);
    if (!at)
        return NULL;
    struct hc_block *block = blocks[at - 1];
    bool inside = (uintptr_t)address - (uintptr_t)block->base < block->bytes;
    return inside && (block->live || block->graphs) ? block : NULL;
}

const struct hc_block *hc_block_ask(const void *address)
{
    const struct hc_block *block = hc_block_find(address);
    return block && block->live ? block : NULL;
}

struct hc_block *hc_block_overlapping(const void *address, size_t bytes)
{
    uintptr_t low = (uintptr_t)address, high = low + bytes;
    for (size_t i = 0; i < block_count && (uintptr_t)blocks[i]->base < high; i++)
        if (blocks[i]->live && (uintptr_t)blocks[i]->base + blocks[i]->bytes > low)
            return blocks[i];
    return NULL;
}

/* Mappings that touch are one memory to copies and fills. */
bool hc_block_overrun(const void *address, size_t bytes)
{
    struct hc_block *block = hc_block_find(address);
    if (!block)
        return false;
    size_t left = block->bytes - ((uintptr_t)address - (uintptr_t)block->base);
    while (left < bytes && block->borrowed && block->kind == HC_MEMORY_DEVICE) {
        block = hc_block_find(block->base + block->bytes);
        if (!block || !block->borrowed)
            break;
        left += block->bytes;
    }
    return left < bytes;
}
