/* A graph that is split at nodes: its parts, and the nodes between them. */
#ifndef BG_ATTACH_CUTS_H
#define BG_ATTACH_CUTS_H

#include "debug/attach/graphs/attached.h"
#include "debug/graph/nodes.h"
#include "debug/step/node_list.h"

typedef struct bg__cuts {
    /* In this order, each behind the one before it: a part of the graph, or where that is NULL a node. None: the graph
     * is launched as it is. */
    struct bg__cut {
        cudaGraphExec_t part;
        const bg__node *node;
    } * list;
    size_t count, capacity;
    size_t outside;     /* nodes that are launched outside of the graph, those of child graphs included */
    bg__nodes nodes;    /* of the graph */
    bg__step_list flat; /* they, in an order that the dependencies allow */
} bg__cuts;

/* Splits the graph of a at the nodes that are chosen. What is chosen and cannot be cut is told, in a note. Call
 * bg__cuts_free also after a failure. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__cuts_make(bg__cuts *cuts, const bg__attached *a);
void bg__cuts_free(bg__cuts *cuts);

#endif
