/* The order in which nodes of a graph must run, and the sequential orders that this allows. */
#ifndef BG_DEBUG_NODE_ORDER_H
#define BG_DEBUG_NODE_ORDER_H

#include "nodes.h"

/* The nodes of a graph and of its child graphs. A step is a node or the end of a child graph. The step of a child
 * graph's node is the beginning of the child graph. Starts zeroed. */
typedef struct bg__order {
    const bg__node **nodes; /* sorted by step; NULL: the step is the end of a child graph */
    size_t count, capacity;
    struct bg__order_edge {
        size_t from, to; /* steps */
    } * edges;           /* sorted by `from` */
    size_t edge_count, edge_capacity;
    size_t *first; /* for each step, the index of its first edge; has one more entry than there are steps */
} bg__order;

/* Reads the dependencies of a graph. nodes: all nodes of `graph`; they must outlive `order`. Call bg__order_free also
 * after a failure. Errors: OUT_OF_MEMORY, CUDA; NOT_FOUND: the graph was changed after `nodes` was read. */
bg_status bg__order_read(bg__order *order, cudaGraph_t graph, const bg__nodes *nodes);
void bg__order_free(bg__order *order);
/* Adds a dependency: `before` must come before `after`. Errors: OUT_OF_MEMORY. */
bg_status bg__order_add_edge(bg__order *order, size_t before, size_t after);

/* Lists the steps, order->count of them, in a topological order. Of the steps that are ready, the step with the lowest
 * key is next; of steps with equal keys, the first step is next. keys: by step; NULL: all are equal. Errors:
 * OUT_OF_MEMORY; UNSUPPORTED: the dependencies have a cycle. */
bg_status bg__order_sort(const bg__order *order, const uint64_t *keys, size_t *steps);

/* Puts each step into one of *count lanes, which are chains (lanes.h). An order that runs the steps of one lane as late
 * as possible runs all steps that are unordered with a step of the lane before that step. One such order for each lane
 * therefore runs any two unordered steps in both orders. */
bg_status bg__order_find_lanes(const bg__order *order, int *lane, int *count);

#endif
