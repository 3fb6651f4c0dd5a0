/* What must not depend on padding rows: the rows of the batch, and told memory that has no padding. */
#ifndef BG_ATTACH_LIVE_ROWS_H
#define BG_ATTACH_LIVE_ROWS_H

#include "debug/attach/memory/batch_rows.h"
#include "debug/memory/digests.h"

/* Starts zeroed. */
typedef struct bg__live_rows {
    bg__spans words; /* each begins at a multiple of 8, as digests need it */
    bg__spans edges; /* the bytes before these, fewer than 8 each */
    size_t page;     /* of digests of words */
} bg__live_rows;

/* Adds [begin, end), without the bytes of without, whose ranges begin and end at multiples of 8. */
bg_status bg__live_rows_add(bg__live_rows *live, uintptr_t begin, uintptr_t end, const bg__spans *without);
/* All are added. */
void bg__live_rows_end(bg__live_rows *live);
void bg__live_rows_free(bg__live_rows *live);

/* What they hold. Starts zeroed. */
typedef struct bg__live_state {
    bg__digests words;
    unsigned char *edges;
} bg__live_state;

/* Waits for the stream. Call bg__live_state_free also after a failure. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__live_state_take(bg__live_state *state, const bg__live_rows *live, cudaStream_t stream);
/* Adds what differs. Errors: OUT_OF_MEMORY. */
bg_status bg__live_state_compare(const bg__live_state *a, const bg__live_state *b, const bg__live_rows *live,
                                 bg__spans *differing);
void bg__live_state_free(bg__live_state *state);

#endif
