/* Device memory for many small copies, which are freed together: one allocation for each copy would take longer than
 * the copy. */
#ifndef BG_DEBUG_CHUNKS_H
#define BG_DEBUG_CHUNKS_H

#include "base/base.h"

/* Starts zeroed. */
typedef struct bg__chunks {
    void **list; /* all allocations, to be freed */
    size_t count, capacity;
    size_t bytes; /* bytes of all allocations */
    char *open;   /* the unused rest of the last chunk; a large request has an allocation of its own */
    size_t left;
} bg__chunks;

/* Allocates uninitialized memory, aligned for any element. The total allocated is at most the bytes of all requests,
 * plus an eighth of them, plus one chunk of at most 16 MiB. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__chunks_allocate(bg__chunks *chunks, size_t bytes, void **memory);
/* Frees all memory of the chunks. */
void bg__chunks_free(bg__chunks *chunks);

#endif
