/* The pointers among nodes' parameters. */
#ifndef BG_DEBUG_NODE_POINTERS_H
#define BG_DEBUG_NODE_POINTERS_H

#include <breakgraph/report.h>

#include "debug/graph/nodes.h"
#include "debug/memory/pointers.h"

/* An address that a node holds. */
typedef struct bg__held {
    const bg__node *node;
    bool is_end;        /* source or destination of a memcpy or memset node; then which */
    bg__end_kind which; /* a memset has a destination */
    int parameter;      /* of a kernel */
    size_t offset;      /* in that parameter */
    bool alone;         /* the parameter is this word; else it is part of a struct or buffer */
    uintptr_t address;
} bg__held;

/* Calls visit for every word of the node that may be an address: every 8 aligned bytes of a kernel's parameters, and
 * the ends of memcpy and memset nodes. Stops at the first failure. */
typedef bg_status (*bg__held_visit)(void *user, const bg__held *held);
bg_status bg__node_addresses(const bg__node *node, bg__held_visit visit, void *user);

/* "kernel parameter 1", "kernel parameter 0, offset 24,", "the node's source". Returns text. */
const char *bg__held_text(const bg__held *held, char *text, size_t bytes);

/* Memory that the graph's nodes allocate: it lives as long as the graph, and the driver may not know it before a
 * launch. The id of each is its number among them, from 1. own starts zeroed. */
bg_status bg__nodes_own_memory(const bg__nodes *nodes, bg__allocations *own);

/* Notes the allocations that the nodes' parameters point into now, so that a later bg__check_nodes can tell a stale
 * address from a number. Called when the capture ends. */
bg_status bg__nodes_note(bg_graph *graph);

/* Forgets what was noted: the nodes have other parameters now. */
void bg__nodes_forget(bg_graph *graph);

/* The allocations that are remembered for the graph, which owns them. A caller may add one that the graph is known to
 * use, live or not. Errors: OUT_OF_MEMORY, UNSUPPORTED. */
bg_status bg__nodes_notes(bg_graph *graph, bg__allocations **notes);

/* nodes: all of the graph. Adds a finding for each noted allocation that nodes point into and that has been freed
 * ("dangling"), or whose memory another allocation has now ("reused"): on the first node's call, with those of the
 * others. Calls on which the report has a finding about that memory are left out. report NULL: only notes. */
bg_status bg__check_nodes(bg_graph *graph, const bg__nodes *nodes, bg_report *report);

/* *same: none of the allocations that are remembered for the graph has been freed since the last bg__check_nodes with a
 * report, or since they were noted. Those that hold tensors are left out: bg__addresses_are_same looks at them. One
 * query each. */
bg_status bg__nodes_are_same(bg_graph *graph, bool *same);

/* Adds a finding "pageable-copy" or "stack-copy" for each memcpy node with an end in host memory that CUDA does not
 * know. frame: __builtin_frame_address(0) of the public function; frames below it have returned. */
bg_status bg__check_host_memory(bg_graph *graph, const bg__nodes *nodes, const void *frame, bg_report *report);

#endif
