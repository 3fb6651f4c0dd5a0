/* The table of blocks that allocators have told of, and of captures during which they did; all of it under one lock. */
#ifndef BG_ATTACH_BLOCK_TABLE_H
#define BG_ATTACH_BLOCK_TABLE_H

#include <pthread.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(added) ((added)->lost = true)
#include <uthash.h>

#include <breakgraph/op.h>

#include "allocator.h"

/* A capture of the program's. While it is open, and until the graph that it made has been noted, freed blocks are kept:
 * nodes may point into them. */
typedef struct bg__block_capture {
    uint64_t id;       /* CUDA's */
    cudaGraph_t graph; /* that it made; NULL: it is open, or the graph is gone */
    pthread_t thread;
    uint64_t begun, ended; /* ended 0: it is open */
    bool noted;
    uint64_t launched; /* the graph: when, by the count of launches; 0: never */
    char name[32];     /* of it, when it was launched */
    int users;         /* blocks and graphs that were made during it */
    struct bg__block_capture *next;
} bg__block_capture;

typedef enum bg__block_pool { BG__POOL_UNKNOWN, BG__POOL_SHARED, BG__POOL_PRIVATE } bg__block_pool;

typedef struct bg__heap_block {
    bg__allocator allocator;
    uintptr_t base;
    size_t bytes; /* known to be in it */
    bool sized;   /* and these are all */
    bg__block_pool pool;
    uint64_t born, died;      /* times; died 0: it is live; born 0: before the first event */
    uint64_t seen;            /* the snapshot that had it last */
    bg__block_capture *maker; /* during which it was allocated; NULL: none, or unknown */
    char *name;               /* that the program gives it */
    bool told;                /* that it died, by the allocator; else nothing is found about it */
    bg_site freed;            /* file NULL: unknown */
    bool reused;
    uintptr_t moved; /* where the program has its name now; 0: nowhere else */
    int users;       /* graphs' uses */
    /* Of a private pool, by the count of launches: a graph whose nodes point there although the block was freed; and
     * one that may have filled it again. */
    uint64_t overwritten, filled;
    char taker[32], taker_call[200];     /* that graph, and its node: "memcpy#0, at model.py:17" */
    struct bg__heap_block *next, **link; /* of the freed ones */
    bool lost;
    UT_hash_handle hh; /* of the live ones */
} bg__heap_block;

/* The number of events so far: when a node was made. Never 0. */
uint64_t bg__blocks_time(void);
/* A capture has begun on the calling thread, or ended. graph NULL: it failed. */
void bg__blocks_capture_begun(uint64_t capture);
void bg__blocks_capture_ended(uint64_t capture, cudaGraph_t graph);
/* The program has destroyed a graph. */
void bg__blocks_graph_destroyed(cudaGraph_t graph);

/* Between them all functions below are called, and all members read. */
void bg__blocks_lock(void);
void bg__blocks_unlock(void);

typedef struct bg__block_state {
    uint64_t snapshot, snapshot_begun; /* number of the one that is taken, and when; 0: none is */
    bool watched_known;                /* blocks.c: no freed block has got or lost a user since it listed them */
} bg__block_state;
extern bg__block_state bg__blocks_state;

/* A new event: its time. */
uint64_t bg__blocks_next_event(void);
/* Frees the freed blocks that nobody uses, unless somebody may still ask for them. */
void bg__blocks_remove_unused(void);
bg__heap_block *bg__blocks_live(bg__allocator allocator); /* the first; the others by hh.next */
bg__heap_block *bg__blocks_freed(void);                   /* the first; the others by next */
/* The end of the segment that has address, as of the last snapshot; 0: none has (block_snapshots.c). */
uintptr_t bg__block_segment_end(uintptr_t address);
/* The live block at base; NULL: there is none. */
bg__heap_block *bg__block_find(bg__allocator allocator, uintptr_t base);
/* bytes 0: the size is unknown. NULL: out of host memory. */
bg__heap_block *bg__block_add(bg__allocator allocator, uintptr_t base, size_t bytes, uint64_t born);
/* The allocator does not have it any more. told: it said so itself. true: a graph uses it. */
bool bg__block_end(bg__heap_block *block, bool told, bg_site site);
/* The same where nobody said when, nor what was there since: such as what CuPy freed in another thread. */
bool bg__block_end_untold(bg__heap_block *block);
/* Marks what b, which is live, has taken from freed blocks. *may_cover: b, whose size is unknown, may have some, too.
 * true: a graph uses memory of b's (blocks.c). */
bool bg__block_mark_reused(const bg__heap_block *b, bool *may_cover);
bool bg__block_overlaps(const bg__heap_block *a, const bg__heap_block *b);
void bg__block_hold(bg__heap_block *block);
void bg__block_release(bg__heap_block *block);

/* Whether the nodes of a capture's graph may point into what is freed now. */
bool bg__blocks_capture_waits(void);
/* The capture that is open. NULL: there is none, or it is unknown. */
bg__block_capture *bg__block_capture_current(void);
/* The capture that made graph; NULL: it is unknown. The caller gives back what it gets. */
bg__block_capture *bg__block_capture_of(cudaGraph_t graph);
void bg__block_capture_noted(bg__block_capture *capture);
void bg__block_capture_release(bg__block_capture *capture);

#endif
