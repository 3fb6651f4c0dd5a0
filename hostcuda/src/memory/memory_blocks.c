#include "hostcuda/src/memory/memory_blocks.h"

#include "hostcuda/src/core/core_grow.h"
#include "hostcuda/src/memory/backing.h"
#include "hostcuda/src/memory/capacity.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, CHUNK = 512 };

/* Blocks sorted by address, in chunks, so that an insertion moves only a few. No chunk is empty. */
struct chunk {
    size_t count;
    struct hc_block *blocks[CHUNK];
};
static struct chunk **chunks, *spare_chunk;
static size_t chunk_count, chunk_capacity, block_count;
static uint64_t block_ids;

/* Returns the last chunk that begins at or before the address, or else the first. */
static size_t find_chunk(const void *address)
{
    size_t low = 0, high = chunk_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)chunks[middle]->blocks[0]->base <= (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

/* Returns the index of the chunk's first block that begins after the address. */
static size_t upper_bound(const struct chunk *chunk, const void *address)
{
    size_t low = 0, high = chunk->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)chunk->blocks[middle]->base <= (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the chunk to insert the address in; a full one is split. NULL: no memory. */
static struct chunk *chunk_with_room(const void *address)
{
    size_t at = find_chunk(address), half = CHUNK / 2;
    struct chunk *full = chunk_count ? chunks[at++] : NULL;
    if (full && full->count < CHUNK)
        return full;
    bool grown = hc_array_reserve(&chunks, &chunk_capacity, chunk_count + 1, sizeof(*chunks));
    struct chunk *fresh = !grown ? NULL : spare_chunk ? spare_chunk : malloc(sizeof *fresh);
    if (!fresh)
        return NULL;
    spare_chunk = NULL;
    fresh->count = 0;
    memmove(chunks + at + 1, chunks + at, (chunk_count - at) * sizeof(*chunks));
    chunks[at] = fresh;
    chunk_count++;
    if (!full)
        return fresh;
    memcpy(fresh->blocks, full->blocks + half, half * sizeof(*fresh->blocks));
    full->count = fresh->count = half;
    return (uintptr_t)fresh->blocks[0]->base <= (uintptr_t)address ? fresh : full;
}

static bool insert_memory_block(struct hc_block *block)
{
    struct chunk *chunk = chunk_with_room(block->base);
    if (!chunk)
        return false;
    size_t at = upper_bound(chunk, block->base);
    memmove(chunk->blocks + at + 1, chunk->blocks + at, (chunk->count - at) * sizeof(*chunk->blocks));
    chunk->blocks[at] = block;
    chunk->count++;
    block_count++;
    return true;
}

/* Other blocks may begin at the same address: memory that was registered before, and is still in use. */
static void remove_block(const struct hc_block *block)
{
    size_t in = find_chunk(block->base), at = upper_bound(chunks[in], block->base) - 1;
    while (chunks[in]->blocks[at] != block) {
        if (!at)
            at = chunks[--in]->count;
        at--;
    }
    struct chunk *chunk = chunks[in];
    chunk->count--;
    block_count--;
    memmove(chunk->blocks + at, chunk->blocks + at + 1, (chunk->count - at) * sizeof(*chunk->blocks));
    if (chunk->count)
        return;
    if (spare_chunk)
        free(chunk);
    else
        spare_chunk = chunk;
    chunk_count--;
    memmove(chunks + in, chunks + in + 1, (chunk_count - in) * sizeof(*chunks));
}

struct hc_block *hc_block_make_borrowed(enum hc_memory kind, void *base, size_t bytes, int device)
{
    struct hc_block *block = calloc(1, sizeof *block);
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
    if (insert_memory_block(block))
        return block;
    free(block);
    return NULL;
}

struct hc_block *hc_block_make(enum hc_memory kind, size_t bytes, int device)
{
    if (bytes > hc_device_bytes() || (kind == HC_MEMORY_DEVICE && !hc_device_claim_bytes(device, bytes)))
        return NULL;
    void *base = hc_backing_allocate(bytes, ALIGNMENT, kind == HC_MEMORY_DEVICE, block_ids + 1);
    struct hc_block *block = base ? hc_block_make_borrowed(kind, base, bytes, device) : NULL;
    if (block) {
        block->borrowed = false;
        return block;
    }
    if (base)
        hc_backing_free(base);
    if (kind == HC_MEMORY_DEVICE)
        hc_device_unclaim_bytes(device, bytes);
    return NULL;
}

void hc_block_add_to_pool(struct hc_block *block, struct hc_pool *pool)
{
    hc_pool_add_used(pool, block->bytes);
    block->pool = pool;
    block->left = false;
}

void hc_block_begin_free(struct hc_block *block)
{
    if (block->pool && !block->left)
        hc_pool_begin_free(block->pool, block->bytes);
    block->left = true;
}

void hc_block_remove_from_pool(struct hc_block *block)
{
    hc_block_begin_free(block);
    if (block->pool)
        hc_pool_finish_free(block->pool, block->bytes);
    block->pool = NULL;
}

struct hc_block *hc_block_make_in_pool(struct hc_pool *pool, size_t bytes)
{
    struct hc_block *block =
        hc_pool_has_room(pool, bytes) ? hc_block_make(HC_MEMORY_DEVICE, bytes, pool->device) : NULL;
    if (block)
        hc_block_add_to_pool(block, pool);
    return block;
}

void hc_block_retain(struct hc_block *block)
{
    block->references++;
}

void hc_block_release(struct hc_block *block)
{
    if (--block->references)
        return;
    remove_block(block);
    hc_block_remove_from_pool(block);
    if (!block->borrowed) {
        if (block->kind == HC_MEMORY_DEVICE)
            hc_device_unclaim_bytes(block->device, block->bytes);
        hc_backing_free(block->base);
    }
    free(block);
}

void hc_block_visit_all(void (*visit)(struct hc_block *block, const void *data), const void *data)
{
    for (size_t in = 0; in < chunk_count; in++)
        for (size_t at = 0; at < chunks[in]->count; at++)
            visit(chunks[in]->blocks[at], data);
}

size_t hc_block_count(void)
{
    return block_count;
}

struct hc_block *hc_block_find(const void *address)
{
    const struct chunk *chunk = chunk_count ? chunks[find_chunk(address)] : NULL;
    size_t at = chunk ? upper_bound(chunk, address) : 0;
    if (!at)
        return NULL;
    struct hc_block *block = chunk->blocks[at - 1];
    bool inside = (uintptr_t)address - (uintptr_t)block->base < block->bytes;
    return inside && (block->live || block->graphs) ? block : NULL;
}

const struct hc_block *hc_block_find_live(const void *address)
{
    const struct hc_block *block = hc_block_find(address);
    return block && block->live ? block : NULL;
}

/* Returns the nearest live block before this place of the chunk; NULL: there is none. */
static struct hc_block *last_live_before(size_t in, size_t before)
{
    for (;;) {
        while (before)
            if (chunks[in]->blocks[--before]->live)
                return chunks[in]->blocks[before];
        if (!in)
            return NULL;
        before = chunks[--in]->count;
    }
}

/* Live blocks do not overlap: of those that begin before the range, only the last one can reach into it. */
struct hc_block *hc_block_overlapping(const void *address, size_t bytes)
{
    uintptr_t low = (uintptr_t)address, high = low + bytes;
    size_t in = find_chunk(address), at = chunk_count ? upper_bound(chunks[in], address) : 0;
    struct hc_block *before = last_live_before(in, at);
    if (before && (uintptr_t)before->base + before->bytes > low)
        return before;
    for (; in < chunk_count; in++, at = 0) {
        for (; at < chunks[in]->count; at++) {
            struct hc_block *block = chunks[in]->blocks[at];
            if ((uintptr_t)block->base >= high)
                return NULL;
            if (block->live)
                return block;
        }
    }
    return NULL;
}

/* For copies and fills, adjacent mappings are one block of memory. */
bool hc_block_range_overruns(const void *address, size_t bytes)
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
