/* The blocks that allocators reported, live and freed, in order of their addresses and without overlaps. */
#include "memory/ledger.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct block {
    uintptr_t base;
    size_t bytes;
    uint64_t generation;
    uint64_t below; /* the driver's generation of this memory when the block was reported; 0: pageable memory */
    bool freed;
    char *name;
} block;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static block *blocks;
static size_t block_count, block_capacity;
static uint64_t last_generation;
static atomic_uint_fast64_t ledger_version;
static atomic_size_t owner_counts[BG__LEVELS]; /* numbers of pools, and of blocks, live or freed */

void bg__ledger_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void bg__ledger_unlock(void)
{
    atomic_fetch_add(&ledger_version, 1);
    pthread_mutex_unlock(&mutex);
}

void bg__ledger_unlock_unchanged(void)
{
    pthread_mutex_unlock(&mutex);
}

uint64_t bg__ledger_version(void)
{
    return atomic_load(&ledger_version);
}

bool bg__ledger_has_owners(bg__owner_level level)
{
    return level == BG__DRIVER || atomic_load(&owner_counts[level]) > 0;
}

bool bg__ledger_has_inner_owners(void)
{
    return bg__ledger_has_owners(BG__REGISTERED) || bg__ledger_has_owners(BG__POOLED);
}

uint64_t bg__ledger_new_generation_locked(void)
{
    return ++last_generation;
}

void bg__ledger_adjust_pool_count(int change)
{
    atomic_fetch_add(&owner_counts[BG__POOLED], (size_t)change);
}

/* ---- blocks ---- */

/* Returns how many blocks begin at or before the address. */
static size_t count_blocks_until(uintptr_t address)
{
    size_t low = 0, high = block_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (blocks[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the block, live or freed, that contains the address; NULL: none. */
static block *find_block(uintptr_t address)
{
    size_t count = count_blocks_until(address);
    if (count == 0 || address - blocks[count - 1].base >= blocks[count - 1].bytes)
        return NULL;
    return &blocks[count - 1];
}

static void fill_owner(const block *found, bg__owner *owner)
{
    *owner = (bg__owner){.kind = BG__OWNER_REGISTERED,
                         .freed = found->freed,
                         .base = found->base,
                         .bytes = found->bytes,
                         .generation = found->generation,
                         .range = found->base};
    strncpy(owner->name, found->name, sizeof owner->name - 1);
}

/* A freed block whose memory went back to the driver no longer owns the address. */
bg_status bg__ledger_find_owner(const void *ptr, bg__owner *owner)
{
    uint64_t below = 0, now = 0;
    const block *found;
    bg_status status = BG_OK;

    pthread_mutex_lock(&mutex);
    found = find_block((uintptr_t)ptr);
    if (found != NULL) {
        fill_owner(found, owner);
        below = found->below;
    }
    pthread_mutex_unlock(&mutex);
    if (owner->kind == BG__OWNER_NONE || !owner->freed)
        goto done;
    status = bg__driver_get_generation((const void *)owner->base, &now);
    if (status == BG_OK && now != below)
        *owner = (bg__owner){.kind = BG__OWNER_NONE};
    if (status == BG_ERROR_CUDA) /* the device has failed; the block was freed all the same */
        status = BG_OK;
done:
    return status;
}

bool bg__owner_find_by_name(const char *name, uint64_t generation, bg__owner *owner)
{
    int found = 0;
    if (name[0] == '\0')
        return false;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i].freed || blocks[i].generation <= generation || strcmp(blocks[i].name, name) != 0)
            continue;
        fill_owner(&blocks[i], owner);
        found++;
    }
    pthread_mutex_unlock(&mutex);
    return found == 1;
}

/* ---- reports from allocators ---- */

static void remove_block(size_t at)
{
    free(blocks[at].name);
    memmove(&blocks[at], &blocks[at + 1], (--block_count - at) * sizeof *blocks);
    atomic_store(&owner_counts[BG__REGISTERED], block_count);
}

