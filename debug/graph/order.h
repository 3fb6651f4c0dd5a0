/* Which nodes of a graph must run before which, and the orders in which they may run one after the other. */
#ifndef BG_DEBUG_ORDER_H
#define BG_DEBUG_ORDER_H

#include "nodes.h"

/* The nodes of a graph and of its child graphs. A step is a node, or the end of a child graph; that of a child graph's
 * node is its begin. Starts zeroed. */
typedef struct bg__order {
    const bg__node **nodes; /* by step; NULL: the end of a child graph */
    size_t count, capacity;
    struct bg__order_edge {
        size_t from, to; /* steps */
    } * edges;           /* sorted by from */
    size_t edge_count, edge_capacity;
    size_t *first; /* of each step: its first edge; one more */
} bg__order;

/* nodes: all of graph, which must outlive the order. Call bg__order_free also after a failure. Errors: OUT_OF_MEMORY,
 * CUDA; NOT_FOUND: the graph was changed after nodes were taken. */
bg_status bg__order_take(bg__order *order, cudaGraph_t graph, const bg__nodes *nodes);
void bg__order_free(bg__order *order);
/* From now on `before` comes before `after`. Errors: OUT_OF_MEMORY. */
bg_status bg__order_add(bg__order *order, size_t before, size_t after);

/* Fills steps, order->count of them, each with all that it waits for before it: of those that are ready the one with
 * the lowest key is next, and of equal ones the first. keys: by step; NULL: all are equal. Errors: OUT_OF_MEMORY;
 * UNSUPPORTED: the dependencies have a circle. */
bg_status bg__order_list(const bg__order *order, const uint64_t *keys, size_t *steps);

/* Puts each step into one of *count lanes, which are chains (lanes.h). In the order that leaves a lane's steps for
 * last, where something else is ready, all that has no order with one of them runs before it: such orders, one for each
 * lane, have any two steps without an order both ways. */
bg_status bg__order_lanes(const bg__order *order, int *lane, int *count);

#endif
