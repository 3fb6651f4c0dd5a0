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
    size_t index;         /* in the graph's nodes */
    uint64_t id;          /* never given twice */
    uint64_t original_id; /* of the node that it was cloned from, at first hand; 0: none */
    struct hc_op *op;
    struct hc_nodes before; /* its dependencies */
    size_t inner;           /* a child's place in a flat graph: where the nodes of the child begin; else 0 */
    bool marked;            /* for walks */
    bool frees;             /* and its block counts it */
    bool left;              /* the capture's origin held it when the program set its dependencies */
    struct hc_node_attributes *attributes; /* of a kernel; NULL: none was set */
};

struct CUgraph_st {
    cudaGraphNode_t *nodes; /* in order of creation */
    size_t count, capacity;
    bool capturing;    /* belongs to a live capture */
    bool has_memory;   /* allocation or free nodes: neither cloned nor instantiated twice */
    bool instantiated; /* an executable graph of it exists; counts where has_memory */
    bool owned;        /* by a child node */
    uint64_t id;       /* never given twice */
    struct hc_objects objects;
};

cudaGraph_t hc_graph_make(void); /* NULL: no memory */
void hc_graph_destroy(cudaGraph_t graph);
void hc_graph_publish(cudaGraph_t graph);
/* NULL: no memory. Takes over the op's reference, whatever it returns. */
cudaGraphNode_t hc_graph_add(cudaGraph_t graph, const struct hc_nodes *before, struct hc_op *op);
/* For a node of the program's graph that may free memory: the block counts it until the node ends. Executable graphs
 * and their launches do not count. */
void hc_node_count_free(cudaGraphNode_t node);
/* The node ends; edges to and from it, too. */
void hc_graph_remove(cudaGraphNode_t node);
/* Marks exactly these nodes, those that a capture's origin left, and what all of them depend on. */
void hc_graph_mark_ancestors(cudaGraph_t graph, const struct hc_nodes *nodes);
bool hc_graph_all_marked(const struct hc_nodes *nodes);
/* Node indices in an order that the edges allow, the order of creation where they do. InvalidValue: a cycle. */
cudaError_t hc_graph_sort(cudaGraph_t graph, size_t *order);
/* A node of a cycle; NULL: there is none, or no memory. */
cudaGraphNode_t hc_graph_find_cycle(cudaGraph_t graph);

/* A copy with the same nodes at the same indices, with the same ids and attributes, and behind them the nodes of the
 * children, of theirs, and so on; edges lead into and out of each. NULL: no memory. */
cudaGraph_t hc_graph_flatten(cudaGraph_t graph);
bool hc_graph_is(cudaGraph_t graph);
enum cudaGraphNodeType hc_node_type(enum hc_op_kind kind);

/* Replaces a node's op by one of the same kind. Takes over the op's reference, whatever it returns. */
cudaError_t hc_node_set(cudaGraphNode_t node, struct hc_op *op);
/* Of a captured launch: its stream's. Other nodes have none. */
cudaError_t hc_node_set_priority(cudaGraphNode_t node, int priority);

#endif
