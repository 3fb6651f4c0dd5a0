/* The tools in a program that was not written for breakgraph. */
#ifndef BG_DEBUG_ATTACH_H
#define BG_DEBUG_ATTACH_H

#include <breakgraph/attach.h>
#include <cuda.h>

#include "capture/inspect.h"
#include "debug/attach/shim/shim.h"
#include "debug/report/report.h"
#include "stacks.h"

/* ---- the program's graphs (book.c; bg__book_launch, bg__book_check: graph_checks.c) ------------------------------ */

/* Reads the environment. INVALID_ARGUMENT. */
bg_status bg__book_begin(const bg__attach_shim *shim);

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

/* ---- who made their nodes (node_calls.c) ------------------------------------------------------------------------ */

/* capture: the id of the capture that made it; 0: none did. A launch of nothing makes no node: what is known of the
 * last one of the same capture stays. */
void bg__node_made(cudaGraphNode_t node, uint64_t capture, const bg__stack *stack);
/* NULL: nobody has seen it being made. */
const bg__stack *bg__node_maker(cudaGraphNode_t node);
/* copy was made from original: its nodes have the makers of the original's. */
void bg__nodes_cloned(cudaGraph_t copy, cudaGraph_t original);
/* graph is about to be destroyed: other nodes may get the handles of its nodes. */
void bg__nodes_gone(cudaGraph_t graph);
/* When, as bg__blocks_time counts; 0: nobody has seen it. */
uint64_t bg__node_time(cudaGraphNode_t node);
/* Gives graph, which wraps source or a copy of it, a call for each node. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__node_calls_add(bg_graph *graph, cudaGraph_t source);
/* The name of a node in graph, which may still be captured: "scale#1". The caller frees it. NULL: it has none, or there
 * is no host memory. */
char *bg__node_name(cudaGraph_t graph, cudaGraphNode_t node);
/* The function's own name in a demangled one, "void at::native::copy<float, (int)4>(int)": where it begins, and its
 * bytes. */
size_t bg__kernel_short_name(const char *name, const char **begin);

/* ---- findings that are about no graph (findings.c) -------------------------------------------------------------- */

/* Prints it, and writes it for the command, once for each kind, subject and place. call: what the place called; NULL:
 * that is in the message. */
void bg__attach_report(const char *kind, bg_severity severity, const char *subject, const char *call,
                       const bg__stack *at, const char *advice, const char *message);
/* The same about a node, each time. */
void bg__attach_report_at(const char *kind, bg_severity severity, const bg__call *place, const char *advice,
                          const char *message);

/* ---- allocators of Python (python.c) ---------------------------------------------------------------------------- */

void bg__python_begin(const bg__attach_shim *shim);
/* Whether the program has an interpreter that can be asked. */
bool bg__python_is_there(void);
/* A capture has begun: lets the program's interpreter, if it has one, tell from soon on what its allocators do. */
void bg__python_watch(void);
/* A graph was instantiated or updated: lets it say soon what they hold, too. */
void bg__python_snapshot(void);

/* ---- hooks ------------------------------------------------------------------------------------------------------ */

/* The index-th argument of a call, a pointer or a handle. */
static inline void *bg__call_argument(const bg__driver_call *call, int index)
{
    return (void *)(uintptr_t)call->arguments[index]; /* NOLINT(performance-no-int-to-ptr) */
}

/* Whether what is launched into stream becomes a node. */
bool bg__captures_hold(CUstream stream);
/* What was launched into stream, if that is being captured, is the calling thread's. */
void bg__captures_note(CUstream stream);

void bg__hook_captures(const bg__attach_shim *shim);
void bg__hook_graphs(const bg__attach_shim *shim);
void bg__hook_memory(const bg__attach_shim *shim);

#endif
