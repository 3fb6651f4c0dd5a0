/* Replays with tools: BG_DEBUG=step, BG_SHADOW, BG_TRACE, BG_REPORT. */
#ifndef BG_DEBUG_REPLAY_TOOLS_H
#define BG_DEBUG_REPLAY_TOOLS_H

#include "graph/inspect.h"

/* Entries of the table of hooks (graph/debug_table.h). */
bg_status bg__replay_tools_check_env(bg_graph *graph, bool steps);
bg_status bg__replay_tools_attach(bg_graph *graph, bg_forward forward, void *user, const bg_capture_options *options);
bg_status bg__replay_tools_replay(bg_graph *graph, cudaStream_t stream);
void bg__replay_tools_detach(bg_graph *graph);

#endif
