/* Checks of a node's dependencies as calls pass them. */
#ifndef HOSTCUDA_EDGES_H
#define HOSTCUDA_EDGES_H

#include "hostcuda/src/graph/graph_object.h"

/* Checks that all `nodes` are nodes of the graph, without duplicates. */
cudaError_t hc_graph_check_nodes(cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count);
/* For calls that add a node: checks the graph, the dependencies and the pointer to the node. */
cudaError_t hc_graph_check_add(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                               size_t count, bool has_params);
/* data NULL: no edge carries data. InvalidValue: an edge has a type or port that does not exist. NotSupported: an edge
 * has one that is not implemented. */
cudaError_t hc_graph_check_edges(const cudaGraphEdgeData *data, size_t count);
/* Takes over the op's reference, also on failure. op NULL: the caller had no memory for it. */
cudaError_t hc_graph_add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                              size_t count, struct hc_op *op);

#endif
