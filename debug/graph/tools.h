/* What the debugging tools keep with a graph. */
#ifndef BG_DEBUG_GRAPH_TOOLS_H
#define BG_DEBUG_GRAPH_TOOLS_H

#include "capture/inspect.h"
#include "debug/memory/pointers.h"

/* One record a graph, made by the first tool that keeps something. Each member is its tool's alone; debug/hooks frees
 * them all. */
typedef struct bg__tools {
    struct bg__stepping *stepping;       /* BG_DEBUG=step: replays go node by node; NULL: at once */
    struct bg__replay_shadow *shadowing; /* BG_SHADOW: replays are compared with the pass itself; NULL: not */
    const char *trace;                   /* BG_TRACE: where the next replay's timeline goes; NULL: nowhere */
    bool reported;                       /* BG_REPORT knows of the graph */
    bg__allocations *used;               /* what the nodes are known to use; NULL: nobody has looked */
} bg__tools;

/* Between these the calling thread captures and replays for a tool, of which no other one takes note. enter returns
 * what leave takes, since tools run inside of tools. */
bool bg__tool_enter(void);
void bg__tool_leave(bool before);

/* All steps of a replay that was entered (inspect.h). */
bg_status bg__replay_steps(bg_graph *graph, cudaStream_t stream);

/* NULL where no tool keeps anything. */
bg__tools *bg__tools_find(const bg_graph *graph);
/* Errors: OUT_OF_MEMORY. */
bg_status bg__tools_get(bg_graph *graph, bg__tools **tools);

#endif
