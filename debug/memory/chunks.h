/* Device memory for many small copies, which are freed together: an allocation of each would take longer than to copy
 * it. */
#ifndef BG_DEBUG_CHUNKS_H
#define BG_DEBUG_CHUNKS_H

#include "base/base.h"

/* Starts zeroed. */
typedef struct bg__chunks {
    void **list; /* what was allocated, to be freed */
    size_t count, capacity;
    size_t bytes; /* that were allocated */
    char *open;   /* what is left of the last chunk; a large request has an allocation of its own beside it */
    size_t left;
} bg__chunks;

/* Memory for any element, uninitialized. All requests together take at most an eighth more than their bytes, and one
 * chunk, of 16 MiB at most. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__chunks_take(bg__chunks *chunks, size_t bytes, void **memory);
/* Frees all that was taken. */
void bg__chunks_free(bg__chunks *chunks);

#endif
