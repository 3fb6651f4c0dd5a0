/* The memory that the calls of a graph read and write. */
#ifndef BG_DEBUG_FOOTPRINT_H
#define BG_DEBUG_FOOTPRINT_H

#include "graph/inspect.h"
#include "spans.h"

/* Ranges of memory that one pass of a graph uses, according to the tensors of its calls. Starts zeroed. */
typedef struct bg__footprint {
    bg__spans all;     /* tensors of the calls, and memory of the graph itself */
    bg__spans state;   /* memory that a call reads before any call writes it */
    bg__spans written; /* memory that a call writes */
    bg__spans unread;  /* memory that no call may read before another call has written it */
} bg__footprint;
bg_status bg__footprint_compute(bg__footprint *footprint, const bg_graph *graph);
void bg__footprint_free(bg__footprint *footprint);

#endif
