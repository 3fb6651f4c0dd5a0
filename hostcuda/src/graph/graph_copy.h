/* Copies of graphs, and the operation of a child node, which holds one. */
#ifndef HOSTCUDA_GRAPH_COPY_H
#define HOSTCUDA_GRAPH_COPY_H

#include "hostcuda/src/graph/graph_object.h"

/* Fills an empty graph; children are copied, too, and user objects retained. */
cudaError_t hc_graph_copy(cudaGraph_t from, cudaGraph_t to);

/* Takes over the graph, unless there is no memory; then it is NULL. */
struct hc_op *hc_op_child(cudaGraph_t child);
/* With a copy of the graph, checked. */
cudaError_t hc_op_from_child(cudaGraph_t child, struct hc_op **op);

#endif
