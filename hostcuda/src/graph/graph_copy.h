/* Copies of graphs, and the op of a child node, which has a graph of its own. */
#ifndef HOSTCUDA_GRAPH_COPY_H
#define HOSTCUDA_GRAPH_COPY_H

#include "hostcuda/src/graph/graph_object.h"

/* Copies `from` to the empty graph `to`. Children are copied, and user objects are retained. */
cudaError_t hc_graph_copy(cudaGraph_t from, cudaGraph_t to);

/* Takes over the graph. Returns NULL, and does not take it over, if there is no memory. */
struct hc_op *hc_op_make_child(cudaGraph_t child);
/* Makes a child op with a copy of the graph, which is checked. */
cudaError_t hc_op_from_child(cudaGraph_t child, struct hc_op **op);

#endif
