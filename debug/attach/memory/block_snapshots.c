/* Snapshots: all live blocks of an allocator at one time, and the segments of memory that they are in. */
#include "blocks.h"

#include "base/base.h"
#include "block_table.h"

typedef struct segment {
    uintptr_t base;
    size_t bytes;
    bool private_pool;
} segment;

/* Protected by the lock of the block table. */
static uint64_t snapshot_count;
static segment *segments;
static size_t segment_count, segment_capacity;

void bg__blocks_snapshot_begin(void)
{
    bg__blocks_lock();
    bg__blocks_state.snapshot = ++snapshot_count;
    bg__blocks_state.snapshot_begun = bg__blocks_next_event();
    segment_count = 0;
    bg__blocks_unlock();
}

void bg__blocks_snapshot_add_segment(uintptr_t base, size_t bytes, bool private_pool)
{
    bg__blocks_lock();
    if (BG__ARRAY_GROW(segments, segment_count, segment_capacity, "segments of an allocator") == BG_OK)
        segments[segment_count++] = (segment){base, bytes, private_pool};
    bg__blocks_unlock(); /* without the segment, the pool of its blocks is unknown, and they are not checked */
}

static bool was_freed_since(bg__allocator allocator, uintptr_t base, uint64_t time)
{
    for (const bg__heap_block *b = bg__blocks_first_freed(); b != NULL && b->died > time; b = b->next)
        if (b->allocator == allocator && b->base == base)
            return true;
    return false;
}

void bg__blocks_snapshot_add_block(bg__allocator allocator, uintptr_t base, size_t bytes)
{
    bg__heap_block *b;
    bg__blocks_lock();
    b = bg__block_find(allocator, base);
    if (b != NULL && b->born < bg__blocks_state.snapshot_begun && b->size_known && b->bytes != bytes) {
        (void)bg__block_mark_freed_unseen(b);
        b = NULL;
    }
    if (b == NULL && !was_freed_since(allocator, base, bg__blocks_state.snapshot_begun))
        b = bg__block_add(allocator, base, bytes, 0);
    if (b != NULL && b->born < bg__blocks_state.snapshot_begun) {
        b->bytes = bytes;
        b->size_known = true;
        b->seen = bg__blocks_state.snapshot;
    }
    bg__blocks_unlock();
}

static int compare_segments(const void *a, const void *b)
{
    uintptr_t first = ((const segment *)a)->base, second = ((const segment *)b)->base;
    return (first > second) - (first < second);
}

static const segment *find_segment(uintptr_t address)
{
    size_t low = 0, high = segment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (segments[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address - segments[low - 1].base < segments[low - 1].bytes ? &segments[low - 1] : NULL;
}

uintptr_t bg__block_segment_end(uintptr_t address)
{
    const segment *found = find_segment(address);
    return found != NULL ? found->base + found->bytes : 0;
}

static void set_pool(bg__heap_block *b)
{
    const segment *found = find_segment(b->base);
    if (b->allocator == BG__ALLOCATOR_PYTORCH && b->pool == BG__POOL_UNKNOWN && found != NULL)
        b->pool = found->private_pool ? BG__POOL_PRIVATE : BG__POOL_SHARED;
}

bool bg__blocks_snapshot_end(bg__allocator allocator)
{
    bg__heap_block *b, *next;
    bool moved = false, unused = false;

    bg__blocks_lock();
    if (segment_count > 0)
        qsort(segments, segment_count, sizeof(segment), compare_segments);
    for (b = bg__blocks_first_live(allocator); b != NULL; b = next) {
        next = b->hh.next;
        set_pool(b);
        if (b->born < bg__blocks_state.snapshot_begun && b->seen != bg__blocks_state.snapshot &&
            b->pool != BG__POOL_UNKNOWN)
            moved |= bg__block_mark_freed_unseen(b);
        else
            moved |= bg__block_mark_reused(b, &unused);
    }
    for (b = bg__blocks_first_freed(); b != NULL; b = b->next)
        set_pool(b);
    bg__blocks_state.freed_in_use_known = false;
    bg__blocks_state.snapshot = 0;
    bg__blocks_remove_unused();
    bg__blocks_unlock();
    return moved;
}
