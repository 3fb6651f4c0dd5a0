/* The memory that the nodes of a graph may read and write. */
#ifndef BG_ATTACH_REACHABLE_MEMORY_H
#define BG_ATTACH_REACHABLE_MEMORY_H

#include "debug/graph/nodes.h"
#include "debug/memory/spans.h"

/* Ranges begin at multiples of 8. Starts zeroed. */
typedef struct bg__reachable {
    bg__spans memory;   /* blocks that kernels' parameters point into, and both ends of memcpys and memsets */
    bg__spans host;     /* pinned host blocks that kernels point into: the host may write there at any time */
    bg__spans before;   /* blocks that end where a kernel's pointer points to */
    char obstacle[160]; /* why the nodes' memory cannot be restored: "it has ..."; "": it can */
} bg__reachable;

/* Collects the memory of all nodes. Small blocks may be lists of pointers: the blocks that they point into are added,
 * too. Waits for the stream. Call bg__reachable_free also after a failure. Errors: OUT_OF_MEMORY, UNSUPPORTED, CUDA. */
bg_status bg__reachable_collect(bg__reachable *reached, const bg__nodes *nodes, cudaStream_t stream);
void bg__reachable_free(bg__reachable *reached);
/* Adds the `memory` of one node, without lists of pointers. */
bg_status bg__reachable_add_node(bg__spans *memory, const bg__node *node);

#endif
