/* Graphs: nodes, each an operation, and the edges between them. */
#ifndef HOSTCUDA_GRAPH_H
#define HOSTCUDA_GRAPH_H

#include "hostcuda/nodes.h"
#include "hostcuda/ops.h"
#include "hostcuda/state.h"

struct CUgraphNode_st {
    cudaGraph_t graph;
    size_t index;         /* in the graph's nodes */
    uint64_t id;          /* never given twice */
    uint64_t original_id; /* of the node that it was cloned from, at first hand */
    struct hc_op *op;
    struct hc_nodes before; /* its dependencies */
    bool marked;            /* for walks */
};

struct CUgraph_st {
    cudaGraphNode_t *nodes; /* in order of creation */
    size_t count, capacity;
    bool capturing;    /* belongs to a live capture */
    bool has_memory;   /* allocation or free nodes: neither cloned nor instantiated twice */
    bool instantiated; /* counts where has_memory */
};

cudaGraph_t hc_graph_make(void); /* NULL: no memory */
void hc_graph_destroy(cudaGraph_t graph);
void hc_graph_publish(cudaGraph_t graph);
/* NULL: no memory. Takes over the op's reference, whatever it returns. */
cudaGraphNode_t hc_graph_add(cudaGraph_t graph, const struct hc_nodes *before, struct hc_op *op);
/* Marks exactly these nodes and what they depend on. */
void hc_graph_mark_ancestors(cudaGraph_t graph, const struct hc_nodes *nodes);
bool hc_graph_all_marked(const struct hc_nodes *nodes);
/* Node indices in an order that the edges allow, the order of creation where they do. InvalidValue: a cycle. */
cudaError_t hc_graph_sort(cudaGraph_t graph, size_t *order);

#endif
