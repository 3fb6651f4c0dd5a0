/* Launches a node of a graph as an ordinary stream operation. */
#ifndef BG_ATTACH_NODE_LAUNCH_H
#define BG_ATTACH_NODE_LAUNCH_H

#include "debug/graph/nodes.h"

/* Returns why no stream operation can replace the node; NULL: one can. */
const char *bg__node_launch_obstacle(const bg__node *node);
/* Queues the node's work on stream. Does not wait. */
cudaError_t bg__node_launch_eager(const bg__node *node, cudaStream_t stream);
/* Looks up the functions of the driver. Errors: UNSUPPORTED. */
bg_status bg__node_launch_begin(void);

#endif
