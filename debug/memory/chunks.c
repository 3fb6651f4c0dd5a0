#include "chunks.h"

#include <stdlib.h>

static bg_status allocate_chunk(bg__chunks *chunks, size_t bytes, void **memory)
{
    bg_status status;

    BG__TRY(BG__ARRAY_GROW(chunks->list, chunks->count, chunks->capacity, "device memory"));
    BG__TRY(bg__device_alloc(bytes, memory));
    chunks->list[chunks->count++] = *memory;
    chunks->bytes += bytes;
done:
    return status;
}

/* The next chunk is as large as all earlier chunks together. So a few requests do not allocate much more memory than
 * they need. */
static size_t next_chunk_bytes(const bg__chunks *chunks)
{
    enum { SMALLEST_CHUNK = 1 << 14, LARGEST_CHUNK = 1 << 24 };
    if (chunks->bytes < SMALLEST_CHUNK)
        return SMALLEST_CHUNK;
    return chunks->bytes < LARGEST_CHUNK ? chunks->bytes : LARGEST_CHUNK;
}

bg_status bg__chunks_allocate(bg__chunks *chunks, size_t bytes, void **memory)
{
    enum { ALIGNMENT = 16, LARGE = 8 }; /* larger requests than 1/LARGE of a chunk get their own allocation */
    size_t needed = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, next = next_chunk_bytes(chunks);
    bool opens = chunks->open == NULL || chunks->left < needed;
    bg_status status = BG_OK;

    if (opens && needed > next / LARGE)
        return allocate_chunk(chunks, needed, memory);
    if (opens) {
        BG__TRY(allocate_chunk(chunks, next, memory));
        chunks->open = *memory;
        chunks->left = next;
    }
    *memory = chunks->open;
    chunks->open += needed;
    chunks->left -= needed;
done:
    return status;
}

void bg__chunks_free(bg__chunks *chunks)
{
    for (size_t i = 0; i < chunks->count; i++)
        bg__device_free(chunks->list[i]);
    free(chunks->list);
    *chunks = (bg__chunks){0};
}
