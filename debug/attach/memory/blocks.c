/* Reports of allocators on single blocks, and queries. */
#include "blocks.h"

#include <string.h>

#include "base/base.h"
#include "block_table.h"
#include "batch_rows.h"

enum {
    SEARCHES_MAX = 1000, /* the most searches for whether an allocation without a size may overlap a graph's memory */
    SNAPSHOT_REQUESTS_MAX = 50, /* the most snapshots that are requested for such allocations */
};

/* Protected by the lock of the block table. */
static int searches, snapshot_requests;
/* The freed blocks that a graph uses and that are not reused yet, without those of private pools: there reuse is no
 * fault. */
static bg__heap_block **freed_in_use;
static size_t freed_in_use_count, freed_in_use_capacity;

bool bg__block_free_needs_site(bg__allocator allocator, uintptr_t base)
{
    bg__heap_block *b;
    bool matters;
    bg__blocks_lock();
    b = bg__block_find(allocator, base);
    matters = b != NULL && (b->users > 0 || (b->pool != BG__POOL_PRIVATE && bg__blocks_is_capture_pending()));
    bg__blocks_unlock();
    return matters;
}

bool bg__block_record_free(bg__allocator allocator, uintptr_t base, size_t bytes, bg_site site)
{
    bg__heap_block *b;
    bool used;
    bg__blocks_lock();
    b = bg__block_find(allocator, base);
    bg__rows_invalidate(base, b != NULL && b->bytes > 0 ? b->bytes : 1);
    used = b != NULL && bg__block_mark_freed(b, bytes == 0 || !b->size_known || b->bytes == bytes, site);
    bg__blocks_unlock();
    return used;
}

/* Whether b, whose size is unknown, may overlap the block `behind`, which has a higher address. It cannot if a live
 * block lies between them. */
static bool may_reach(const bg__heap_block *b, const bg__heap_block *behind)
{
    if (b->base >= behind->base || searches >= SEARCHES_MAX)
        return false;
    searches++;
    for (const bg__heap_block *between = bg__blocks_first_live(b->allocator); between != NULL;
         between = between->hh.next)
        if (between->base > b->base && between->base < behind->base)
            return false;
    return true;
}

static void collect_freed_in_use(void)
{
    bg__blocks_state.freed_in_use_known = true;
    freed_in_use_count = 0;
    for (bg__heap_block *b = bg__blocks_first_freed(); b != NULL; b = b->next) {
        if (b->users == 0 || b->reused || b->pool == BG__POOL_PRIVATE)
            continue;
        if (BG__ARRAY_GROW(freed_in_use, freed_in_use_count, freed_in_use_capacity, "blocks that were freed") != BG_OK)
            return; /* the others are reported as freed, not as reused */
        freed_in_use[freed_in_use_count++] = b;
    }
}

bool bg__block_mark_reused(const bg__heap_block *b, bool *may_cover)
{
    bool marked = false;
    if (!bg__blocks_state.freed_in_use_known)
        collect_freed_in_use();
    for (size_t i = 0; i < freed_in_use_count; i++) {
        bg__heap_block *old = freed_in_use[i];
        if (old->reused || old->allocator != b->allocator || old->died > b->born)
            continue;
        if (bg__block_overlaps(old, b))
            marked = old->reused = true;
        else if (!b->size_known && !*may_cover)
            *may_cover = may_reach(b, old);
    }
    return marked;
}

/* Adds a block that was allocated just now. Returns NULL if out of host memory. */
static bg__heap_block *add_allocated_block(bg__allocator allocator, uintptr_t base, size_t bytes, bool *moved,
                                           bool *ask)
{
    bg__heap_block *b = bg__block_find(allocator, base);
    *moved = b != NULL && bg__block_mark_freed_unseen(b);
    b = bg__block_add(allocator, base, bytes, bg__blocks_next_event());
    if (b == NULL)
        return NULL;
    b->maker = bg__block_capture_current();
    if (b->maker != NULL)
        b->maker->users++;
    *moved |= bg__block_mark_reused(b, ask);
    return b;
}

bool bg__block_record_alloc(bg__allocator allocator, uintptr_t base, size_t bytes, bool *moved)
{
    bool ask = false;
    bg__rows_invalidate(base, bytes > 0 ? bytes : 1);
    bg__blocks_lock();
    (void)add_allocated_block(allocator, base, bytes, moved, &ask);
    ask = ask && snapshot_requests++ < SNAPSHOT_REQUESTS_MAX;
    bg__blocks_unlock();
    return ask;
}

/* Takes the name of b from all other blocks. */
static void move_name_to(const bg__heap_block *b)
{
    bg__heap_block *next;
    for (bg__heap_block *old = bg__blocks_first_live(BG__ALLOCATOR_NAMED); old != NULL; old = next) {
        next = old->hh.next;
        if (old != b && old->name != NULL && strcmp(old->name, b->name) == 0)
            (void)bg__block_mark_freed_unseen(old);
    }
    for (bg__heap_block *old = bg__blocks_first_freed(); old != NULL; old = old->next)
        if (old->name != NULL && strcmp(old->name, b->name) == 0)
            old->moved = old->base != b->base ? b->base : 0;
}

void bg__block_set_name(const char *name, uintptr_t base, size_t bytes)
{
    bool moved, ask = false;
    bg__heap_block *b;

    bg__blocks_lock();
    b = bg__block_find(BG__ALLOCATOR_NAMED, base);
    if (b == NULL || b->bytes != bytes || b->name == NULL || strcmp(b->name, name) != 0) {
        b = add_allocated_block(BG__ALLOCATOR_NAMED, base, bytes, &moved, &ask);
        if (b != NULL && (b->name = strdup(name)) != NULL)
            move_name_to(b);
    }
    bg__blocks_unlock();
}

/* Returns true if b contains address. A block without a size only moves *end or *begin to its base. */
static bool narrow_to_block(const bg__heap_block *b, uintptr_t address, uintptr_t *begin, uintptr_t *end)
{
    uintptr_t last = b->base + (b->size_known ? b->bytes : 0);
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

void bg__block_narrow_range(uintptr_t address, uintptr_t *begin, uintptr_t *end)
{
    bool found = false;
    bg__blocks_lock();
    for (bg__allocator allocator = 0; allocator < BG__ALLOCATORS; allocator++)
        for (const bg__heap_block *b = bg__blocks_first_live(allocator); b != NULL && !found; b = b->hh.next)
            found = narrow_to_block(b, address, begin, end);
    bg__blocks_unlock();
}

bool bg__blocks_any_begins_in(uintptr_t base, size_t bytes)
{
    bool found = false;
    bg__blocks_lock();
    for (bg__allocator allocator = BG__ALLOCATOR_NAMED + 1; allocator < BG__ALLOCATORS; allocator++)
        for (const bg__heap_block *b = bg__blocks_first_live(allocator); b != NULL && !found; b = b->hh.next)
            found = b->base - base < bytes;
    bg__blocks_unlock();
    return found;
}
