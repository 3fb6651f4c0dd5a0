/* A pool of device memory for graphs that never run at the same time: graphs of several sizes share one range of
 * addresses, which is as large as the largest of them needs, and what the program keeps.
 *
 * A pool has memory of two kinds. What is allocated while a graph of the pool is captured belongs to that capture's
 * bucket: it lies where the blocks of the pool's other graphs lie, since replays of graphs that share a pool run one
 * after the other. Its addresses mean something inside that pass alone, at capture and in each replay. What is
 * allocated outside captures is kept apart from all buckets, until it is released: static inputs, outputs that the
 * caller reads after a replay.
 *
 * Threads: a pool, with its graphs, serves one thread at a time; different pools may be used at once. */
#ifndef BREAKGRAPH_MEMORY_H
#define BREAKGRAPH_MEMORY_H

#include <breakgraph/status.h>

BG_BEGIN_C_

typedef struct bg_pool bg_pool;

typedef struct bg_pool_options {
    size_t struct_size;   /* set by BG_POOL_OPTIONS_INIT */
    size_t reserve_bytes; /* addresses reserved, rounded up to the device's page size; 0: as much as the device has
                           * memory, or the largest half, quarter, ... of it that this process can have, with a warning.
                           * They cost no memory */
    size_t limit_bytes;   /* device memory that the pool may take, in whole pages; 0: no limit */
} bg_pool_options;

#define BG_POOL_OPTIONS_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(bg_pool_options), 0, 0                                                                                  \
    }

/* In bytes; blocks count as multiples of 256. */
typedef struct bg_pool_stats {
    size_t struct_size; /* set by BG_POOL_STATS_INIT */
    size_t mapped;      /* device memory that the pool holds: its largest bucket and what is kept, in whole pages */
    size_t in_use;      /* of blocks that are not released: kept ones, and those of the capture that runs now */
    size_t peak;        /* the most that in_use has been */
    size_t pinned;      /* bridge buffers and scratch of one graph, which are never reused in its pass: the most of any
                         * graph of the pool */
    size_t reused;      /* all that was ever served from released blocks */
} bg_pool_stats;

#define BG_POOL_STATS_INIT                                                                                             \
    {                                                                                                                  \
        sizeof(bg_pool_stats), 0, 0, 0, 0, 0                                                                           \
    }

/* Makes a pool of the current device; options may be NULL (BG_POOL_OPTIONS_INIT). It reserves addresses and takes no
 * more than a page of memory before the first allocation. *pool is the caller's to destroy, NULL after an error.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (a device without virtual memory management), OUT_OF_MEMORY, CUDA. */
BG_API bg_status bg_pool_create(bg_pool **pool, const bg_pool_options *options);

/* A block of at least that many bytes, aligned to 256, uninitialised; NULL for 0 bytes. Allowed inside a capture, whose
 * bucket then owns the block, to the end of the capture at the longest; elsewhere it is kept until it is released, or
 * the pool's memory goes. The smallest released block that is large enough is used first. Errors: INVALID_ARGUMENT
 * (a NULL, another device than the pool's), OUT_OF_MEMORY (the limit, the reserve or the device; the sentence says
 * which, and the pool is as it was), CUDA. */
BG_API bg_status bg_pool_alloc(bg_pool *pool, size_t bytes, void **ptr);

/* Gives a block back. NULL is fine. Later work may get the same memory, so that it must come after all work that uses
 * the block: on one stream it does. Inside a capture with forked streams, or an event that one may fork from, the pool
 * waits for the next break, which all of them join; it knows of forks by bare CUDA calls only once a stream of theirs
 * calls an op, so that such programs should include breakgraph/hooks.h. A kept block that is released while a graph of
 * the pool is captured waits for the end of the capture. What is no block, or is released already, changes nothing, and
 * a line on standard error says so; so too for a block of a capture that has ended, which took its blocks back, unless
 * the next capture's lies in its place by now. */
BG_API void bg_pool_release(bg_pool *pool, void *ptr);

/* Errors: INVALID_ARGUMENT. */
BG_API bg_status bg_pool_get_stats(const bg_pool *pool, bg_pool_stats *stats);

/* Gives back the caller's hold on the pool, which is not to be named again. NULL is fine. The memory stays as long as
 * graphs that were captured with the pool, and goes with the last of them, when all work on the device is done. Not
 * during a capture of the pool's own. */
BG_API void bg_pool_destroy(bg_pool *pool);

/* ---- the ledger: from any thread ------------------------------------------------------------------------------ */

/* Reports a block that an allocator hands out of memory that it got from the driver in larger pieces; from here on the
 * bytes from ptr are that block's, inside whatever allocation they lie in. name is for messages, copied, and may be
 * NULL. Errors: INVALID_ARGUMENT (a NULL, 0 bytes, a block that was told already and not freed, or overlaps one),
 * OUT_OF_MEMORY, UNSUPPORTED (no driver), CUDA. */
BG_API bg_status bg_ledger_alloc(void *ptr, size_t bytes, const char *name);

/* The block goes back to its allocator: graphs that were captured with it must not be replayed any more. It is
 * remembered, so that what still uses it is called freed by name, until another block is reported there. Errors:
 * INVALID_ARGUMENT (a NULL, inside a block, freed already), NOT_FOUND (no block was told there). */
BG_API bg_status bg_ledger_free(void *ptr);

BG_END_C_

#endif
