/* Kernel nodes that the program adds with the parameters of another node. The attributes are not parameters, and the
 * program must copy them, too. */
#ifndef BG_ATTACH_NODE_COPIES_H
#define BG_ATTACH_NODE_COPIES_H

#include <breakgraph/report.h>
#include <cuda.h>

#include "graph/inspect.h"

/* The program has read a kernel node's parameters. */
void bg__node_copies_record_read(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params);
/* The program has added a node with these parameters. */
void bg__node_copies_record_added(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params);
/* The program has instantiated source; graph has its op calls. Adds a finding "attribute-lost" for each node that has
 * the parameters of another node, but lacks its cluster or cooperative attribute. */
void bg__node_copies_check(const bg_graph *graph, cudaGraph_t source, bg_report *report);

#endif
