/* The nodes of a graph, one after the other, in one launch. */
#ifndef BG_ATTACH_SERIAL_H
#define BG_ATTACH_SERIAL_H

#include "debug/graph/nodes.h"
#include "debug/graph/node_order.h"

/* Whether the nodes can run so; NULL: they can. Else why not: "it has memory nodes, whose addresses belong to their
 * graph". */
const char *bg__serial_obstacle(const bg__nodes *nodes);
/* Whether a run leaves out host functions, which may write what other nodes read. */
bool bg__serial_leaves_out(const bg__nodes *nodes);
/* Whether it has what the program would see more often than it launches the graph: such a run stands for no launch. */
bool bg__serial_is_seen(const bg__nodes *nodes);

/* Runs the nodes of these steps, each after the one before, and waits. Host functions and the recording of events are
 * left out: the program would see them more often than it launched the graph. Errors: CUDA, UNSUPPORTED. */
bg_status bg__serial_run(const bg__order *order, const size_t *steps, size_t count, cudaStream_t stream);

#endif
