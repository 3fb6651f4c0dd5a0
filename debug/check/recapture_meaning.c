/* Classifies a word in a node or an argument: a number, or an address and its memory. */
#include "recapture.h"

#include <stdlib.h>

static int compare_block_places(const void *a, const void *b)
{
    uintptr_t x = ((const struct bg__block_place *)a)->where.begin,
              y = ((const struct bg__block_place *)b)->where.begin;
    return (x > y) - (x < y);
}

/* Scratch and released blocks are reused, so most blocks share memory with other blocks. */
bg_status bg__recapture_index_blocks(bg__recapture_side *side)
{
    bg__spans placed = {0}, rest = {0};
    size_t capacity = 0;
    bg_status status = BG_OK;

    for (size_t i = 0; i < side->block_count; i++) {
        uintptr_t begin = side->blocks[i].where.base, end = begin + side->blocks[i].where.bytes;
        BG__TRY(bg__spans_add_rest(&rest, begin, end, &placed));
        for (size_t k = 0; k < rest.count; k++) {
            BG__TRY(BG__ARRAY_GROW(side->places, side->place_count, capacity, "blocks"));
            side->places[side->place_count++] = (struct bg__block_place){rest.list[k], i};
        }
        bg__spans_free(&rest);
        BG__TRY(bg__spans_add(&placed, begin, end));
    }
    if (side->place_count > 0)
        qsort(side->places, side->place_count, sizeof *side->places, compare_block_places);
done:
    bg__spans_free(&rest);
    bg__spans_free(&placed);
    return status;
}

/* Finds the block that contains the address; NULL: none. */
static const bg__recapture_block *find_block_at(const bg__recapture_side *side, uintptr_t address)
{
    size_t low = 0, high = side->place_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (side->places[middle].where.end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < side->place_count && side->places[low].where.begin <= address ? &side->blocks[side->places[low].block]
                                                                               : NULL;
}

bg__meaning bg__word_meaning(const bg__recapture_side *side, uint64_t word)
{
    const bg__allocation *own = bg__allocations_find(&side->own, (uintptr_t)word);
    const bg__recapture_block *block = find_block_at(side, (uintptr_t)word);

    if (own != NULL)
        return (bg__meaning){.kind = BG__NODE_MEMORY, .node = own->id, .value = word - own->base};
    if (block != NULL)
        return (bg__meaning){.kind = BG__CALL_MEMORY, .block = block, .value = word - block->where.base};
    if (bg__pointer_may_be(word) && bg__allocations_find(side->notes, (uintptr_t)word) != NULL)
        return (bg__meaning){.kind = BG__MEMORY, .value = word};
    return (bg__meaning){.kind = BG__NUMBER, .value = word};
}

static bool is_capture_memory(const bg__meaning *meaning)
{
    return meaning->kind == BG__CALL_MEMORY || meaning->kind == BG__NODE_MEMORY;
}

bool bg__is_same_meaning(const bg__recapture *recapture, const bg__meaning *a, const bg__meaning *b)
{
    if (a->value != b->value)
        return false;
    if (a->kind != b->kind) /* the memory at that address was freed between the captures */
        return !is_capture_memory(a) && !is_capture_memory(b);
    if (a->kind == BG__NODE_MEMORY) /* ordinals are comparable only if both captures made the same nodes */
        return recapture->flow_differs || a->node == b->node;
    return a->kind != BG__CALL_MEMORY || (recapture->side[0].calls[a->block->call].pair == (long)b->block->call &&
                                          a->block->kind == b->block->kind && a->block->slot == b->block->slot);
}
