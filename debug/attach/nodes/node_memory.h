/* What each node of a stepped graph does to memory, in a program whose tensors nobody knows: the first node that writes
 * NaN, and the bytes that each node wrote. */
#ifndef BG_ATTACH_NODE_MEMORY_H
#define BG_ATTACH_NODE_MEMORY_H

#include "graph/inspect.h"

/* Does nothing for a graph that is not stepped. A node's memory is copied before it runs and compared afterwards, by
 * the device. Errors: OUT_OF_MEMORY. */
bg_status bg__node_memory_watch(bg_graph *graph);

#endif
