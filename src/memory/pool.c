/* Pools: create, retain and release, and their blocks. */
#include "memory/pool.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- create and destroy ---- */

/* Runs when the last reference is released. */
static void free_pool(bg_pool *pool)
{
    bg__pool_unregister(pool);
    bg__workspaces_forget_pool(pool);
    bg__device_free(pool->sentry);
    for (int side = BG__LOW; side <= BG__HIGH; side++)
        bg__arena_clear(&pool->arenas[side]);
    bg__pages_clear(&pool->pages);
    bg__last_use_clear(&pool->use);
    free(pool->bucket);
    free(pool);
}

bg_status bg_pool_create(bg_pool **result, const bg_pool_options *options)
{
    bg_pool_options full = BG_POOL_OPTIONS_INIT;
    bg_pool *pool = NULL;
    bg_status status = BG_OK;

    BG__NEED(result);
    *result = NULL;
    bg__foreign_error_note();
    if (options != NULL)
        BG__TRY(bg__struct_copy_in(&full, options, sizeof full, sizeof options->struct_size, "bg_pool_create: options",
                                   "BG_POOL_OPTIONS_INIT"));
    pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a pool");
    atomic_init(&pool->references, 1);
    atomic_init(&pool->holder, NULL);
    pool->arenas[BG__HIGH].side = BG__HIGH;
    BG__TRY_CUDA(cudaGetDevice(&pool->device));
    BG__TRY(bg__device_alloc(1, &pool->sentry));
    BG__TRY(bg__last_use_init(&pool->use));
    BG__TRY(bg__pages_init(&pool->pages, pool->device, full.reserve_bytes, full.limit_bytes));
    bg__pool_register(pool);
    *result = pool;
    pool = NULL;
done:
    if (pool != NULL)
        free_pool(pool);
    if (status != BG_OK)
        bg__error_add_location("bg_pool_create");
    return status;
}

void bg__pool_retain(bg_pool *pool)
{
    if (pool != NULL)
        atomic_fetch_add(&pool->references, 1);
}

void bg_pool_destroy(bg_pool *pool)
{
    if (pool == NULL)
        return;
    bg__foreign_error_note();
    if (atomic_fetch_sub(&pool->references, 1) == 1)
        free_pool(pool);
}

bg__last_use *bg__pool_last_use(bg_pool *pool)
{
    return &pool->use;
}

bool bg__pool_try_lock_runner(bg_pool *pool, const void *holder)
{
    const void *none = NULL;
    return atomic_compare_exchange_strong_explicit(&pool->holder, &none, holder, memory_order_acquire,
                                                   memory_order_relaxed);
}

void bg__pool_unlock_runner(bg_pool *pool)
{
    atomic_store_explicit(&pool->holder, NULL, memory_order_release);
}

bg_status bg__pool_check_device(const bg_pool *pool, const char *function)
{
    bg_status status = BG_OK;
    int current;
    BG__TRY_CUDA(cudaGetDevice(&current));
    if (current != pool->device)
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT,
                          "%s: the pool belongs to device %d, the current device is %d; call cudaSetDevice(%d) first",
                          function, pool->device, current, pool->device);
done:
    return status;
}

/* ---- blocks ---- */

static void add_pool_location(const bg_pool *pool, bg__side side, size_t bytes)
{
    char limit[64] = "none";
    if (pool->pages.limit > 0)
        snprintf(limit, sizeof limit, "%zu bytes", pool->pages.limit);
    bg__error_add_location("%s%s of a pool requests %zu bytes (%zu bytes are mapped, the limit is %s)",
                           side == BG__LOW ? "bucket " : "memory outside the buckets",
                           side == BG__LOW ? pool->bucket : "", bytes, bg__pages_mapped_bytes(&pool->pages), limit);
}

static void count_allocation(bg_pool *pool, bg__side side, size_t bytes, bg__extent_state state, size_t reused)
{
    pool->in_use += bytes;
    pool->peak = pool->in_use > pool->peak ? pool->in_use : pool->peak;
    pool->reused += reused;
    if (side != BG__LOW)
        return;
    pool->figures.bytes = bg__arena_top(&pool->arenas[side]);
    pool->figures.reused += reused;
    if (state == BG__EXTENT_PINNED)
        pool->figures.pinned += bytes;
    pool->pinned = pool->figures.pinned > pool->pinned ? pool->figures.pinned : pool->pinned;
}

