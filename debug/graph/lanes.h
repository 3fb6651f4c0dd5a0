/* Lanes: streams, as far as the dependencies between a graph's nodes show them. */
#ifndef BG_DEBUG_LANES_H
#define BG_DEBUG_LANES_H

#include "layout.h"

typedef struct bg__lanes {
    int *lane;                   /* of each node of the layout, from 0 */
    size_t *after, *first_after; /* places; those that one node waits for lie together, in order, from
                                    first_after[node] on; a place may be there twice */
    size_t *tail;                /* while they are found: the last node of each lane so far */
    size_t *left;                /* those after a node that have no lane yet */
    size_t *seen, *stack;        /* room to look for what comes before a node */
    int count;
} bg__lanes;

/* A node goes on in the lane of one that it waits for, unless another node has; else it takes the lane of a chain that
 * ends before it, or a new one. Uses the layout's waits up. Free it, also where this failed. Errors: OUT_OF_MEMORY. */
bg_status bg__lanes_find(bg__lanes *lanes, bg__layout *layout);
void bg__lanes_free(bg__lanes *lanes);

#endif
