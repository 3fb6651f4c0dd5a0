/* The pointers among nodes' parameters. */
#ifndef BG_DEBUG_NODE_POINTERS_H
#define BG_DEBUG_NODE_POINTERS_H

#include <breakgraph/report.h>

#include "debug/graph/nodes.h"
#include "debug/memory/pointers.h"

/* Where a node holds an address. */
typedef struct bg__held {
    const bg__node *node;
    bool is_end;        /* one of a copy or fill; then which */
    bg__end_kind which; /* a fill has a destination */
    int parameter;      /* of a kernel */
    size_t offset;      /* in that parameter */
    bool alone;         /* the parameter is this word; else it is part of a struct or buffer */
    uintptr_t address;
} bg__held;

/* Calls visit with every word of the node that may be an address: each 8 bytes of a kernel's parameters, aligned as in
 * the launch, and the ends of copies and fills. Stops at the first failure. */
typedef bg_status (*bg__held_visit)(void *user, const bg__held *held);
bg_status bg__node_addresses(const bg__node *node, bg__held_visit visit, void *user);

/* "parameter 1", "parameter 0, offset 24,", "its source". Gives text back. */
const char *bg__held_text(const bg__held *held, char *text, size_t bytes);

/* What the graph itself allocates, by nodes: it lives as long as the graph, and the driver need not know it before a
 * launch. Each one's id is its number among them, from 1. Starts zeroed. */
bg_status bg__nodes_own_memory(const bg__nodes *nodes, bg__allocations *own);

/* Remembers to which allocations the nodes' parameters point now, so that a later bg__check_nodes can tell a stale
 * address from a number. To be called when the capture ends; the check calls it where nobody has. */
bg_status bg__nodes_note(bg_graph *graph);

/* The allocations that are remembered for the graph, which owns them. A caller may add one that the graph is known to
 * use, live or not. Errors: OUT_OF_MEMORY, UNSUPPORTED. */
bg_status bg__nodes_notes(bg_graph *graph, bg__allocations **notes);

/* Adds a finding "dangling", unless the report has another about that memory and call, for each address in a node that
 * points into an allocation remembered for the graph, and that is no longer live, or belongs to another one. The kinds
 * of findings: docs/findings.md. */
bg_status bg__check_nodes(bg_graph *graph, bg_report *report);

/* Adds a finding "pageable-copy" or "stack-copy" for each memcpy node with an end in host memory that CUDA does not
 * know. frame: __builtin_frame_address(0) of the public function; what lies below it in the stack has returned. */
bg_status bg__check_host_memory(bg_graph *graph, const void *frame, bg_report *report);

#endif
