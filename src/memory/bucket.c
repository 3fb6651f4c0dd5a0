/* Buckets: graphs that never run at the same time share the same memory. */
#include "memory/pool.h"

#include <stdlib.h>
#include <string.h>

bg_status bg__pool_bucket_begin(bg_pool *pool, const char *name)
{
    char *copy;
    if (pool == NULL)
        return BG_OK;
    if (pool->bucket != NULL)
        return bg__fail(BG_ERROR_BUSY, "bucket %s cannot begin while bucket %s of the pool is open; end that first",
                        name, pool->bucket);
    copy = strdup(name);
    if (copy == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for bucket %s", name);
    bg__ledger_lock();
    pool->bucket = copy;
    pool->figures = (bg__bucket_stats){0, 0, 0};
    bg__arena_set_defers(&pool->arenas[BG__LOW], false);
    /* Kept blocks that are released meanwhile are not reused before the bucket ends: the pass may still use them. */
    bg__arena_begin_epoch(&pool->arenas[BG__HIGH]);
    bg__arena_set_defers(&pool->arenas[BG__HIGH], true);
    bg__ledger_unlock();
    return BG_OK;
}

static void close_bucket(bg_pool *pool)
{
    bg__arena *arena = &pool->arenas[BG__LOW];
    bg__ledger_lock();
    for (const bg__extent *extent = arena->first; extent != NULL; extent = extent->next)
        pool->in_use -= extent->state == BG__EXTENT_FREE ? 0 : extent->bytes;
    bg__arena_clear(arena);
    bg__arena_set_defers(&pool->arenas[BG__HIGH], false);
    free(pool->bucket);
    pool->bucket = NULL;
    bg__ledger_unlock();
}

bg_status bg__pool_bucket_end(bg_pool *pool, bg__bucket_stats *figures)
{
    if (figures != NULL)
        *figures = bg__pool_bucket_stats(pool);
    if (pool == NULL)
        return BG_OK;
    if (pool->bucket == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "no bucket of the pool is open");
    if (pool->capturing)
        return bg__fail(BG_ERROR_BUSY, "a capture runs in bucket %s; end that first", pool->bucket);
    close_bucket(pool);
    return BG_OK;
}

bg__bucket_stats bg__pool_bucket_stats(const bg_pool *pool)
{
    return pool != NULL && pool->bucket != NULL ? pool->figures : (bg__bucket_stats){0, 0, 0};
}

bg_status bg__pool_capture_begin(bg_pool *pool, const char *name)
{
    bool own = pool->bucket == NULL;
    bg_status status = BG_OK;

    if (pool->capturing)
        return bg__fail(BG_ERROR_BUSY, "the pool already serves a capture, in bucket %s; end that first", pool->bucket);
    if (own)
        BG__TRY(bg__pool_bucket_begin(pool, name));
    bg__pool_barrier(pool); /* the capture comes after earlier work in the bucket */
    bg__pool_set_concurrent(pool, false);
    pool->capturing = true;
    pool->own_bucket = own;
done:
    return status;
}

void bg__pool_capture_end(bg_pool *pool, bg__bucket_stats *figures)
{
    if (!pool->capturing)
        return;
    *figures = pool->figures;
    pool->capturing = false;
    if (pool->own_bucket)
        close_bucket(pool);
    else
        bg__pool_barrier(pool); /* later work in the bucket comes after the capture */
}

void bg__pool_set_concurrent(bg_pool *pool, bool concurrent)
{
    bg__ledger_lock();
    bg__arena_set_defers(&pool->arenas[BG__LOW], concurrent);
    bg__ledger_unlock();
}

void bg__pool_set_no_reuse(bg_pool *pool, bool fresh)
{
    bg__ledger_lock();
    pool->arenas[BG__LOW].fresh = pool->arenas[BG__HIGH].fresh = fresh;
    bg__ledger_unlock();
}

void bg__pool_barrier(bg_pool *pool)
{
    bg__ledger_lock();
    bg__arena_begin_epoch(&pool->arenas[BG__LOW]);
    bg__ledger_unlock();
}
