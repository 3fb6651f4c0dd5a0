#include "op/op.h"

static bg__block *find_block(bg__block_list *memory, bg__block_kind kind, int slot)
{
    for (size_t i = 0; i < memory->count; i++)
        if (memory->blocks[i].kind == kind && memory->blocks[i].slot == slot)
            return &memory->blocks[i];
    return NULL;
}

/* Returns NULL if the call is in no graph. */
static bg__call *find_root(bg__call *call)
{
    if (!call->recorded)
        return NULL;
    while (call->parent != NULL)
        call = call->parent;
    return call;
}

bg_status bg__call_get_block(bg__call *call, bg__block_kind kind, int slot, size_t bytes, void **ptr)
{
    bg__call *root = find_root(call);
    const bg__memory_source *source = root != NULL ? root->source : NULL; /* NULL: the call's memory is its own */
    bg__block_list *memory;
    bg__block *block;
    bg_status status = BG_OK;

    if (call->memory == NULL)
        BG__TRY(bg__plain_call_get_blocks(call));
    memory = call->memory;
    block = find_block(memory, kind, slot);

    if (block != NULL && block->bytes >= bytes) {
        *ptr = block->ptr;
        return BG_OK;
    }
    *ptr = NULL;
    bg__foreign_error_note(); /* the body may have left an error of its own */
    if (block != NULL && bytes < 2 * block->bytes)
        bytes = 2 * block->bytes; /* smaller blocks stay allocated: together at most as much again */
    BG__TRY(BG__ARRAY_GROW(memory->blocks, memory->count, memory->capacity, "blocks of memory"));
    BG__TRY(source ? source->take(source->user, bytes, ptr) : bg__device_alloc(bytes, ptr));
    block = find_block(memory, kind, slot); /* growing may have moved it */
    if (block != NULL)
        block->slot = -1;
    memory->blocks[memory->count++] = (bg__block){kind, slot, *ptr, bytes, source != NULL};
    if (root != NULL && source == NULL)
        root->allocated += bytes;
done:
    return status;
}
