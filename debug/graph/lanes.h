/* Lanes are chains of nodes. They approximate the streams that a graph was captured on, and tell which nodes come
 * before which. */
#ifndef BG_DEBUG_LANES_H
#define BG_DEBUG_LANES_H

#include "layout.h"

/* A vector clock: for each lane, the position of the last node in the lane that a node waits for. Nodes share rows. */
typedef struct bg__lane_row {
    size_t first, count; /* range in `entries`, sorted by lane */
} bg__lane_row;

typedef struct bg__lane_entry {
    int lane;
    unsigned position;
} bg__lane_entry;

typedef struct bg__lanes {
    int *lane;                   /* for each node of the layout, from 0 */
    unsigned *position;          /* position of each node in its lane, from 1 */
    size_t *rank;                /* place of each node in the order in which nodes got lanes; if one node comes before
                                  * another, its place is lower */
    size_t placed;               /* number of nodes that have a lane */
    size_t *after, *first_after; /* after: for each node, the nodes that it waits for, adjacent and in order, from
                                  * first_after[node] on; a node may occur twice */
    size_t *row;                 /* for each node, the index of its row; the row's entry for the node's own lane has no
                                  * meaning */
    bg__lane_row *rows;
    size_t row_count, row_capacity;
    bg__lane_entry *entries;
    size_t entry_count, entry_capacity;
    bool searched; /* the rows became too large: bg__lanes_is_before follows the edges instead */
    int count;

    /* Used while the lanes are found. */
    size_t *tail;                    /* the last node of each lane */
    size_t *left;                    /* number of successors of each node that have no lane yet */
    size_t *joined;                  /* for each node, the row of nodes that wait for it alone; 0: not made */
    bg__lane_entry *waited;          /* the lanes that the current node waits for */
    size_t *waited_at, waited_count; /* waited_at: for each lane, its index in `waited`, from 1; 0: none */
    /* Used to search along the edges. */
    size_t *seen, *stack, mark;
} bg__lanes;

/* Puts each node into a lane. A node continues the lane of a node that it waits for, unless another node has already
 * continued that lane. Otherwise the node takes a lane that ended before it, or a new lane. Counts down the member
 * `waits` of `layout`. Call bg__lanes_free also after a failure. Errors: OUT_OF_MEMORY. */
bg_status bg__lanes_find(bg__lanes *lanes, bg__layout *layout);
/* Whether node b waits for node a, directly or through other nodes. */
bool bg__lanes_is_before(bg__lanes *lanes, size_t a, size_t b);
void bg__lanes_free(bg__lanes *lanes);

#endif
