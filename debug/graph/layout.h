/* Which node of a graph waits for which. */
#ifndef BG_DEBUG_LAYOUT_H
#define BG_DEBUG_LAYOUT_H

#include "capture/inspect.h"

/* A graph's nodes in the order of their making, and its edges. Starts zeroed. */
typedef struct bg__layout {
    cudaGraphNode_t *nodes, *from, *to;
    cudaGraphEdgeData *data;
    size_t count, edges;
    struct bg__layout_handle {
        cudaGraphNode_t node;
        size_t place;
    } * handles;                /* by address */
    size_t *edge_to;            /* places; those that one node leads to lie together, from first_edge[node] on */
    size_t *first_edge, *waits; /* waits: for how many others */
    bool *ready;                /* the order's own */
} bg__layout;

/* Free it, also where this failed. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__layout_read(bg__layout *layout, cudaGraph_t graph);
/* Visits the places in an order that the dependencies allow: of those that wait for no other, always the one that was
 * made first. Once, since waits counts down. Stops at a failure, and returns it. */
bg_status bg__layout_in_order(bg__layout *layout, bg_status (*visit)(void *user, size_t place), void *user);
void bg__layout_free(bg__layout *layout);

#endif
