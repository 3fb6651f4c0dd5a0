/* The state that the debugging tools keep with a graph. */
#ifndef BG_DEBUG_GRAPH_TOOL_STATE_H
#define BG_DEBUG_GRAPH_TOOL_STATE_H

#include "graph/inspect.h"
#include "debug/memory/pointers.h"

/* One for each graph, created by the first tool that needs it. Each member belongs to one tool; debug/hooks frees them
 * all. */
typedef struct bg__tools {
    struct bg__stepping *stepping;         /* BG_DEBUG=step: replays run node by node; NULL: off */
    struct bg__hang_tracker *hang_tracker; /* BG_HANG: the steps of replays are followed; NULL: not yet */
    struct bg__replay_shadow *shadowing;   /* BG_SHADOW: replays are compared with the eager pass; NULL: off */
    const char *trace;                     /* BG_TRACE: file for the timeline of the next replay; NULL: none */
    bool reported;                         /* BG_REPORT counts the graph */
    bg__allocations *used;                 /* allocations that the nodes use; NULL: not read yet */
    size_t freed;                          /* number of allocations in `used` that were freed while no node pointed into
                                            * them */
    struct bg_report *checked;             /* BG_CHECK=graph: a report of all findings of the check; NULL: none yet */
    int check_count;                       /* BG_CHECK=graph: number of checks before replays */
} bg__tools;

/* Between these calls, other tools ignore the captures and replays of the calling thread, since a tool makes them. The
 * calls nest: pass the result of `enter` to `leave`. */
bool bg__tool_enter(void);
void bg__tool_leave(bool before);

/* Runs all steps of a replay; called between bg__replay_enter and bg__replay_leave (inspect.h). */
bg_status bg__replay_steps(bg_graph *graph, cudaStream_t stream);

/* Returns NULL if no tool has made a state. */
bg__tools *bg__tools_find(const bg_graph *graph);
/* Creates the state if there is none. Errors: OUT_OF_MEMORY. */
bg_status bg__tools_get(bg_graph *graph, bg__tools **tools);

#endif
