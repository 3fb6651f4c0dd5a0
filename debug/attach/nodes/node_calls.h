/* Who made the nodes of the program's graphs, and what they are called. */
#ifndef BG_ATTACH_NODE_CALLS_H
#define BG_ATTACH_NODE_CALLS_H

#include "graph/inspect.h"
#include "debug/attach/stacks/stacks.h"

/* capture: the id of the capture that made it; 0: none did. A launch of nothing makes no node: what is known of the
 * last one of the same capture stays. */
void bg__node_made(cudaGraphNode_t node, uint64_t capture, const bg__stack *stack);
/* NULL: nobody has seen it being made. */
const bg__stack *bg__node_maker(cudaGraphNode_t node);
/* copy was made from original: its nodes have the makers of the original's. */
void bg__nodes_cloned(cudaGraph_t copy, cudaGraph_t original);
/* graph is about to be destroyed: other nodes may get the handles of its nodes. */
void bg__nodes_gone(cudaGraph_t graph);
/* When, as bg__blocks_time counts; 0: nobody has seen it. */
uint64_t bg__node_time(cudaGraphNode_t node);
/* Gives graph, which wraps source or a copy of it, a call for each node. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__node_calls_add(bg_graph *graph, cudaGraph_t source);
/* The name of a node in graph, which may still be captured: "scale#1". The caller frees it. NULL: it has none, or there
 * is no host memory. */
char *bg__node_name(cudaGraph_t graph, cudaGraphNode_t node);
/* The function's own name in a demangled one, "void at::native::copy<float, (int)4>(int)": where it begins, and its
 * bytes. */
size_t bg__kernel_short_name(const char *name, const char **begin);

#endif
