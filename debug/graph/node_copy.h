/* Copies a node into another graph. */
#ifndef BG_DEBUG_NODE_COPY_H
#define BG_DEBUG_NODE_COPY_H

#include "nodes.h"

/* Adds a copy of the node `from` to `graph`. The node is a kernel, memcpy, memset, host function or event; the copy has
 * the same parameters and attributes. The copy waits for *after; NULL: for no node. *empty: nothing was added. This is
 * so for an event that was destroyed, or that belongs to a library (NCCL), since it cannot be used in another graph.
 * Errors: UNSUPPORTED (a node of another type cannot run without its graph), CUDA. */
bg_status bg__node_copy(const bg__node *from, cudaGraph_t graph, const cudaGraphNode_t *after, cudaGraphNode_t *made,
                        bool *empty);

#endif
