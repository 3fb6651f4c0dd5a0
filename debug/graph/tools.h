/* The state that the debugging tools keep with a graph. */
#ifndef BG_DEBUG_GRAPH_TOOLS_H
#define BG_DEBUG_GRAPH_TOOLS_H

#include "graph/inspect.h"
#include "debug/memory/pointers.h"

/* One for each graph, created by the first tool that keeps something. Each member belongs to one tool; debug/hooks
 * frees them all. */
typedef struct bg__tools {
    struct bg__stepping *stepping;       /* BG_DEBUG=step: replays run node by node; NULL: not */
    struct bg__hanging *hanging;         /* BG_HANG: what replays launch is followed; NULL: not yet */
    struct bg__replay_shadow *shadowing; /* BG_SHADOW: replays are compared with the eager pass; NULL: not */
    const char *trace;                   /* BG_TRACE: file for the timeline of the next replay; NULL: none */
    bool reported;                       /* BG_REPORT counts the graph */
    bg__allocations *used;               /* allocations that the nodes use; NULL: not looked for yet */
    size_t freed;                        /* how many of them were gone when no node was found to point into one */
    struct bg_report *checked;           /* BG_CHECK=graph: all that it has found; NULL: nothing yet */
    int looks;                           /* that it took before replays */
} bg__tools;

/* Between these calls the captures and replays of the calling thread are a tool's own, and other tools ignore them.
 * They nest: enter returns what leave takes. */
bool bg__tool_enter(void);
void bg__tool_leave(bool before);

/* Runs all steps of a replay, between bg__replay_enter and bg__replay_leave (inspect.h). */
bg_status bg__replay_steps(bg_graph *graph, cudaStream_t stream);

/* NULL if no tool keeps anything. */
bg__tools *bg__tools_find(const bg_graph *graph);
/* Creates it if there is none. Errors: OUT_OF_MEMORY. */
bg_status bg__tools_get(bg_graph *graph, bg__tools **tools);

#endif
