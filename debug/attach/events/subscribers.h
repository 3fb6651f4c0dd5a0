/* The subscribers of debug/attach/attach_subscribers.c, each in the file that is named behind it. */
#ifndef BG_ATTACH_SUBSCRIBERS_H
#define BG_ATTACH_SUBSCRIBERS_H

#include "event.h"

/* facts */
extern const bg__subscriber bg__fact_node_makers;    /* nodes/node_calls.c */
extern const bg__subscriber bg__fact_block_captures; /* memory/block_table.c */
extern const bg__subscriber bg__fact_owners;         /* memory/memory_owners.c */
extern const bg__subscriber bg__fact_rows;           /* memory/batch_rows.c */
extern const bg__subscriber bg__fact_changes;        /* memory/allocation_changes.c */
extern const bg__subscriber bg__fact_captures;       /* captures/captures.c */
extern const bg__subscriber bg__check_captures;      /* captures/captures.c */
extern const bg__subscriber bg__fact_graphs;         /* graphs/graph_table.c */
extern const bg__subscriber bg__fact_allocators;     /* allocators/python.c */
extern const bg__subscriber bg__fact_waits;          /* launches/hangs.c */
extern const bg__subscriber bg__fact_run_gate;       /* runs/runs.c */

/* checks */
extern const bg__subscriber bg__check_growth;         /* checks/graph_growth.c */
extern const bg__subscriber bg__check_lifetimes;      /* checks/allocation_lifetimes.c */
extern const bg__subscriber bg__check_node_copies;    /* nodes/node_copies.c */
extern const bg__subscriber bg__check_host_functions; /* checks/host_functions.c */
extern const bg__subscriber bg__check_unfreed_memory; /* checks/unfreed_memory.c */
extern const bg__subscriber bg__check_values;         /* checks/graph_values.c */
extern const bg__subscriber bg__check_modules;        /* checks/kernel_modules.c */
extern const bg__subscriber bg__check_blocks;         /* checks/block_uses.c */
extern const bg__subscriber bg__check_pointers;       /* checks/linked_checks.c */
extern const bg__subscriber bg__check_copies;         /* checks/linked_checks.c */
extern const bg__subscriber bg__check_stream_order;   /* stream_order/stream_order.c */
extern const bg__subscriber bg__check_other_graph;    /* checks/other_graph.c */
extern const bg__subscriber bg__check_work_outside;   /* captures/capture_leaks.c */

#endif