static bg_status alloc_extent(bg_pool *pool, bg__side side, size_t wanted, bg__extent_state state, void **ptr)
{
    bg__arena *arena = &pool->arenas[side];
    size_t bytes = wanted, reused;
    bg__extent *fit, *taken, *spare = NULL;
    bg_status status;

    BG__TRY(bg__pool_check_device(pool, "bg_pool_alloc"));
    if (bytes > pool->pages.bytes) /* so that no sum below overflows */
        bytes = pool->pages.bytes + 1;
    bytes = (bytes + BG__POOL_ALIGNMENT - 1) / BG__POOL_ALIGNMENT * BG__POOL_ALIGNMENT;
    spare = calloc(1, sizeof *spare);
    if (spare == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a block");
    bg__ledger_lock();
    fit = bg__arena_find_fit(arena, bytes);
    status = bg__pages_grow(&pool->pages, side, bg__arena_top_after(arena, fit, bytes));
    if (status != BG_OK) {
        add_pool_location(pool, side, wanted);
    } else {
        taken = bg__arena_alloc(arena, fit, bytes, state, &spare, &reused);
        taken->asked = wanted;
        taken->generation = bg__ledger_new_generation_locked();
        count_allocation(pool, side, bytes, state, reused);
        *ptr = bg__pages_address(&pool->pages, side, taken->offset, bytes);
    }
    bg__ledger_unlock();
done:
    free(spare);
    return status;
}

bg_status bg_pool_alloc(bg_pool *pool, size_t bytes, void **ptr)
{
    BG__NEED(ptr);
    *ptr = NULL;
    BG__NEED(pool);
    bg__foreign_error_note();
    if (bytes == 0)
        return BG_OK;
    return alloc_extent(pool, pool->bucket ? BG__LOW : BG__HIGH, bytes, BG__EXTENT_LIVE, ptr);
}

bg_status bg__pool_alloc_pinned(bg_pool *pool, size_t bytes, void **ptr)
{
    return alloc_extent(pool, pool->bucket ? BG__LOW : BG__HIGH, bytes, BG__EXTENT_PINNED, ptr);
}

bg_status bg__pool_alloc_kept(bg_pool *pool, size_t bytes, void **ptr)
{
    return alloc_extent(pool, BG__HIGH, bytes, BG__EXTENT_LIVE, ptr);
}

/* ---- release ---- */

/* Returns why ptr cannot be released; NULL: it can. */
static const char *find_release_error(const bg_pool *pool, const void *ptr, bg__side *side, bg__extent **extent)
{
    bool begins = false;
    *side = bg__pages_contain(&pool->pages, BG__LOW, ptr) ? BG__LOW : BG__HIGH;
    if (*side == BG__HIGH && !bg__pages_contain(&pool->pages, BG__HIGH, ptr))
        return "does not belong to the pool";
    if (*side == BG__LOW && pool->bucket == NULL)
        return "belongs to a capture that has ended and released its blocks";
    *extent = bg__pool_find_extent(pool, *side, ptr, &begins);
    if (*extent == NULL)
        return "is not a block of the pool";
    if ((*extent)->state == BG__EXTENT_FREE)
        return "was already released";
    if ((*extent)->state == BG__EXTENT_PINNED)
        return "is a bridge buffer or scratch, which belongs to its graph";
    return begins ? NULL : "is inside a block; pass the pointer that bg_pool_alloc returned";
}

void bg_pool_release(bg_pool *pool, void *ptr)
{
    bg__extent *extent = NULL;
    const char *fault;
    bg__side side;

    if (pool == NULL || ptr == NULL)
        return;
    fault = find_release_error(pool, ptr, &side, &extent);
    if (fault != NULL) {
        bg__warn("bg_pool_release: %p %s; nothing was released", ptr, fault);
        return;
    }
    pool->in_use -= extent->bytes;
    bg__ledger_lock();
    bg__arena_release(&pool->arenas[side], extent);
    bg__ledger_unlock();
}

/* ---- statistics and checks ---- */

bg_status bg_pool_get_stats(const bg_pool *pool, bg_pool_stats *stats)
{
    bg_pool_stats full = BG_POOL_STATS_INIT;
    BG__NEED(pool);
    BG__NEED(stats);
    full.mapped = bg__pages_mapped_bytes(&pool->pages);
    full.in_use = pool->in_use;
    full.peak = pool->peak;
    full.pinned = pool->pinned;
    full.reused = pool->reused;
    return bg__struct_copy_out(stats, &full, sizeof full, "bg_pool_get_stats: stats", "BG_POOL_STATS_INIT");
}

static bg_status check_extent(const bg__extent *extent, size_t end, size_t mapped)
{
    if (extent->offset < end)
        return bg__fail(BG_ERROR_MISMATCH, "the block at offset %zu overlaps the block before it, which ends at %zu",
                        extent->offset, end);
    if (extent->offset > end || extent->bytes == 0 || extent->bytes % BG__POOL_ALIGNMENT != 0)
        return bg__fail(
            BG_ERROR_MISMATCH,
            "the block of %zu bytes at offset %zu is unaligned, or leaves a gap after the block that ends at %zu",
            extent->bytes, extent->offset, end);
    if (extent->offset + extent->bytes > mapped)
        return bg__fail(BG_ERROR_MISMATCH, "the block of %zu bytes at offset %zu ends beyond the %zu mapped bytes",
                        extent->bytes, extent->offset, mapped);
    return BG_OK;
}

bg_status bg__pool_check(const bg_pool *pool)
{
    size_t in_use = 0, pinned = 0;
    bg_status status = BG_OK;

    /* The two sides share no address: they lie at both ends of the range, and together fit into it. */
    if (bg__pages_mapped_bytes(&pool->pages) > pool->pages.bytes)
        return bg__fail(BG_ERROR_MISMATCH, "%zu bytes are mapped, but only %zu bytes of addresses are reserved",
                        bg__pages_mapped_bytes(&pool->pages), pool->pages.bytes);
    for (int side = BG__LOW; side <= BG__HIGH; side++) {
        size_t end = 0;
        for (const bg__extent *extent = pool->arenas[side].first; extent != NULL; extent = extent->next) {
            BG__TRY(check_extent(extent, end, pool->pages.ends[side].bytes));
            end = extent->offset + extent->bytes;
            in_use += extent->state == BG__EXTENT_FREE ? 0 : extent->bytes;
            pinned += side == BG__LOW && extent->state == BG__EXTENT_PINNED ? extent->bytes : 0;
        }
        if (end != bg__arena_top(&pool->arenas[side]))
            return bg__fail(BG_ERROR_MISMATCH, "the pointer to the last block of a list is wrong");
    }
    if (in_use != pool->in_use || (pool->bucket != NULL && pinned != pool->figures.pinned))
        return bg__fail(BG_ERROR_MISMATCH,
                        "the blocks in use have %zu bytes, and the pinned blocks %zu, but the pool counted %zu and %zu",
                        in_use, pinned, pool->in_use, pool->figures.pinned);
done:
    return status;
}

/* ---- for the tools ---- */

bg_status bg__pool_visit_unowned(const bg_pool *pool, bg_status (*visit)(void *user, void *ptr, size_t bytes),
                                 void *user)
{
    const size_t shared = pool->bucket == NULL ? pool->pages.ends[BG__LOW].bytes : 0;
    bg_status status = BG_OK;

    if (shared > 0)
        BG__TRY(visit(user, bg__pages_address(&pool->pages, BG__LOW, 0, shared), shared));
    for (int side = BG__LOW; side <= BG__HIGH; side++) {
        for (const bg__extent *extent = pool->arenas[side].first; extent != NULL; extent = extent->next) {
            char *ptr = bg__pages_address(&pool->pages, (bg__side)side, extent->offset, extent->bytes);
            size_t owned = extent->state == BG__EXTENT_FREE ? 0 : extent->asked;
            if (extent->bytes > owned)
                BG__TRY(visit(user, ptr + owned, extent->bytes - owned));
        }
    }
done:
    return status;
}
