/* Tells what a word in a node or an argument is: a number or an address, and of which memory. */
#include "recapture.h"

bg__meaning bg__mean(const bg__side *side, uint64_t word)
{
    const bg__allocation *own = bg__allocations_find(&side->own, (uintptr_t)word);
    if (own != NULL)
        return (bg__meaning){.kind = BG__NODE_MEMORY, .node = own->id, .value = word - own->base};
    for (size_t i = 0; i < side->block_count; i++)
        if (bg__allocation_has(&side->blocks[i].where, (uintptr_t)word))
            return (bg__meaning){
                .kind = BG__CALL_MEMORY, .block = &side->blocks[i], .value = word - side->blocks[i].where.base};
    if (bg__pointer_may_be(word) && bg__allocations_find(side->notes, (uintptr_t)word) != NULL)
        return (bg__meaning){.kind = BG__MEMORY, .value = word};
    return (bg__meaning){.kind = BG__NUMBER, .value = word};
}

static bool is_own(const bg__meaning *meaning)
{
    return meaning->kind == BG__CALL_MEMORY || meaning->kind == BG__NODE_MEMORY;
}

bool bg__is_same_meaning(const bg__recapture *recapture, const bg__meaning *a, const bg__meaning *b)
{
    if (a->value != b->value)
        return false;
    if (a->kind != b->kind) /* the memory at that address was freed between the captures */
        return !is_own(a) && !is_own(b);
    if (a->kind == BG__NODE_MEMORY) /* ordinals are comparable only if both captures made the same nodes */
        return recapture->flow_differs || a->node == b->node;
    return a->kind != BG__CALL_MEMORY || (recapture->side[0].calls[a->block->call].pair == (long)b->block->call &&
                                          a->block->kind == b->block->kind && a->block->slot == b->block->slot);
}
