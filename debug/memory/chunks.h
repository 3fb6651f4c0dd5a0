/* Device memory for many small copies, which are freed together: an allocation of each would take longer than to copy
 * it. */
#ifndef BG_DEBUG_CHUNKS_H
#define BG_DEBUG_CHUNKS_H

#include "base/base.h"

typedef struct bg__chunk {
    char *memory;
    size_t bytes, used;
} bg__chunk;

/* Starts zeroed. */
typedef struct bg__chunks {
    bg__chunk *list; /* what is taken comes from the last one */
    size_t count, capacity;
} bg__chunks;

/* Memory for any element, uninitialized. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__chunks_take(bg__chunks *chunks, size_t bytes, void **memory);
/* Frees all that was taken. */
void bg__chunks_free(bg__chunks *chunks);

#endif
