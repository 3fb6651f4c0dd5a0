/* Lanes: chains of nodes, which approximate the streams on which a graph was captured. */
#ifndef BG_DEBUG_LANES_H
#define BG_DEBUG_LANES_H

#include "layout.h"

typedef struct bg__lanes {
    int *lane;                   /* of each node of the layout, from 0 */
    size_t *after, *first_after; /* places; those that one node waits for are adjacent and in order, from
                                    first_after[node] on; a place may occur twice */
    size_t *tail;                /* during the search: the last node of each lane so far */
    size_t *left;                /* how many nodes after a node have no lane yet */
    size_t *seen, *stack;        /* for the search of a node's ancestors */
    int count;
} bg__lanes;

/* A node continues the lane of a node that it waits for, if no other node has continued it; else it takes the lane of a
 * chain that ended before it, or a new lane. Consumes the layout's waits. Call bg__lanes_free also after a failure.
 * Errors: OUT_OF_MEMORY. */
bg_status bg__lanes_find(bg__lanes *lanes, bg__layout *layout);
void bg__lanes_free(bg__lanes *lanes);

#endif
