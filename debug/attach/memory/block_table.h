/* The table of blocks that allocators have reported, and of the program's captures. One lock protects all of it. */
#ifndef BG_ATTACH_BLOCK_TABLE_H
#define BG_ATTACH_BLOCK_TABLE_H

#include <pthread.h>
#include <stdlib.h>

#include "debug/memory/hash_table.h"

#include <breakgraph/op.h>

#include "block_allocator.h"

/* A capture of the program. Freed blocks are kept while it is open, and until the uses of its graph are recorded, since
 * nodes may point into them. */
typedef struct bg__block_capture {
    uint64_t id;       /* CUDA's */
    cudaGraph_t graph; /* the captured graph; NULL: the capture is open, or the graph is destroyed */
    pthread_t thread;
    uint64_t begun, ended; /* ended 0: it is open */
    bool recorded;
    uint64_t launched; /* number of the graph's last launch among all launches; 0: none */
    char name[32];     /* the graph's name at that launch */
    int users;         /* number of blocks and graphs that refer to it */
    struct bg__block_capture *next;
} bg__block_capture;

typedef enum bg__block_pool { BG__POOL_UNKNOWN, BG__POOL_SHARED, BG__POOL_PRIVATE } bg__block_pool;

typedef struct bg__heap_block {
    bg__allocator allocator;
    uintptr_t base;
    size_t bytes;    /* the size; if size_known is false, the least size */
    bool size_known; /* bytes is the size */
    bg__block_pool pool;
    uint64_t born, died;      /* in events; died 0: it is live; born 0: before the first event */
    uint64_t seen;            /* the last snapshot that has it */
    bg__block_capture *maker; /* the capture during its allocation; NULL: none, or unknown */
    char *name;               /* from the program; NULL: none */
    bool free_reported;       /* the allocator has reported the free; else it is no finding */
    bg_site freed;            /* where it was freed; file NULL: unknown */
    bool reused;
    uintptr_t moved; /* the block that has its name now; 0: none other */
    int users;       /* number of graphs that use it */
    /* Only in a private pool: numbers of launches. overwritten: the launch of a graph whose nodes point into the block
     * although it was freed; filled: the launch of a graph that may have filled the block again. */
    uint64_t overwritten, filled;
    char overwriter[32], overwriter_node[200]; /* of `overwritten`: its graph and node ("memcpy#0, at model.py:17") */
    struct bg__heap_block *next, **link;       /* in the list of freed blocks */
    UT_hash_handle hh;                         /* in the table of live blocks */
} bg__heap_block;

/* The number of events, which serves as a time. Never 0. */
uint64_t bg__blocks_time(void);
/* A capture has begun on the calling thread, or has ended. graph NULL: the capture failed. */
void bg__blocks_capture_begun(uint64_t capture);
void bg__blocks_capture_ended(uint64_t capture, cudaGraph_t graph);

/* All functions below need the lock, and so do reads of members. */
void bg__blocks_lock(void);
void bg__blocks_unlock(void);

typedef struct bg__block_state {
    uint64_t snapshot, snapshot_begun; /* the open snapshot, and when it began; 0: none is open */
    bool freed_in_use_known;           /* blocks.c: its list of freed blocks in use is up to date */
} bg__block_state;
extern bg__block_state bg__blocks_state;

/* Counts a new event, and returns its time. */
uint64_t bg__blocks_next_event(void);
/* Removes the freed blocks that no graph uses, unless a capture or a snapshot may still need them. */
void bg__blocks_remove_unused(void);
bg__heap_block *bg__blocks_first_live(bg__allocator allocator); /* the first; the others by hh.next */
bg__heap_block *bg__blocks_first_freed(void);                   /* the first; the others by next */
/* The end of the segment that has address in the last snapshot; 0: none (block_snapshots.c). */
uintptr_t bg__block_segment_end(uintptr_t address);
/* Returns the live block at base, or NULL. */
bg__heap_block *bg__block_find(bg__allocator allocator, uintptr_t base);
/* Adds a live block. bytes 0: the size is unknown. Returns NULL if out of host memory. */
bg__heap_block *bg__block_add(bg__allocator allocator, uintptr_t base, size_t bytes, uint64_t born);
/* Moves a live block to the freed ones. free_reported: the allocator has reported the free. Returns true if a graph
 * uses the block. */
bool bg__block_mark_freed(bg__heap_block *block, bool free_reported, bg_site site);
/* The same for a block whose free was not reported, such as a block that CuPy has freed in another thread. */
bool bg__block_mark_freed_unseen(bg__heap_block *block);
/* Marks as reused the freed blocks that the live block b overlaps. Returns true if a graph uses one of them.
 * *may_cover: the size of b is unknown, and b may overlap such a block (blocks.c). */
bool bg__block_mark_reused(const bg__heap_block *b, bool *may_cover);
bool bg__block_overlaps(const bg__heap_block *a, const bg__heap_block *b);
void bg__block_retain(bg__heap_block *block);
void bg__block_release(bg__heap_block *block);

/* Whether the nodes of a capture's graph may point into blocks that are freed now. */
bool bg__blocks_is_capture_pending(void);
/* Returns the open capture, or NULL if there is none or it is unknown which one. */
bg__block_capture *bg__block_capture_current(void);
/* Returns the capture that made graph, or NULL. The caller releases it (bg__block_capture_release). */
bg__block_capture *bg__block_capture_acquire(cudaGraph_t graph);
void bg__block_capture_set_recorded(bg__block_capture *capture);
void bg__block_capture_release(bg__block_capture *capture);

#endif
