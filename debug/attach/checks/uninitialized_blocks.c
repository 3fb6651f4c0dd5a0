/* Finds the freed blocks whose memory holds no data when a graph begins. */
#include "block_uses.h"

#include "block_use.h"

/* In a private pool, freed blocks of another graph's capture, or from before any capture, may hold data that this graph
 * reads: graphs of one pool pass tensors to each other without keeping the memory allocated. So only blocks of the
 * graph's own capture count. */
static bool is_uninitialized_block(const bg__block_use *u)
{
    const bg__heap_block *b = u->block;
    if (b->died == 0 || u->kind == BG__USE_OVERLAYS)
        return false;
    return b->pool == BG__POOL_PRIVATE ? u->kind == BG__USE_OWN : b->pool == BG__POOL_SHARED && b->free_reported;
}

/* The end of the memory that may belong to b. */
static uintptr_t block_end(const bg__heap_block *b)
{
    uintptr_t end = b->base + b->bytes, segment_end;
    if (b->size_known || (b->died != 0 && b->pool != BG__POOL_PRIVATE))
        return end;
    segment_end = bg__block_segment_end(b->base);
    end = segment_end > end ? segment_end : end;
    for (const bg__heap_block *live = bg__blocks_first_live(b->allocator); live != NULL; live = live->hh.next)
        if (live->base > b->base && live->base < end)
            end = live->base;
    return end;
}

/* Whether a node pointed into this part of a private pool when no block was known there. */
static bool has_unknown_use(const bg__block_uses *uses, const bg__heap_block *b)
{
    return b->pool == BG__POOL_PRIVATE && bg__spans_overlap(&uses->unknown, b->base, block_end(b));
}

static bool may_hold_data(const bg__block_use *u)
{
    return u->block->died != 0 && u->block->pool == BG__POOL_PRIVATE && u->kind != BG__USE_OVERLAYS &&
           u->kind != BG__USE_OWN;
}

/* Adds the blocks of this allocator that may hold data. One allocator at a time, since a block of one may lie inside a
 * block of another. */
static bg_status add_initialized_blocks(const bg__block_uses *uses, bg__allocator allocator, const bg__spans *found,
                                        bg__spans *held)
{
    bg_status status = BG_OK;

    for (size_t i = 0; i < uses->count; i++) {
        const bg__block_use *u = &uses->list[i];
        if (u->block->allocator == allocator && may_hold_data(u))
            BG__TRY(bg__spans_add(held, u->block->base, block_end(u->block)));
    }
    for (const bg__heap_block *b = bg__blocks_first_live(allocator); b != NULL; b = b->hh.next)
        if (bg__spans_overlap(found, b->base, block_end(b)))
            BG__TRY(bg__spans_add(held, b->base, block_end(b)));
done:
    return status;
}

static bg_status add_uninitialized_blocks(const bg__block_uses *uses, bg__allocator allocator, bg__spans *empty)
{
    bg__spans found = {0}, held = {0};
    bg_status status = BG_OK;

    for (size_t i = 0; i < uses->count; i++) {
        const bg__block_use *u = &uses->list[i];
        if (u->block->allocator == allocator && is_uninitialized_block(u) && !has_unknown_use(uses, u->block))
            BG__TRY(bg__spans_add(&found, u->block->base, block_end(u->block)));
    }
    if (found.count > 0)
        BG__TRY(add_initialized_blocks(uses, allocator, &found, &held));
    for (size_t i = 0; i < found.count; i++)
        BG__TRY(bg__spans_add_rest(empty, found.list[i].begin, found.list[i].end, &held));
done:
    bg__spans_free(&found);
    bg__spans_free(&held);
    return status;
}

bg_status bg__block_uses_add_uninitialized(const bg__block_uses *uses, bg__spans *empty)
{
    bg_status status = BG_OK;

    if (uses == NULL)
        return BG_OK;
    bg__blocks_lock();
    for (bg__allocator allocator = BG__ALLOCATOR_NAMED + 1; allocator < BG__ALLOCATORS; allocator++)
        BG__TRY(add_uninitialized_blocks(uses, allocator, empty));
done:
    bg__blocks_unlock();
    return status;
}

bool bg__block_uses_are_known(const bg__block_uses *uses)
{
    return uses != NULL && uses->nodes > 0 && uses->count > 0;
}
