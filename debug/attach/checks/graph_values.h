/* The values of the program's graphs, written for the command, which compares two runs of the program (check
 * --what=recapture).
 *
 * DIR/values-PID.jsonl, where DIR is BG_REPORT, and values-PID-1.jsonl after a call of exec; each line is an object:
 *   {"process": PID, "program": "python3", "rank": 0}      the first line; rank only where there are ranks
 *   {"owner": 3, "id": "...", "thread": 1, "text": "...", "stack": "...", "pool": true}
 *       memory. id: the same in two runs for the same memory. thread: the one that made it; its number may differ from
 *       run to run. text: for messages. stack: of the allocation, or "". pool: it belongs to an allocator that gives
 *       out parts of it, such as PyTorch's
 *   {"graph": 0, "name": "graph#0", "thread": 1, "file": "main.c", "line": 12, "edges": "HASH",
 *    "edge_kinds": "HASH", "nodes": [...]}               thread: the one that instantiated the graph; hashes: of all
 *       edges, including those of child graphs. Without "nodes", the graph could not be read.
 *       a node: {"kind": "kernel", "call": "scale#0", "work": "scale(float*)", "file": "main.c", "line": 7,
 *       "launch": "8 1 1 128 1 1 0 1 1 1 0", "values": ["HEX", "HEX@0:3+16"]}
 *       work: the kernel, or the host function's name or place ("add_one in program", "program+0x1234").
 *       launch: grid, block, bytes of dynamic shared memory, clusters, whether it is cooperative.
 *       values: a kernel's parameters; for other nodes, those that value_name in debug/cli/recapture lists.
 *       "@0:3+16": at offset 0, the value has the address of byte 16 of owner 3
 *   {"updated": 0, "node": 3}                              the program has set that node of graph 0; without node: all
 *   {"renamed": 0, "name": "decode"} */
#ifndef BG_ATTACH_GRAPH_VALUES_H
#define BG_ATTACH_GRAPH_VALUES_H

#include "graph/inspect.h"
#include "debug/attach/stacks/stacks.h"

/* State of one graph. All functions accept NULL: the graph is not written. */
typedef struct bg__graph_values bg__graph_values;

/* Opens the file if BG_CHECK asks for recapture. INVALID_ARGUMENT. */
bg_status bg__graph_values_begin(void);
/* Writes the nodes of graph, which wraps source. made: the call that instantiated it. Returns NULL if nothing is
 * written; a failure is written as a graph without nodes. */
bg__graph_values *bg__graph_values_write(bg_graph *graph, cudaGraph_t source, const bg__stack *made);
/* The program has changed a node. node: its place in source's list; -1: any. */
void bg__graph_values_write_update(bg__graph_values *values, long node);
void bg__graph_values_write_name(const bg__graph_values *values, const char *name);
void bg__graph_values_free(bg__graph_values *values);

#endif
