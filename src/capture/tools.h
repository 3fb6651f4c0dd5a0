/* The debugging tools that captures and replays call. They are above this folder, which calls them only through this
 * table (debug/hooks/hooks.c). */
#ifndef BG_CAPTURE_TOOLS_H
#define BG_CAPTURE_TOOLS_H

#include <breakgraph/capture.h>

/* What BG_CHECK asks for of a pass that is captured. */
typedef enum bg__captured_check { BG__CHECK_NOTHING, BG__CHECK_RECAPTURE, BG__CHECK_POISON } bg__captured_check;

typedef struct bg__debug_table {
    /* Before a replay of a graph that is watched: STALE_ADDRESS where an address is no longer what it was. */
    bg_status (*check_replay)(bg_graph *graph);
    /* At the end of its capture: what the nodes hold now is what later checks compare with. */
    bg_status (*note_nodes)(bg_graph *graph);
    /* Before a capture changes anything: what the environment says of its tools. INVALID_ARGUMENT where a variable is
     * malformed. steps: every replay of graph goes node by node (BG_DEBUG_STEP). */
    bg_status (*begin)(bg_graph *graph, bool steps);
    /* What they find goes to standard error. BG_CHECK=recapture: before bg_capture_forward's own capture, so that what
     * forward keeps of a pass is the graph's in the end; =poison: when it has made the graph. */
    void (*check_recapture)(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options);
    void (*check_poison)(bg_graph *graph, cudaStream_t stream);
    /* When a capture has made graph: what the environment asks for beside that, BG_SHADOW (unless forward is NULL),
     * BG_TRACE and BG_REPORT. Diverts the graph (inspect.h) where its replays are not only replays. */
    bg_status (*captured)(bg_graph *graph, bg_forward forward, void *user, const bg_capture_options *options);
    /* In place of the walk of a replay of a graph that is diverted. */
    bg_status (*replay)(bg_graph *graph, cudaStream_t stream);
    /* With a graph of which the tools keep something. */
    void (*destroyed)(bg_graph *graph);
} bg__debug_table;
extern const bg__debug_table bg__debug_hooks;

#endif
