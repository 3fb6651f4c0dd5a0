/* What calls say of a node's dependencies. */
#ifndef HOSTCUDA_EDGES_H
#define HOSTCUDA_EDGES_H

#include "hostcuda/src/graph/graph_object.h"

/* They are nodes of the graph, each once. */
cudaError_t hc_graph_check_nodes(cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count);
/* For calls that add a node: the graph, the dependencies and the parameters are there. */
cudaError_t hc_graph_check_add(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                               size_t count, bool has_params);
/* NULL: no edge carries data. InvalidValue: an edge of a type or port that does not exist; NotSupported: of one that is
 * not implemented. */
cudaError_t hc_graph_check_edges(const cudaGraphEdgeData *data, size_t count);
/* Takes over the op's reference, whatever it returns. NULL: there was no memory for it. */
cudaError_t hc_graph_add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                              size_t count, struct hc_op *op);

#endif
