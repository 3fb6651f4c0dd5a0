/* A node in another graph. */
#ifndef BG_DEBUG_NODE_COPY_H
#define BG_DEBUG_NODE_COPY_H

#include "nodes.h"

/* Adds to graph a node like from: a kernel, memcpy, memset, host function or event, with the same parameters and
 * attributes. It waits for *after; NULL: for nothing. *empty: nothing was added, because there is nothing to run: an
 * event that was destroyed, or belongs to a library (NCCL), cannot be used in another graph. Errors: UNSUPPORTED (a
 * node of another type, which cannot run without its graph), CUDA. */
bg_status bg__node_copy(const bg__node *from, cudaGraph_t graph, const cudaGraphNode_t *after, cudaGraphNode_t *made,
                        bool *empty);

#endif
