/* Kernel nodes that the program makes of another node's parameters: its attributes are no parameters, and must be
 * copied, too. */
#ifndef BG_ATTACH_NODE_COPIES_H
#define BG_ATTACH_NODE_COPIES_H

#include <breakgraph/report.h>
#include <cuda.h>

#include "graph/inspect.h"

/* The program has read a kernel node's parameters. */
void bg__node_copies_read(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params);
/* It has added a node with these. */
void bg__node_copies_added(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params);
/* source, the program's, is instantiated; graph has its calls. Adds a finding "attribute-lost" for each node of it that
 * was made of another one's parameters, and lacks its cluster, or that its blocks run together. */
void bg__node_copies_check(const bg_graph *graph, cudaGraph_t source, bg_report *report);

#endif
