/* Finds the wait of a pass that came too early to order two calls. */
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
    const bg__stream_wait *wait;
    size_t waited_after, recorded_after;
} bg__placed_wait;

/* Starts zeroed. */
typedef struct bg__early_waits {
    bg__placed_call *calls; /* all calls of the graph, by address; NULL: not listed yet */
    size_t call_count;
    bg__placed_wait *waits; /* sorted by waiting stream, awaited stream and place; NULL: not listed yet */
    size_t wait_count;
} bg__early_waits;

/* Lists the calls and waits of the graph, once. Errors: OUT_OF_MEMORY. */
bg_status bg__early_waits_list(bg__early_waits *waits, const bg_graph *graph);
/* The place of the call in the pass. A run (calls that a rule has fused) has the place of its first call. */
size_t bg__early_waits_call_place(const bg__early_waits *waits, const bg__call *call);
/* The last wait before `later` in which the stream of `later` waits for the stream of `earlier`. The awaited work ends
 * before `earlier`, since otherwise the two calls would have an order. NULL: there is no such wait. */
const bg__stream_wait *bg__early_waits_find(const bg__early_waits *waits, const bg__call *earlier,
                                            const bg__call *later);
void bg__early_waits_free(bg__early_waits *waits);

#endif
