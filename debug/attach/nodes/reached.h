/* The memory that the nodes of a graph may read and write. */
#ifndef BG_ATTACH_REACHED_H
#define BG_ATTACH_REACHED_H

#include "debug/graph/nodes.h"
#include "debug/memory/spans.h"

/* Adds the blocks that a node's parameters point into, and both ends of a memcpy or memset, as far as the current
 * device can access them. Ranges begin at multiples of 8. Errors: OUT_OF_MEMORY, UNSUPPORTED, CUDA. */
bg_status bg__reached_add(bg__spans *reach, const bg__node *node);
/* The same for all nodes. Small blocks may be lists of pointers: the blocks that those point into are added, too. Waits
 * for the stream. */
bg_status bg__reached_take(bg__spans *reach, const bg__nodes *nodes, cudaStream_t stream);

#endif
