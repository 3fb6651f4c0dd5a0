#include "chunks.h"

#include <stdlib.h>

static bg_status add_chunk(bg__chunks *chunks, size_t least)
{
    enum { SMALLEST = 1 << 14, DOUBLINGS = 10 };
    size_t bytes = (size_t)SMALLEST << (chunks->count < DOUBLINGS ? chunks->count : DOUBLINGS);
    bg__chunk chunk = {.bytes = bytes > least ? bytes : least};
    bg_status status;

    BG__TRY(BG__GROW(chunks->list, chunks->count, chunks->capacity, "device memory"));
    BG__TRY(bg__device_alloc(chunk.bytes, (void **)&chunk.memory));
    chunks->list[chunks->count++] = chunk;
done:
    return status;
}

bg_status bg__chunks_take(bg__chunks *chunks, size_t bytes, void **memory)
{
    enum { ALIGNMENT = 16 };
    size_t needed = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    bg__chunk *last = chunks->count > 0 ? &chunks->list[chunks->count - 1] : NULL;
    bg_status status = BG_OK;

    if (last == NULL || last->bytes - last->used < needed) {
        BG__TRY(add_chunk(chunks, needed));
        last = &chunks->list[chunks->count - 1];
    }
    *memory = last->memory + last->used;
    last->used += needed;
done:
    return status;
}

void bg__chunks_free(bg__chunks *chunks)
{
    for (size_t i = 0; i < chunks->count; i++)
        bg__device_free(chunks->list[i].memory);
    free(chunks->list);
    *chunks = (bg__chunks){0};
}
