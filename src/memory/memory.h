/* Pools, for src/graph, src/capture and src/runner. */
#ifndef BG_MEMORY_MEMORY_H
#define BG_MEMORY_MEMORY_H

#include <breakgraph/memory.h>

#include "base/base.h"

#include <stdatomic.h>

/* ---- order of use (last_use.c) ------------------------------------------------------------------------------------
 */

/* The last use of some memory, so that the next use waits for it. A graph has its own; graphs of a pool share one. */
typedef struct bg__last_use {
    cudaStream_t stream; /* of the last replay; NULL: none since event was recorded */
    atomic_bool busy;    /* a replay, or a capture with the pool, is running: its thread owns the other members */
    bool ordered;        /* the next use must wait for event */
    cudaEvent_t event;
} bg__last_use;

bg_status bg__last_use_init(bg__last_use *use);
/* `use` may be zeroed instead of initialized. */
void bg__last_use_clear(bg__last_use *use);
/* Acquires the memory for a replay or a capture. Returns false if another one, in this thread or another, has it. */
static inline bool bg__last_use_try_acquire(bg__last_use *use)
{
    return !atomic_exchange_explicit(&use->busy, true, memory_order_acquire);
}
static inline void bg__last_use_release(bg__last_use *use)
{
    atomic_store_explicit(&use->busy, false, memory_order_release);
}
static inline bool bg__last_use_is_busy(const bg__last_use *use)
{
    return atomic_load_explicit(&use->busy, memory_order_relaxed);
}
/* Makes stream wait for the last use. The use on stream is then the last one. */
bg_status bg__last_use_order_stream(bg__last_use *use, cudaStream_t stream);
/* Records an event after the use on `stream`, so that `stream` may be destroyed. After an error the last use is still
 * that on `stream`. */
cudaError_t bg__last_use_record_event(bg__last_use *use, cudaStream_t stream);

/* ---- pools (pool.c) ------------------------------------------------------------------------------------------ */

/* Adds a reference to the pool, which bg_pool_destroy releases. NULL does nothing. */
void bg__pool_retain(bg_pool *pool);
bg__last_use *bg__pool_last_use(bg_pool *pool);
/* Locks the pool for holder until bg__pool_unlock_runner. Returns false if another holder has it. */
bool bg__pool_try_lock_runner(bg_pool *pool, const void *holder);
void bg__pool_unlock_runner(bg_pool *pool);
/* Fails with INVALID_ARGUMENT unless the current device is the pool's. */
bg_status bg__pool_check_device(const bg_pool *pool, const char *function);

/* Allocates a block that is not reused in its bucket; without a bucket, as bg__pool_alloc_kept. bytes > 0. */
bg_status bg__pool_alloc_pinned(bg_pool *pool, size_t bytes, void **ptr);
/* Allocates a block outside buckets, until bg_pool_release. bytes > 0. */
bg_status bg__pool_alloc_kept(bg_pool *pool, size_t bytes, void **ptr);

/* Visits memory that no op may read before another has written it: released blocks, the padding after blocks in use,
 * and, if no bucket is open, all memory that graphs share. Stops at a failure, and returns it. */
bg_status bg__pool_visit_unowned(const bg_pool *pool, bg_status (*visit)(void *user, void *ptr, size_t bytes),
                                 void *user);

/* Fails if blocks overlap, are outside mapped memory, or do not add up to the figures. */
bg_status bg__pool_check(const bg_pool *pool);

/* ---- buckets (bucket.c) -------------------------------------------------------------------------------------- */

typedef struct bg__bucket_stats {
    size_t bytes;  /* from the base to the highest end that a block has had */
    size_t pinned; /* bytes of pinned blocks, counted in `bytes` */
    size_t reused; /* served from released blocks */
} bg__bucket_stats;

/* Opens a bucket: until its end, blocks use the same addresses as those of other buckets, from the pool's base up. If
 * the largest bucket comes first, later ones map no more memory. BUSY: a bucket is open already. name is copied. If
 * pool is NULL, this and the two functions below do nothing. */
bg_status bg__pool_bucket_begin(bg_pool *pool, const char *name);
/* Frees the bucket's blocks. figures may be NULL. INVALID_ARGUMENT: no bucket is open; BUSY: inside a capture. */
bg_status bg__pool_bucket_end(bg_pool *pool, bg__bucket_stats *figures);
/* The figures of the open bucket; zeros without one. */
bg__bucket_stats bg__pool_bucket_stats(const bg_pool *pool);

/* Begins a capture with the pool, in the open bucket or, without one, in a bucket of its own. Errors: BUSY (another
 * capture uses the pool). */
bg_status bg__pool_capture_begin(bg_pool *pool, const char *name);
/* Ends the capture. *figures describes its bucket. Does nothing if no capture uses the pool. */
void bg__pool_capture_end(bg_pool *pool, bg__bucket_stats *figures);

/* Whether work in the bucket may run on several streams: released blocks are then reused only after the next break. */
void bg__pool_set_concurrent(bg_pool *pool, bool concurrent);
/* While `fresh` is true, allocations do not reuse released blocks. For work that is inserted into captured work, which
 * may still use these blocks. */
void bg__pool_set_no_reuse(bg_pool *pool, bool fresh);
/* Marks a point where all later work waits for all earlier work: released blocks may be reused. */
void bg__pool_barrier(bg_pool *pool);

/* ---- workspaces (workspace_list.c) --------------------------------------------------------------------------- */

/* Removes the workspaces in a pool that is being destroyed; the pool frees their memory. */
void bg__workspaces_forget_pool(const bg_pool *pool);

#endif
