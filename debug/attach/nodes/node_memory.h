/* The memory that each node of a stepped graph writes, where the program does not describe its tensors: finds the first
 * node that writes NaN, and dumps the bytes that each node wrote. */
#ifndef BG_ATTACH_NODE_MEMORY_H
#define BG_ATTACH_NODE_MEMORY_H

#include "graph/inspect.h"

/* Copies a node's memory before the node runs, and compares it afterwards, on the device. Does nothing for a graph that
 * is not stepped. Errors: OUT_OF_MEMORY. */
bg_status bg__node_memory_check_steps(bg_graph *graph);

#endif
