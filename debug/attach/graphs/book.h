/* The program's graphs (bg__book_launch, bg__book_check: graph_checks.c). */
#ifndef BG_ATTACH_BOOK_H
#define BG_ATTACH_BOOK_H

#include <breakgraph/attach.h>
#include <cuda.h>

#include "graph/inspect.h"
#include "debug/attach/shim/shim.h"
#include "debug/attach/stacks/stacks.h"

/* Reads the environment. INVALID_ARGUMENT. */
bg_status bg__book_begin(const bg__attach_shim *shim);
/* The calling thread is one of the tools': its calls of CUDA are not looked at. */
void bg__book_own_thread(void);

/* The program has instantiated source. What it does to source later is not done to exec. made, memory: as in listing.h.
 * flags: of the call. */
void bg__book_add(CUgraphExec exec, cudaGraph_t source, const bg__stack *made, size_t memory, uint64_t flags);
/* It has updated exec from source. */
void bg__book_update(CUgraphExec exec, cudaGraph_t source);
/* It has set, in exec, the parameters of a node of the graph that exec was made from; set does that to a node of a
 * graph; NULL: CUDA has no call for it. */
typedef CUresult bg__node_setter(CUgraphNode node, const void *params);
void bg__book_set_node(CUgraphExec exec, cudaGraphNode_t node, bg__node_setter *set, const void *params);
/* It is about to launch exec. true: that has been done in its place, and returned *result. */
bool bg__book_launch(CUgraphExec exec, cudaStream_t stream, CUresult *result);
/* It has launched it itself. */
void bg__book_launched(CUgraphExec exec, cudaStream_t stream);
/* It is about to destroy them. keeps: the book needs source, and will destroy it in its place. */
void bg__book_remove(CUgraphExec exec);
bool bg__book_keeps(cudaGraph_t source);
/* The allocator's live blocks are known now: graphs that are new note those that they use. */
void bg__book_note_blocks(void);
/* Whether findings are wanted. */
bool bg__book_checks(void);
/* Whether the program has not instantiated a graph so far. */
bool bg__book_is_empty(void);
/* The program's own allocator has freed, or given out again, a block that a graph uses. */
void bg__book_memory_moved(void);
/* It has changed one of its graphs: source, or, where that is NULL, the one that has node. */
void bg__book_edit(cudaGraph_t source, cudaGraphNode_t node);

/* For interface.c, as in breakgraph/attach.h. get: false: there is no graph of that index. */
struct bg__found;
bg_status bg__book_name(CUgraphExec exec, const char *name);
int bg__book_count(void);
bool bg__book_get(int index, bg_attach_graph *graph);
bg_status bg__book_check(struct bg__found *found);

#endif
