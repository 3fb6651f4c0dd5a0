/* Which memory a graph reads from outside, and which it has to write before it reads it. */
#ifndef BG_DEBUG_FOOTPRINT_H
#define BG_DEBUG_FOOTPRINT_H

#include "capture/inspect.h"
#include "spans.h"

/* What the tensors of a graph's calls mean for one pass. Starts zeroed. */
typedef struct bg__footprint {
    bg__spans all;     /* what the graph's calls are given, and its own memory */
    bg__spans state;   /* read by a call before any call has written it */
    bg__spans written; /* by some call */
    bg__spans unread;  /* what nobody may read before it is written */
} bg__footprint;
bg_status bg__footprint_take(bg__footprint *footprint, const bg_graph *graph);
void bg__footprint_free(bg__footprint *footprint);

#endif
