/* Pools of device memory for graphs that never run at the same time, and the ledger of memory blocks.
 * Graphs of several sizes share one range of a pool's addresses. The pool takes as much memory as the largest graph
 * needs, plus the kept blocks. A block is of one of two kinds:
 *   - Allocated while a graph of the pool is captured: it belongs to that graph, at addresses that the pool's other
 *     graphs also use. Its contents are valid only inside that pass, at capture and in each replay.
 *   - Allocated outside captures: kept. No graph of the pool reuses it until it is released. For static inputs, and
 *     for outputs that are read after a replay.
 * Threads: a pool, with its graphs, serves one thread at a time: a replay or a capture returns BUSY while a replay or
 * capture of another thread has not returned. Different pools may be used concurrently. */
#ifndef BREAKGRAPH_MEMORY_H
#define BREAKGRAPH_MEMORY_H

#include <breakgraph/status.h>

BG_BEGIN_C_

/* A pool of device memory. */
typedef struct bg_pool bg_pool;

/* Options of bg_pool_create. */
typedef struct bg_pool_options {
    size_t struct_size;   /* set by BG_POOL_OPTIONS_INIT */
    size_t reserve_bytes; /* address space to reserve, in bytes, rounded up to the device's page size; takes no memory.
                           * 0: as much as the device's memory; if that cannot be reserved, half of it, a quarter, ...,
                           * at least 1 GiB, with a warning */
    size_t limit_bytes;   /* most device memory that the pool takes, in bytes, in whole pages; 0: no limit */
} bg_pool_options;

#define BG_POOL_OPTIONS_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(bg_pool_options), 0, 0                                                                                  \
    }

/* All in bytes. Blocks count as multiples of 256 bytes. */
typedef struct bg_pool_stats {
    size_t struct_size; /* set by BG_POOL_STATS_INIT */
    size_t mapped; /* device memory that the pool holds, in whole pages: for its largest graph and the kept blocks */
    size_t in_use; /* blocks that are not released: kept ones, and those of the current capture */
    size_t peak;   /* largest value of in_use so far */
    size_t pinned; /* device memory of bridge buffers and scratch, in the graph that has most of them; not page-locked
                    * host memory. No other block of the same pass reuses this memory */
    size_t reused; /* sum, over all allocations so far, of the bytes that they took from released blocks */
} bg_pool_stats;

#define BG_POOL_STATS_INIT                                                                                             \
    {                                                                                                                  \
        sizeof(bg_pool_stats), 0, 0, 0, 0, 0                                                                           \
    }

/* Creates a pool on the current device. It reserves addresses, and maps at most one page before the first allocation.
 * options NULL: BG_POOL_OPTIONS_INIT. The caller owns *pool, which is NULL after an error.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (the device has no virtual memory management), OUT_OF_MEMORY, CUDA. */
BG_API bg_status bg_pool_create(bg_pool **pool, const bg_pool_options *options);

/* Allocates an uninitialized block of at least that many bytes, aligned to 256. *ptr is NULL for 0 bytes. The smallest
 * released block that is large enough is used first.
 * During a capture that uses the pool, the block belongs to the captured graph: it is released at the end of the
 * capture at the latest, and each replay uses the same addresses. Outside captures the block is kept until it is
 * released or the pool's memory is freed.
 * Errors: INVALID_ARGUMENT (a NULL, another device than the pool's), OUT_OF_MEMORY (the limit, the reserve or the
 * device, which bg_last_error() names; the pool is unchanged), CUDA. */
BG_API bg_status bg_pool_alloc(bg_pool *pool, size_t bytes, void **ptr);

/* Releases a block. NULL does nothing. Later allocations may return the same memory. Work that uses such a later block
 * must be ordered after all work that uses this block; on one stream it always is.
 * Inside a capture with forked streams, or with an event that a stream may fork from, the block is reused only after
 * the next break, which joins all streams. The pool learns of a fork by bare CUDA calls only when the forked stream
 * calls an op; such programs should include breakgraph/hooks.h. A kept block that is released while a graph of the
 * pool is captured is reused only after the end of the capture.
 * Releasing an unknown or already released pointer does nothing and prints a warning to standard error. The same
 * happens with a block of a capture that has ended, since the end of a capture releases its blocks. But if a block of
 * the capture that runs now begins at that address, that block is released, without a warning. */
BG_API void bg_pool_release(bg_pool *pool, void *ptr);

/* Copies the pool's statistics to *stats.
 * Errors: INVALID_ARGUMENT (a NULL, bad struct_size). */
BG_API bg_status bg_pool_get_stats(const bg_pool *pool, bg_pool_stats *stats);

/* Ends the caller's use of the pool; the pointer is invalid afterwards. NULL does nothing. The memory stays as long as
 * graphs that were captured with the pool, and is freed with the last of them, when all work on the device is done.
 * Must not be called during a capture that uses the pool. */
BG_API void bg_pool_destroy(bg_pool *pool);

/* ---- the ledger: from any thread ------------------------------------------------------------------------------ */

/* Reports a block that another allocator has handed out. That allocator got the memory from the driver in larger
 * pieces. From now on the ledger assigns those bytes to this block, inside whatever allocation contains them. name is
 * for messages, is copied, and may be NULL. Errors: INVALID_ARGUMENT (a NULL, 0 bytes, the block is reported already
 * and not freed, or overlaps another), OUT_OF_MEMORY, UNSUPPORTED (no driver), CUDA. */
BG_API bg_status bg_ledger_alloc(void *ptr, size_t bytes, const char *name);

/* Reports that the allocator took the block back. Graphs that were captured with it must not be replayed any more. The
 * ledger remembers the block, so that checks report uses of it as freed, by name, until another block is reported
 * there.
 * Errors: INVALID_ARGUMENT (a NULL, inside a block, freed already), NOT_FOUND (no block was reported there). */
BG_API bg_status bg_ledger_free(void *ptr);

BG_END_C_

#endif
