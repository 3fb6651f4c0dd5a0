/* The makers and names of the nodes of the program's graphs. */
#ifndef BG_ATTACH_NODE_CALLS_H
#define BG_ATTACH_NODE_CALLS_H

#include "graph/inspect.h"
#include "debug/attach/stacks/stacks.h"

/* The call that made the node. NULL: unknown. */
const bg__stack *bg__node_maker(cudaGraphNode_t node);
/* `copy` was cloned from `original`: its nodes get the makers of the original's nodes. */
void bg__nodes_copy_makers(cudaGraph_t copy, cudaGraph_t original);
/* graph is about to be destroyed: forgets the makers, since CUDA may reuse the handles of its nodes. */
void bg__nodes_forget_makers(cudaGraph_t graph);
/* When the node was made, as bg__blocks_time counts; 0: unknown. */
uint64_t bg__node_creation_time(cudaGraphNode_t node);
/* Adds an op call to graph for each node. `graph` wraps `source` or a clone of it. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__node_calls_add(bg_graph *graph, cudaGraph_t source);
/* Returns the name of a node, "scale#1". graph may still be captured. The caller frees the name. NULL: the node has no
 * name, or out of host memory. */
char *bg__node_name(cudaGraph_t graph, cudaGraphNode_t node);
/* Finds the function's own name, "copy", in a demangled name, "void at::native::copy<float, (int)4>(int)". Returns its
 * bytes. */
size_t bg__kernel_short_name(const char *name, const char **begin);

#endif
