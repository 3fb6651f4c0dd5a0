/* The blocks of one side of a pool, without gaps, in order of their offsets from that end of the address range. */
#ifndef BG_MEMORY_ARENA_H
#define BG_MEMORY_ARENA_H

#include "memory/pages.h"

enum { BG__POOL_ALIGNMENT = 256 };

typedef enum bg__extent_state { BG__EXTENT_FREE, BG__EXTENT_LIVE, BG__EXTENT_PINNED } bg__extent_state;

typedef struct bg__extent {
    struct bg__extent *next, *previous;
    size_t offset, bytes;
    size_t asked; /* if not free: the requested bytes, before rounding up to the alignment */
    bg__extent_state state;
    uint64_t epoch;      /* if free: when it was released */
    uint64_t generation; /* if not free: the block's, for the ledger */
} bg__extent;

typedef struct bg__arena {
    bg__side side;
    bg__extent *first, *last;
    uint64_t epoch;
    bool defers; /* released blocks wait for the next epoch */
    bool fresh;  /* released blocks are not reused at all */
} bg__arena;

/* Returns where the last block ends: the bytes that must be mapped. */
size_t bg__arena_top(const bg__arena *arena);
/* Returns the extent for a block of that size: the smallest free one that is large enough; else the last one, if it is
 * free and can be extended; NULL: a new one after the last. */
bg__extent *bg__arena_find_fit(const bg__arena *arena, size_t bytes);
size_t bg__arena_top_after(const bg__arena *arena, const bg__extent *fit, size_t bytes);
/* Allocates the block at `fit`. *spare is a zeroed extent; it becomes NULL if it was used. *reused: how many of the
 * bytes were released before. */
bg__extent *bg__arena_alloc(bg__arena *arena, bg__extent *fit, size_t bytes, bg__extent_state state, bg__extent **spare,
                            size_t *reused);
void bg__arena_release(bg__arena *arena, bg__extent *extent);
/* Begins a new epoch: released blocks may be reused. */
void bg__arena_begin_epoch(bg__arena *arena);
void bg__arena_set_defers(bg__arena *arena, bool defers);
void bg__arena_clear(bg__arena *arena);

#endif
