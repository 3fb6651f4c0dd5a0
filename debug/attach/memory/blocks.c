/* Reports of allocators on single blocks, and queries. */
#include "blocks.h"

#include <string.h>

#include "base/base.h"
#include "block_table.h"
#include "rows.h"

enum {
    SEARCHES = 1000, /* the most searches for whether an allocation without a size may overlap a graph's memory */
    QUESTIONS = 50,  /* the most snapshots that are requested for that */
};

/* Protected by the lock of the block table. */
static int searches, questions;
/* The freed blocks that a graph uses and that are not reused yet, without those of private pools: there reuse is no
 * fault. */
static bg__heap_block **watched;
static size_t watched_count, watched_capacity;

bool bg__block_free_matters(bg__allocator allocator, uintptr_t base)
{
    bg__heap_block *b;
    bool matters;
    bg__blocks_lock();
    b = bg__block_find(allocator, base);
    matters = b != NULL && (b->users > 0 || (b->pool != BG__POOL_PRIVATE && bg__blocks_capture_waits()));
    bg__blocks_unlock();
    return matters;
}

bool bg__block_freed(bg__allocator allocator, uintptr_t base, size_t bytes, bg_site site)
{
    bg__heap_block *b;
    bool used;
    bg__blocks_lock();
    b = bg__block_find(allocator, base);
    bg__rows_drop(base, b != NULL && b->bytes > 0 ? b->bytes : 1);
    used = b != NULL && bg__block_end(b, bytes == 0 || !b->sized || b->bytes == bytes, site);
    bg__blocks_unlock();
    return used;
}

/* Whether b, whose size is unknown, may overlap a block behind it: not if a live block lies between them. */
static bool may_reach(const bg__heap_block *b, const bg__heap_block *behind)
{
    if (b->base >= behind->base || searches >= SEARCHES)
        return false;
    searches++;
    for (const bg__heap_block *between = bg__blocks_live(b->allocator); between != NULL; between = between->hh.next)
        if (between->base > b->base && between->base < behind->base)
            return false;
    return true;
}

static void find_watched(void)
{
    bg__blocks_state.watched_known = true;
    watched_count = 0;
    for (bg__heap_block *b = bg__blocks_freed(); b != NULL; b = b->next) {
        if (b->users == 0 || b->reused || b->pool == BG__POOL_PRIVATE)
            continue;
        if (BG__GROW(watched, watched_count, watched_capacity, "blocks that were freed") != BG_OK)
            return; /* the others are reported as freed, not as reused */
        watched[watched_count++] = b;
    }
}

bool bg__block_mark_reused(const bg__heap_block *b, bool *may_cover)
{
    bool marked = false;
    if (!bg__blocks_state.watched_known)
        find_watched();
    for (size_t i = 0; i < watched_count; i++) {
        bg__heap_block *old = watched[i];
        if (old->reused || old->allocator != b->allocator || old->died > b->born)
            continue;
        if (bg__block_overlaps(old, b))
            marked = old->reused = true;
        else if (!b->sized && !*may_cover)
            *may_cover = may_reach(b, old);
    }
    return marked;
}

/* Adds a block that was allocated just now. Returns NULL if out of host memory. */
static bg__heap_block *begin_block(bg__allocator allocator, uintptr_t base, size_t bytes, bool *moved, bool *ask)
{
    bg__heap_block *b = bg__block_find(allocator, base);
    *moved = b != NULL && bg__block_end_untold(b);
    b = bg__block_add(allocator, base, bytes, bg__blocks_next_event());
    if (b == NULL)
        return NULL;
    b->maker = bg__block_capture_current();
    if (b->maker != NULL)
        b->maker->users++;
    *moved |= bg__block_mark_reused(b, ask);
    return b;
}

bool bg__block_allocated(bg__allocator allocator, uintptr_t base, size_t bytes, bool *moved)
{
    bool ask = false;
    bg__rows_drop(base, bytes > 0 ? bytes : 1);
    bg__blocks_lock();
    (void)begin_block(allocator, base, bytes, moved, &ask);
    ask = ask && questions++ < QUESTIONS;
    bg__blocks_unlock();
    return ask;
}

/* Takes the name of b from all other blocks. */
static void move_name(const bg__heap_block *b)
{
    bg__heap_block *next;
    for (bg__heap_block *old = bg__blocks_live(BG__NAMED); old != NULL; old = next) {
        next = old->hh.next;
        if (old != b && old->name != NULL && strcmp(old->name, b->name) == 0)
            (void)bg__block_end_untold(old);
    }
    for (bg__heap_block *old = bg__blocks_freed(); old != NULL; old = old->next)
        if (old->name != NULL && strcmp(old->name, b->name) == 0)
            old->moved = old->base != b->base ? b->base : 0;
}

void bg__block_named(const char *name, uintptr_t base, size_t bytes)
{
    bool moved, ask = false;
    bg__heap_block *b;

    bg__blocks_lock();
    b = bg__block_find(BG__NAMED, base);
    if (b == NULL || b->bytes != bytes || b->name == NULL || strcmp(b->name, name) != 0) {
        b = begin_block(BG__NAMED, base, bytes, &moved, &ask);
        if (b != NULL && (b->name = strdup(name)) != NULL)
            move_name(b);
    }
    bg__blocks_unlock();
}

/* Returns true if b contains address. A block without a size only moves *end or *begin to its base. */
static bool narrow(const bg__heap_block *b, uintptr_t address, uintptr_t *begin, uintptr_t *end)
{
    uintptr_t last = b->base + (b->sized ? b->bytes : 0);
    if (address >= b->base && address < last) { /* a block may lie in several mappings */
        *begin = b->base;
        *end = last;
        return true;
    }
    if (b->base > address && b->base < *end)
        *end = b->base;
    if (last <= address && last > *begin)
        *begin = last;
    return false;
}

void bg__block_narrow(uintptr_t address, uintptr_t *begin, uintptr_t *end)
{
    bool found = false;
    bg__blocks_lock();
    for (bg__allocator allocator = 0; allocator < BG__ALLOCATORS; allocator++)
        for (const bg__heap_block *b = bg__blocks_live(allocator); b != NULL && !found; b = b->hh.next)
            found = narrow(b, address, begin, end);
    bg__blocks_unlock();
}

bool bg__blocks_in(uintptr_t base, size_t bytes)
{
    bool found = false;
    bg__blocks_lock();
    for (bg__allocator allocator = BG__NAMED + 1; allocator < BG__ALLOCATORS; allocator++)
        for (const bg__heap_block *b = bg__blocks_live(allocator); b != NULL && !found; b = b->hh.next)
            found = b->base - base < bytes;
    bg__blocks_unlock();
    return found;
}
