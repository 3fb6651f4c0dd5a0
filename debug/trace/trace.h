/* Timelines of replays, for BG_TRACE; drawings, for BG_DOT. */
#ifndef BG_DEBUG_TRACE_H
#define BG_DEBUG_TRACE_H

#include <breakgraph/trace.h>

#include "debug/files/files.h"

/* Runs the steps of a replay, between bg__replay_enter and leave, and writes a timeline of them to path. As bg_trace,
 * but without nodes, which would need another replay. Waits for the stream before and after. Errors: those of
 * bg_replay; IO and OUT_OF_MEMORY, also after a complete replay. */
bg_status bg__trace_replay(bg_graph *graph, cudaStream_t stream, const char *path);

/* As bg_graph_write_dot, for a segment that exists, with the origin of the file's name. */
bg_status bg__dot_write(const bg_graph *graph, int segment, const char *path, bg__file_name name);

#endif
