/* What the program's graphs hold, written for the command, which compares two runs of the program (check
 * --what=recapture).
 *
 * DIR/values-PID.jsonl of BG_REPORT, and values-PID-1.jsonl after a call of exec, an object on each line:
 *   {"process": PID, "program": "python3", "rank": 0}      the first line; rank only where there are ranks
 *   {"owner": 3, "id": "...", "thread": 1, "text": "...", "stack": "...", "pool": true}
 *       memory: equal in two runs where the id is, but for the thread that has made it, whose number is chance; for
 *       messages; the stack of the allocation, or "". pool: an allocator such as PyTorch's gives out parts of it
 *   {"graph": 0, "name": "graph#0", "thread": 1, "file": "main.c", "line": 12, "edges": "HASH",
 *    "edge_kinds": "HASH", "nodes": [...]}               thread: that has instantiated it; hashes: of all edges, with
 *       those of child graphs
 *       a node: {"kind": "kernel", "call": "scale#0", "work": "scale(float*)", "file": "main.c", "line": 7,
 *       "launch": "8 1 1 128 1 1 0 1 1 1 0", "values": ["HEX", "HEX@0:3+16"]}
 *       work: of a host function its name or place ("add_one in program", "program+0x1234").
 *       launch: grid, block, bytes of dynamic shared memory, clusters, whether it is cooperative. values: a kernel's
 *       parameters; of other nodes what value_name in debug/cli/recapture says. "@0:3+16": at offset 0 there is the
 *       address of byte 16 of owner 3. Without "nodes" the graph could not be read.
 *   {"updated": 0, "node": 3}                              the program has set that node of graph 0; without node: all
 *   {"renamed": 0, "name": "decode"} */
#ifndef BG_ATTACH_GRAPH_VALUES_H
#define BG_ATTACH_GRAPH_VALUES_H

#include "graph/inspect.h"
#include "debug/attach/stacks/stacks.h"

/* Of one graph. NULL, for all functions: nothing is written of it. */
typedef struct bg__values bg__values;

/* Reads BG_CHECK. INVALID_ARGUMENT. */
bg_status bg__values_begin(void);
/* Writes what graph holds, which wraps source and was instantiated by made; NULL: nothing is written. A failure is
 * written, too. */
bg__values *bg__values_write(bg_graph *graph, cudaGraph_t source, const bg__stack *made);
/* The program has set the node of that place in source's list; -1: any. */
void bg__values_updated(bg__values *values, long node);
void bg__values_renamed(const bg__values *values, const char *name);
void bg__values_free(bg__values *values);

#endif
