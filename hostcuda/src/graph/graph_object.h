/* Graphs: nodes, each an operation, and the edges between them. */
#ifndef HOSTCUDA_GRAPH_H
#define HOSTCUDA_GRAPH_H

#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/graph/node_attributes.h"
#include "hostcuda/src/graph/graph_nodes.h"
#include "hostcuda/src/graph/user_object.h"
#include "hostcuda/src/op/op_kinds.h"

struct CUgraphNode_st {
    cudaGraph_t graph;
    size_t index;            /* in the graph's list of nodes */
    uint64_t id;             /* never reused */
    uint64_t cloned_from_id; /* the id of the node that it was cloned from directly; 0: none */
    struct hc_op *op;
    struct hc_nodes before; /* its dependencies */
    size_t inner;           /* in a flat graph, for a child's node: the index of the child's first node; else 0 */
    bool marked;            /* scratch for traversals */
    bool frees;             /* the node is a free node that the freed block counts */
    bool left;              /* was in the origin stream's frontier when the program replaced that frontier */
    struct hc_node_attributes *attributes; /* of a kernel node; NULL: none was set */
};

struct CUgraph_st {
    cudaGraphNode_t *nodes; /* in order of creation */
    size_t count, capacity;
    bool capturing;    /* belongs to an active capture */
    bool has_memory;   /* has allocation or free nodes: it can be neither cloned nor instantiated twice */
    bool instantiated; /* an executable graph of it exists; used only with has_memory */
    bool owned;        /* belongs to a child node */
    uint64_t id;       /* never reused */
    struct hc_objects objects;
};

cudaGraph_t hc_graph_make(void); /* Returns NULL if there is no memory. */
void hc_graph_destroy(cudaGraph_t graph);
void hc_graph_publish(cudaGraph_t graph);
/* Takes over the op's reference, also on failure. Returns NULL if there is no memory. */
cudaGraphNode_t hc_graph_create_node(cudaGraph_t graph, const struct hc_nodes *before, struct hc_op *op);
/* For a node that may free memory, in a graph of the program: the freed block counts the node until the node is
 * destroyed. Nodes of executable graphs and launches are not counted. */
void hc_node_add_to_block(cudaGraphNode_t node);
/* Destroys the node and the edges to and from it. */
void hc_graph_destroy_node(cudaGraphNode_t node);
/* Marks these nodes, nodes with the flag `left`, and all nodes that they depend on; unmarks the others. */
void hc_graph_mark_ancestors(cudaGraph_t graph, const struct hc_nodes *nodes);
bool hc_graph_all_marked(const struct hc_nodes *nodes);
/* Sorts node indices topologically, in order of creation where the edges allow it. InvalidValue: there is a cycle. */
cudaError_t hc_graph_sort(cudaGraph_t graph, size_t *order);
/* Returns a node of a cycle; NULL if there is none, or no memory. */
cudaGraphNode_t hc_graph_find_cycle(cudaGraph_t graph);

/* Returns a copy with the same nodes at the same indices, with the same ids and attributes. Behind them are the nodes
 * of the children, recursively, connected by edges into and out of each child. NULL: no memory. */
cudaGraph_t hc_graph_flatten(cudaGraph_t graph);
bool hc_graph_is_handle(cudaGraph_t graph);
enum cudaGraphNodeType hc_node_type(enum hc_op_kind kind);

/* Replaces a node's op by one of the same kind. Takes over the op's reference, also on failure. */
cudaError_t hc_node_replace_op(cudaGraphNode_t node, struct hc_op *op);
/* Sets the priority of a captured launch to its stream's. Other nodes have none. */
cudaError_t hc_node_set_priority(cudaGraphNode_t node, int priority);

#endif
