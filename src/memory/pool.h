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
    bg__use use;
    _Atomic(const void *) holder; /* the runner whose call has the pool, also between its passes; NULL: none */
    void *sentry;                 /* cudaMalloc's: to free it waits for the device, which unmapping does not promise */

    char *bucket; /* its name; NULL: none is open */
    bool capturing;
    bool own_bucket; /* the capture's */
    bg__bucket_figures figures;

    size_t in_use, peak, pinned, reused;

    struct bg_pool *next; /* in the list of pools */
    uint64_t generation;
};

/* The extent of that side that holds the address, and whether it begins there; NULL: none does. */
bg__extent *bg__pool_find(const bg_pool *pool, bg__side side, const void *ptr, bool *begins);
/* Between list and unlist, owners of addresses are also looked for in the pool, which gets its generation by list. */
void bg__pool_list(bg_pool *pool);
void bg__pool_unlist(bg_pool *pool);

#endif
