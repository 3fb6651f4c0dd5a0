/* Lanes: chains of nodes, which approximate the streams on which a graph was captured; and which nodes come before
 * which, told by lanes. */
#ifndef BG_DEBUG_LANES_H
#define BG_DEBUG_LANES_H

#include "layout.h"

/* Of each lane the last node, by its position, that a node waits for. Nodes share rows. */
typedef struct bg__lane_row {
    size_t first, count; /* in entries, by lane */
} bg__lane_row;

typedef struct bg__lane_entry {
    int lane;
    unsigned position;
} bg__lane_entry;

typedef struct bg__lanes {
    int *lane;                   /* of each node of the layout, from 0 */
    unsigned *position;          /* of each node in its lane, from 1 */
    size_t *rank;                /* of each node in the order in which nodes took lanes: one before another is lower */
    size_t placed;               /* how many have */
    size_t *after, *first_after; /* places; those that one node waits for are adjacent and in order, from
                                    first_after[node] on; a place may occur twice */
    size_t *row;                 /* of each node, the index of what it waits for in other lanes; a row may have its own
                                    lane, too: that means nothing */
    bg__lane_row *rows;
    size_t row_count, row_capacity;
    bg__lane_entry *entries;
    size_t entry_count, entry_capacity;
    bool searched; /* the rows became too large: bg__lanes_is_before follows the edges instead */
    int count;

    /* While the lanes are found. */
    size_t *tail;              /* the last node of each lane so far */
    size_t *left;              /* how many nodes after a node have no lane yet */
    size_t *joined;            /* of each node, the index of its row and itself; 0: not made */
    bg__lane_entry *met;       /* of the node that is looked at: what it waits for */
    size_t *met_at, met_count; /* of each lane, its index in met, counted from 1 */
    /* For the search along the edges. */
    size_t *seen, *stack, mark;
} bg__lanes;

/* A node continues the lane of a node that it waits for, if no other node has continued it; else it takes the lane of a
 * chain that ended before it, or a new lane. Consumes the layout's waits. Call bg__lanes_free also after a failure.
 * Errors: OUT_OF_MEMORY. */
bg_status bg__lanes_find(bg__lanes *lanes, bg__layout *layout);
/* Whether node b waits for node a, also over others. */
bool bg__lanes_is_before(bg__lanes *lanes, size_t a, size_t b);
void bg__lanes_free(bg__lanes *lanes);

#endif
