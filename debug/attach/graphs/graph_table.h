/* The table of the program's graphs. bg__graph_table_before_launch, bg__graph_table_after_launch and
 * bg__graph_table_check_all are in graph_checks.c. */
#ifndef BG_ATTACH_GRAPH_TABLE_H
#define BG_ATTACH_GRAPH_TABLE_H

#include <breakgraph/attach.h>
#include <cuda.h>

#include "debug/attach/events/tracked_graph.h"

/* Reads the environment. Errors: INVALID_ARGUMENT. */
bg_status bg__graph_table_begin(void);
/* Declares the calling thread a thread of the tools: no hook sees its CUDA calls. */
void bg__graph_table_exclude_thread(void);

/* The program has instantiated source. Later changes of source do not change exec. made, memory: as in graph_rows.h.
 * flags: the flags of cuGraphInstantiate. */
void bg__graph_table_add(CUgraphExec exec, cudaGraph_t source, const bg__stack *made, size_t memory, uint64_t flags);
/* The program has updated exec from source. */
void bg__graph_table_update(CUgraphExec exec, cudaGraph_t source);
/* The program has set the parameters of a node in `exec`. `node` is the node of the source. `set` is the call that sets
 * the same parameters in a graph; NULL: CUDA has no such call. */
typedef CUresult bg__node_setter(CUgraphNode node, const void *params);
void bg__graph_table_set_node(CUgraphExec exec, cudaGraphNode_t node, bg__node_setter *set, const void *params);
/* The program is about to launch exec. Returns true if a tool has launched it: the program gets *result. */
bool bg__graph_table_before_launch(CUgraphExec exec, cudaStream_t stream, CUresult *result);
/* The program has launched exec itself. */
void bg__graph_table_after_launch(CUgraphExec exec, cudaStream_t stream);
/* The program is about to destroy `exec`, or `source`. bg__graph_table_defer_destroy returns true if the table needs
 * `source`: the table destroys it later, and the program must not. */
void bg__graph_table_remove(CUgraphExec exec);
bool bg__graph_table_defer_destroy(cudaGraph_t source);
/* The live blocks of the allocators are known now: records those that new or updated graphs use. */
void bg__graph_table_record_blocks(void);
/* An allocator of the program has freed, or given out again, a block that a graph uses. */
void bg__graph_table_count_block_move(void);
/* The program has changed a graph: source, or, if source is NULL, the graph that has node. */
void bg__graph_table_record_edit(cudaGraph_t source, cudaGraphNode_t node);

/* For attach_interface.c, as in breakgraph/attach.h. bg__graph_table_get returns false if there is no graph of that
 * index. */
struct bg__report_list;
bg_status bg__graph_table_set_name(CUgraphExec exec, const char *name);
int bg__graph_table_count(void);
bool bg__graph_table_get(int index, bg_attach_graph *graph);
bg_status bg__graph_table_check_all(struct bg__report_list *found);

#endif
