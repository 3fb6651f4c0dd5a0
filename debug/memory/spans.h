/* Sets of address ranges, and patterns to fill them with. */
#ifndef BG_DEBUG_SPANS_H
#define BG_DEBUG_SPANS_H

#include <breakgraph/tensor.h>

#include "base/base.h"

typedef struct bg__span {
    uintptr_t begin, end;
} bg__span;

/* Disjoint ranges in order of their addresses, none of them empty. Adjacent ranges are not merged: they may belong to
 * two allocations, which one copy cannot span. Starts zeroed. */
typedef struct bg__spans {
    bg__span *list; /* in room, with free entries before and after it */
    size_t count;
    bg__span *room;
    size_t capacity; /* entries of room */
} bg__spans;

void bg__spans_free(bg__spans *spans);
bg_status bg__spans_add(bg__spans *spans, uintptr_t begin, uintptr_t end);
bg_status bg__spans_add_all(bg__spans *spans, const bg__spans *more);
/* Whether spans contain all bytes of [begin, end). */
bool bg__spans_cover(const bg__spans *spans, uintptr_t begin, uintptr_t end);
bool bg__spans_overlap(const bg__spans *spans, uintptr_t begin, uintptr_t end);
bg_status bg__spans_add_tensor(bg__spans *spans, const bg_tensor *tensor);
/* Adds the parts of [begin, end) that are not in `without`. */
bg_status bg__spans_add_rest(bg__spans *spans, uintptr_t begin, uintptr_t end, const bg__spans *without);
/* Adds the bytes that are in both `a` and `b`. */
bg_status bg__spans_add_common(bg__spans *spans, const bg__spans *a, const bg__spans *b);
size_t bg__spans_bytes(const bg__spans *spans);

/* ONES: bytes 0xff, which are NaN in every float format. PLACED: every four bytes are a large float that depends on
 * their address, so a copy at another address does not match the pattern there. OPPOSITE: as PLACED, but with the other
 * sign. Maxima and minima ignore NaN, so the value of each address shows in a maximum or in a minimum. */
typedef enum bg__pattern { BG__ONES, BG__ZEROS, BG__PLACED, BG__OPPOSITE, BG__PATTERNS } bg__pattern;
unsigned char bg__pattern_byte(bg__pattern pattern, uintptr_t address);
/* Fills the spans and waits. */
bg_status bg__pattern_fill(bg__pattern pattern, const bg__spans *spans, cudaStream_t stream);

#endif
