/* Pointers in the parameters of nodes. */
#ifndef BG_DEBUG_NODE_POINTERS_H
#define BG_DEBUG_NODE_POINTERS_H

#include <breakgraph/report.h>

#include "debug/graph/nodes.h"
#include "debug/memory/pointers.h"

/* An address in the parameters of a node. */
typedef struct bg__node_pointer {
    const bg__node *node;
    bool is_end;         /* it is the source or destination of a memcpy or memset node, see `which` */
    bg__copy_side which; /* a memset node has only a destination */
    int parameter;       /* of a kernel */
    size_t offset;       /* offset in that parameter */
    bool alone;          /* the parameter consists of this word alone; otherwise the word is part of a struct or
                          * buffer */
    uintptr_t address;
} bg__node_pointer;

/* Calls `visit` for every word that may be an address: every 8 aligned bytes of kernel parameters, and the source and
 * destination of memcpy and memset nodes. Stops at the first failure. */
typedef bg_status (*bg__node_pointer_visit)(void *user, const bg__node_pointer *held);
bg_status bg__node_visit_pointers(const bg__node *node, bg__node_pointer_visit visit, void *user);

/* Writes "kernel parameter 1", "kernel parameter 0, offset 24,", or "the node's source". Returns `text`. */
const char *bg__node_pointer_text(const bg__node_pointer *held, char *text, size_t bytes);

/* Adds the memory that allocation nodes allocate to `own`, which starts zeroed. This memory lives as long as the graph,
 * and the driver may not know it before a launch. The id of each allocation is its number in `own`, from 1. */
bg_status bg__nodes_list_allocations(const bg__nodes *nodes, bg__allocations *own);

/* Records the allocations that parameters of nodes point into now. A later bg__check_nodes uses them to distinguish a
 * stale address from a number. Called when the capture ends. */
bg_status bg__recorded_allocations_update(bg_graph *graph);

/* Clears the recorded allocations, after the parameters of nodes have changed. */
void bg__recorded_allocations_clear(bg_graph *graph);

/* The recorded allocations of the graph, which owns them. A caller may add an allocation that the graph is known to
 * use, live or not. Errors: OUT_OF_MEMORY, UNSUPPORTED. */
bg_status bg__recorded_allocations_get(bg_graph *graph, bg__allocations **notes);

/* Adds a finding for each recorded allocation that nodes point into and that was freed ("dangling"), or whose memory
 * another allocation has now ("reused"). The finding is on the call of the first node, and names the calls of the other
 * nodes. Calls that already have a finding on that memory are left out. nodes: all nodes of the graph. report NULL:
 * only records. */
bg_status bg__check_nodes(bg_graph *graph, const bg__nodes *nodes, bg_report *report);

/* *same: none of the recorded allocations was freed since the last bg__check_nodes with a report, or since the
 * recording. Leaves out allocations that hold tensors, since bg__addresses_are_unchanged checks these. Makes one query
 * for each allocation. */
bg_status bg__recorded_allocations_are_alive(bg_graph *graph, bool *same);

/* Adds a finding "pageable-copy" or "stack-copy" for each memcpy node whose source or destination is host memory that
 * CUDA does not know. frame: __builtin_frame_address(0) of the public function; the functions of frames below it have
 * returned. */
bg_status bg__check_host_memory(bg_graph *graph, const bg__nodes *nodes, const void *frame, bg_report *report);

#endif
