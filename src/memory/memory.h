/* Pools, for the capture layer and the runner. */
#ifndef BG_MEMORY_MEMORY_H
#define BG_MEMORY_MEMORY_H

#include <breakgraph/memory.h>

#include "base/base.h"

/* ---- order of use (use.c) ------------------------------------------------------------------------------------ */

/* Who used memory last, so that the next user comes after it: a graph's own, or that of all graphs of a pool. */
typedef struct bg__use {
    cudaStream_t stream; /* of the last replay; NULL: none since event was recorded */
    bool busy;           /* a replay or, of a pool, a capture is going on */
    bool ordered;        /* event stands for work before the next use */
    cudaEvent_t event;
} bg__use;

bg_status bg__use_init(bg__use *use);
/* What was not inited, but is zeroed, is fine. */
void bg__use_clear(bg__use *use);
/* Work queued on stream from here on comes after the last use, and stream is the last one from now on. */
bg_status bg__use_order(bg__use *use, cudaStream_t stream);
/* The use on stream is over, as far as the host is concerned: the stream need not live any longer. After an error it is
 * as if its replay were the last one. */
cudaError_t bg__use_note(bg__use *use, cudaStream_t stream);

/* ---- pools (pool.c) ------------------------------------------------------------------------------------------ */

/* A graph's hold on the pool; bg_pool_destroy gives it back. NULL is fine. */
void bg__pool_retain(bg_pool *pool);
bg__use *bg__pool_use(bg_pool *pool);
/* INVALID_ARGUMENT unless the current device is the pool's. */
bg_status bg__pool_check_device(const bg_pool *pool, const char *function);

/* A block that is never reused in its bucket; without a bucket, a kept one. bytes > 0. */
bg_status bg__pool_pin(bg_pool *pool, size_t bytes, void **ptr);
/* A kept block, also where a bucket is open; bg_pool_release gives it back. bytes > 0. */
bg_status bg__pool_keep(bg_pool *pool, size_t bytes, void **ptr);

/* Visits memory that no op may read before another has written it: released blocks, the padding after blocks in use,
 * and, if no bucket is open, all memory that graphs share. Stops at a failure, and returns it. */
bg_status bg__pool_unowned(const bg_pool *pool, bg_status (*visit)(void *user, void *ptr, size_t bytes), void *user);

/* A failure unless no two blocks overlap, all lie in mapped memory, and the figures are the blocks' sums. */
bg_status bg__pool_check(const bg_pool *pool);

/* ---- buckets (bucket.c) -------------------------------------------------------------------------------------- */

typedef struct bg__bucket_figures {
    size_t bytes;  /* from the base to the end of the highest block that there has been */
    size_t pinned; /* of these, in pinned blocks */
    size_t reused; /* served from released blocks */
} bg__bucket_figures;

/* From begin to end, blocks lie where those of other buckets lie, from the pool's base up. The largest comes first: the
 * later ones then map no more memory. BUSY where one is open already. name is copied. Without a pool, NULL, nothing
 * happens, and so with the two functions below. */
bg_status bg__pool_bucket_begin(bg_pool *pool, const char *name);
/* Takes back the bucket's blocks. figures may be NULL. INVALID_ARGUMENT where none is open, BUSY inside a capture. */
bg_status bg__pool_bucket_end(bg_pool *pool, bg__bucket_figures *figures);
/* Of the bucket that is open; zeros without one. */
bg__bucket_figures bg__pool_bucket_figures(const bg_pool *pool);

/* A capture takes the pool for itself, with the open bucket or, where there is none, one of its own. BUSY where another
 * capture has it. */
bg_status bg__pool_capture_begin(bg_pool *pool, const char *name);
/* figures: of its bucket so far. Nothing happens where none has begun. */
void bg__pool_capture_end(bg_pool *pool, bg__bucket_figures *figures);

/* Whether work in the bucket may run on several streams: what is released is then reused after the next break. */
void bg__pool_set_concurrent(bg_pool *pool, bool concurrent);
/* All work so far comes before all that follows. */
void bg__pool_break(bg_pool *pool);

/* ---- workspaces (workspace_list.c) --------------------------------------------------------------------------- */

/* Forgets those in a pool that is destroyed, which gives their memory back with all its own. */
void bg__workspace_forget(const bg_pool *pool);

#endif