/* Removes the blocks that a new block replaces: freed ones, and those whose memory went back to the driver without a
 * report. */
static bg_status remove_replaced_blocks(uintptr_t base, size_t bytes)
{
    bg_status status = BG_OK;
    size_t at = count_blocks_until(base);
    uint64_t now;

    at -= at > 0 && base - blocks[at - 1].base < blocks[at - 1].bytes;
    while (at < block_count && blocks[at].base < base + bytes) {
        BG__TRY(bg__driver_get_generation((const void *)blocks[at].base, &now));
        if (!blocks[at].freed && now == blocks[at].below)
            BG__FAIL(BG_ERROR_INVALID_ARGUMENT,
                     "bg_ledger_alloc: %zu bytes at %p overlap block \"%s\" of %zu bytes at %p, which was not "
                     "freed; call bg_ledger_free first",
                     bytes, (void *)base, blocks[at].name, blocks[at].bytes, (void *)blocks[at].base);
        remove_block(at);
    }
done:
    return status;
}

static bg_status insert_block(const block *fresh)
{
    size_t at = count_blocks_until(fresh->base);
    bg_status status;

    BG__TRY(BG__ARRAY_GROW(blocks, block_count, block_capacity, "blocks of bg_ledger_alloc"));
    memmove(&blocks[at + 1], &blocks[at], (block_count++ - at) * sizeof *blocks);
    blocks[at] = *fresh;
    atomic_store(&owner_counts[BG__REGISTERED], block_count);
done:
    return status;
}

bg_status bg_ledger_alloc(void *ptr, size_t bytes, const char *name)
{
    block fresh = {.base = (uintptr_t)ptr, .bytes = bytes};
    bg_status status;

    BG__NEED(ptr);
    if (bytes == 0 || bytes > UINTPTR_MAX - fresh.base)
        return bg__fail(
            BG_ERROR_INVALID_ARGUMENT,
            "bg_ledger_alloc: bytes is %zu; it must be at least 1, and the block must end within the address space",
            bytes);
    bg__foreign_error_note();
    fresh.name = strdup(name ? name : "");
    if (fresh.name == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_ledger_alloc: out of host memory for a name");
    bg__ledger_lock();
    BG__TRY(bg__driver_get_generation(ptr, &fresh.below));
    BG__TRY(remove_replaced_blocks(fresh.base, bytes));
    fresh.generation = bg__ledger_new_generation_locked();
    BG__TRY(insert_block(&fresh));
    fresh.name = NULL;
done:
    bg__ledger_unlock();
    free(fresh.name);
    return status;
}

bg_status bg_ledger_free(void *ptr)
{
    bg_status status = BG_OK;
    block *found;

    BG__NEED(ptr);
    bg__ledger_lock();
    found = find_block((uintptr_t)ptr);
    if (found == NULL)
        status = bg__fail(BG_ERROR_NOT_FOUND, "bg_ledger_free: no block at %p was reported with bg_ledger_alloc", ptr);
    else if (found->freed)
        status =
            bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_ledger_free: block \"%s\" of %zu bytes at %p was already freed",
                     found->name, found->bytes, (void *)found->base);
    else if (found->base != (uintptr_t)ptr)
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT,
                          "bg_ledger_free: %p is inside block \"%s\" of %zu bytes; pass its start, %p", ptr,
                          found->name, found->bytes, (void *)found->base);
    else
        found->freed = true;
    bg__ledger_unlock();
    return status;
}

void bg__ledger_resize(void *ptr, size_t bytes)
{
    block *found;
    bg__ledger_lock();
    found = find_block((uintptr_t)ptr);
    if (found != NULL && found->base == (uintptr_t)ptr && !found->freed) {
        size_t after = (size_t)(found - blocks) + 1;
        found->bytes = bytes;
        while (after < block_count && blocks[after].base < found->base + bytes)
            remove_block(after); /* a block of the memory that was there before */
    }
    bg__ledger_unlock();
}
