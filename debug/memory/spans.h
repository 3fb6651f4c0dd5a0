/* Sets of bytes of memory, in order of their addresses; what they hold, kept and put back; and patterns in them. */
#ifndef BG_DEBUG_SPANS_H
#define BG_DEBUG_SPANS_H

#include "base/base.h"

typedef struct bg__span {
    uintptr_t begin, end;
} bg__span;

/* Disjoint, and never empty. Those that only touch stay apart: they may be of two allocations, which no copy spans.
 * Starts zeroed. */
typedef struct bg__spans {
    bg__span *list;
    size_t count, capacity;
} bg__spans;

void bg__spans_free(bg__spans *spans);
bg_status bg__spans_add(bg__spans *spans, uintptr_t begin, uintptr_t end);
bg_status bg__spans_add_all(bg__spans *spans, const bg__spans *more);
bool bg__spans_overlap(const bg__spans *spans, uintptr_t begin, uintptr_t end);
/* Adds what of [begin, end) is not in without. */
bg_status bg__spans_add_rest(bg__spans *spans, uintptr_t begin, uintptr_t end, const bg__spans *without);

/* What the bytes held, in device memory. Starts zeroed. */
typedef struct bg__image {
    const bg__spans *spans;
    void **copies;
} bg__image;
/* Both wait for what they copy. restore leaves out what has bytes in but (NULL: nothing), and puts back all that it can
 * where a part fails. */
bg_status bg__image_take(bg__image *image, const bg__spans *spans, cudaStream_t stream);
bg_status bg__image_restore(const bg__image *image, const bg__spans *but, cudaStream_t stream);
void bg__image_free(bg__image *image);

/* ONES: bytes 0xff, NaN in every float format. PLACED: each four bytes are a float from 1 to 2 that depends on their
 * address, so that a copy of them elsewhere is not the pattern of that place. */
typedef enum bg__pattern { BG__ONES, BG__ZEROS, BG__PLACED, BG__PATTERNS } bg__pattern;
unsigned char bg__pattern_byte(bg__pattern pattern, uintptr_t address);
/* Returns when it is there. */
bg_status bg__pattern_fill(bg__pattern pattern, const bg__spans *spans, cudaStream_t stream);

#endif
