#include "op/op.h"

static bg__block *find_slot(bg__memory *memory, bg__block_kind kind, int slot)
{
    for (size_t i = 0; i < memory->count; i++)
        if (memory->blocks[i].kind == kind && memory->blocks[i].slot == slot)
            return &memory->blocks[i];
    return NULL;
}

/* Returns NULL if the call is in no graph. */
static bg__call *root_of(bg__call *call)
{
    if (!call->recorded)
        return NULL;
    while (call->parent != NULL)
        call = call->parent;
    return call;
}

bg_status bg__memory_get(bg__call *call, bg__block_kind kind, int slot, size_t bytes, void **ptr)
{
    bg__call *root = root_of(call);
    const bg__source *source = root != NULL ? root->source : NULL; /* NULL: the call's memory is its own */
    bg__memory *memory;
    bg__block *block;
    bg_status status = BG_OK;

    if (call->memory == NULL)
        BG__TRY(bg__plain_memory(call));
    memory = call->memory;
    block = find_slot(memory, kind, slot);

    if (block != NULL && block->bytes >= bytes) {
        *ptr = block->ptr;
        return BG_OK;
    }
    *ptr = NULL;
    bg__pending_note(); /* the body may have left an error of its own */
    if (block != NULL && bytes < 2 * block->bytes)
        bytes = 2 * block->bytes; /* smaller blocks stay allocated: together at most as much again */
    BG__TRY(BG__GROW(memory->blocks, memory->count, memory->capacity, "blocks of memory"));
    BG__TRY(source ? source->take(source->user, bytes, ptr) : bg__device_alloc(bytes, ptr));
    block = find_slot(memory, kind, slot); /* growing may have moved it */
    if (block != NULL)
        block->slot = -1;
    memory->blocks[memory->count++] = (bg__block){kind, slot, *ptr, bytes, source != NULL};
    if (root != NULL && source == NULL)
        root->allocated += bytes;
done:
    return status;
}
