/* The dependencies between the nodes of a graph. */
#ifndef BG_DEBUG_LAYOUT_H
#define BG_DEBUG_LAYOUT_H

#include "graph/inspect.h"

/* A graph's nodes in the order of cudaGraphGetNodes, and its edges. A place is an index in `nodes`. Starts zeroed. */
typedef struct bg__layout {
    cudaGraphNode_t *nodes;
    size_t count, edges;
    bg__edges list;
    struct bg__layout_handle {
        cudaGraphNode_t node;
        size_t place;
    } * handles;                /* sorted by address */
    size_t *edge_to;            /* places that the edges lead to; the edges of one node are adjacent, from
                                 * first_edge[node] on */
    size_t *first_edge, *waits; /* waits: for each node, the number of edges that lead to it */
    bool *early; /* for each node: by a programmatic dependency, the node may begin before a node that it waits for
                  * ends */
    bool *ready; /* used by bg__layout_visit_in_order */
} bg__layout;

/* Call bg__layout_free also after a failure. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__layout_read(bg__layout *layout, cudaGraph_t graph);
/* Visits all places in a topological order. Of the nodes that are ready, the node with the lowest place is next. Call
 * it at most once, since it counts down the member `waits`. Stops at the first failure and returns it. */
bg_status bg__layout_visit_in_order(bg__layout *layout, bg_status (*visit)(void *user, size_t place), void *user);
void bg__layout_free(bg__layout *layout);

#endif
