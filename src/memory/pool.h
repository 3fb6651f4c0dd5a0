/* The struct of a pool, for the files of this folder. */
#ifndef BG_MEMORY_POOL_H
#define BG_MEMORY_POOL_H

#include "memory/arena.h"
#include "memory/ledger.h"

#include <stdatomic.h>

struct bg_pool {
    atomic_uint references; /* the caller's, and one for each graph */
    int device;
    bg__pages pages;
    bg__arena arenas[2]; /* BG__LOW: the open bucket's blocks; BG__HIGH: what is kept */
    bg__last_use use;
    _Atomic(const void *) holder; /* the runner whose call uses the pool, also between its passes; NULL: none */
    void *sentry;                 /* from cudaMalloc: cudaFree waits for the device, unmapping need not */

    char *bucket; /* its name; NULL: none is open */
    bool capturing;
    bool own_bucket; /* the capture opened the bucket */
    bg__bucket_stats figures;

    size_t in_use, peak, pinned, reused;

    struct bg_pool *next; /* in the list of pools */
    uint64_t generation;
};

/* Returns the extent of that side that contains ptr; NULL: none. *begins: whether it begins at ptr. */
bg__extent *bg__pool_find_extent(const bg_pool *pool, bg__side side, const void *ptr, bool *begins);
/* Add the pool to, or remove it from, the pools in which owners of addresses are looked up. Adding sets its
 * generation. */
void bg__pool_register(bg_pool *pool);
void bg__pool_unregister(bg_pool *pool);

#endif
