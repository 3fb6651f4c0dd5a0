/* Blocks of one side of a pool, in order of their offsets from its end, without gaps. */
#ifndef BG_MEMORY_ARENA_H
#define BG_MEMORY_ARENA_H

#include "memory/pages.h"

enum { BG__POOL_ALIGNMENT = 256 };

typedef enum bg__extent_state { BG__FREE, BG__LIVE, BG__PINNED } bg__extent_state;

typedef struct bg__extent {
    struct bg__extent *next, *previous;
    size_t offset, bytes;
    size_t asked; /* of one that is not free: without the padding up to the alignment */
    bg__extent_state state;
    uint64_t epoch;      /* of a free one: when it was released */
    uint64_t generation; /* of one that is not: the block's, for the ledger */
} bg__extent;

typedef struct bg__arena {
    bg__side side;
    bg__extent *first, *last;
    uint64_t epoch;
    bool defers; /* what is released waits for the next epoch */
    bool fresh;  /* what is released is not used at all */
} bg__arena;

/* Where the last block ends: so much has to be mapped. */
size_t bg__arena_top(const bg__arena *arena);
/* Where a block of that size is to go: the smallest free one that is large enough; else the last one, if it is free and
 * can be extended; NULL: behind the last one. */
bg__extent *bg__arena_fit(const bg__arena *arena, size_t bytes);
size_t bg__arena_top_with(const bg__arena *arena, const bg__extent *fit, size_t bytes);
/* Takes it. *spare is a zeroed extent, NULL afterwards if it was needed. *reused: the bytes that were released once. */
bg__extent *bg__arena_take(bg__arena *arena, bg__extent *fit, size_t bytes, bg__extent_state state, bg__extent **spare,
                           size_t *reused);
void bg__arena_release(bg__arena *arena, bg__extent *extent);
/* A new epoch: what was released may be used again. */
void bg__arena_advance(bg__arena *arena);
void bg__arena_set_defers(bg__arena *arena, bool defers);
void bg__arena_clear(bg__arena *arena);

#endif
