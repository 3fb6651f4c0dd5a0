/* Finds the owner of an address: the list of pools, the blocks of a pool, and bg__owner_find for all levels. */
#include "memory/pool.h"

#include <string.h>

bg__extent *bg__pool_find_extent(const bg_pool *pool, bg__side side, const void *ptr, bool *begins)
{
    bg__extent *extent = pool->arenas[side].first;
    for (; extent != NULL; extent = extent->next) {
        const char *start = bg__pages_address(&pool->pages, side, extent->offset, extent->bytes);
        *begins = start == (const char *)ptr;
        if ((uintptr_t)ptr - (uintptr_t)start < extent->bytes)
            return extent;
    }
    return NULL;
}

static void fill_owner(const bg_pool *pool, const void *ptr, bg__owner *owner)
{
    bg__side side = bg__pages_contain(&pool->pages, BG__LOW, ptr) ? BG__LOW : BG__HIGH;
    const bg__extent *extent = NULL;
    bool begins;

    *owner = (bg__owner){.kind = BG__OWNER_POOL,
                         .shared = side == BG__LOW,
                         .base = (uintptr_t)pool->pages.base,
                         .bytes = pool->pages.bytes,
                         .generation = pool->generation,
                         .pool = pool->generation};
    if (pool->bucket != NULL && side == BG__LOW)
        strncpy(owner->name, pool->bucket, sizeof owner->name - 1);
    if (side == BG__LOW || bg__pages_contain(&pool->pages, BG__HIGH, ptr))
        extent = bg__pool_find_extent(pool, side, ptr, &begins);
    /* Without an open bucket the low side belongs to all graphs of the pool, whose blocks are no longer counted. */
    owner->freed = extent == NULL ? side == BG__HIGH || pool->bucket != NULL : extent->state == BG__EXTENT_FREE;
    if (extent != NULL) {
        owner->base = (uintptr_t)bg__pages_address(&pool->pages, side, extent->offset, extent->bytes);
        owner->bytes = extent->bytes;
        owner->generation = extent->generation;
    }
    owner->range = owner->base;
}

static bg_pool *pools; /* guarded by the ledger's lock */

void bg__pool_register(bg_pool *pool)
{
    bg__ledger_lock();
    pool->generation = bg__ledger_new_generation_locked();
    pool->next = pools;
    pools = pool;
    bg__ledger_adjust_pool_count(1);
    bg__ledger_unlock();
}

void bg__pool_unregister(bg_pool *pool)
{
    bg__ledger_lock();
    for (bg_pool **link = &pools; *link != NULL; link = &(*link)->next) {
        if (*link == pool) {
            *link = pool->next;
            bg__ledger_adjust_pool_count(-1);
            break;
        }
    }
    bg__ledger_unlock();
}

static void find_pool_owner(const void *ptr, bg__owner *owner)
{
    bg__ledger_lock();
    for (const bg_pool *pool = pools; pool != NULL; pool = pool->next)
        if ((uintptr_t)ptr - (uintptr_t)pool->pages.base < pool->pages.bytes)
            fill_owner(pool, ptr, owner);
    bg__ledger_unlock_unchanged();
}

bg_status bg__owner_find(bg__owner_level level, const void *ptr, bg__owner *owner)
{
    *owner = (bg__owner){.kind = BG__OWNER_NONE};
    if (level == BG__REGISTERED)
        return bg__ledger_find_owner(ptr, owner);
    if (level == BG__DRIVER)
        return bg__driver_find_owner(ptr, owner);
    find_pool_owner(ptr, owner);
    return BG_OK;
}
