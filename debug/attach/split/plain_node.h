/* A node of a graph, launched without a graph. */
#ifndef BG_ATTACH_PLAIN_NODE_H
#define BG_ATTACH_PLAIN_NODE_H

#include "debug/graph/nodes.h"

/* Why no call does what the node does; NULL: one does. */
const char *bg__plain_not(const bg__node *node);
/* Queues the same work on stream, in the order of the stream. Does not wait. */
cudaError_t bg__plain_launch(const bg__node *node, cudaStream_t stream);
/* Looks up the driver's functions that this needs. Errors: UNSUPPORTED. */
bg_status bg__plain_begin(void);

#endif
