/* A graph that is split at nodes: its parts, and the nodes between them. */
#ifndef BG_ATTACH_SPLIT_GRAPH_H
#define BG_ATTACH_SPLIT_GRAPH_H

#include "debug/attach/events/tracked_graph.h"
#include "debug/graph/nodes.h"
#include "debug/step/node_list.h"

typedef struct bg__split_graph {
    /* The items are in order of launch: each is launched after the item before it. An item is a part of the graph or,
     * if `part` is NULL, a node. If the list is empty, the graph is not split. */
    struct bg__split_item {
        cudaGraphExec_t part;
        const bg__node *node;
    } * list;
    size_t count, capacity;
    size_t outside;     /* nodes that are launched outside of the graph, including those in child graphs */
    bg__nodes nodes;    /* of the graph */
    bg__step_list flat; /* the nodes, in an order that the dependencies allow */
} bg__split_graph;

/* Splits the graph of `a` at the chosen nodes. Adds a note for chosen nodes that must stay in the graph. Call
 * bg__split_graph_free also after a failure. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__split_graph_create(bg__split_graph *cuts, const bg__tracked_graph *a);
void bg__split_graph_free(bg__split_graph *cuts);

#endif
