/* Which wait of a pass came too early to order two calls. */
#ifndef BG_DEBUG_EARLY_WAITS_H
#define BG_DEBUG_EARLY_WAITS_H

#include "graph/inspect.h"

/* A call of the graph, and its place in the pass. */
typedef struct bg__placed_call {
    const bg__call *call;
    size_t place;
} bg__placed_call;

/* A wait of the graph, and the places of its calls. */
typedef struct bg__placed_wait {
    const bg__wait *wait;
    size_t waited_after, recorded_after;
} bg__placed_wait;

/* Starts zeroed. */
typedef struct bg__early_waits {
    bg__placed_call *calls; /* all of the graph, by address; NULL: not listed yet */
    size_t call_count;
    bg__placed_wait *waits; /* by waiter, the stream that it waits for, and place; NULL: not listed yet */
    size_t wait_count;
} bg__early_waits;

/* Lists the calls and waits of the graph, once. Errors: OUT_OF_MEMORY. */
bg_status bg__early_waits_list(bg__early_waits *waits, const bg_graph *graph);
/* Where the call is in the pass; a run is where its first call is. */
size_t bg__early_waits_place(const bg__early_waits *waits, const bg__call *call);
/* Of waits before `later` on its stream, for work on the stream of `earlier`, the last; the work ended before
 * `earlier`, or the calls would have an order. NULL: there is none. */
const bg__wait *bg__early_waits_find(const bg__early_waits *waits, const bg__call *earlier, const bg__call *later);
void bg__early_waits_free(bg__early_waits *waits);

#endif
