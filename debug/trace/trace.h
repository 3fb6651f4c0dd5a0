/* Timelines of replays, for BG_TRACE; drawings, for BG_DOT. */
#ifndef BG_DEBUG_TRACE_H
#define BG_DEBUG_TRACE_H

#include <breakgraph/trace.h>

#include "debug/report/files.h"

/* Replays graph once, in place of a walk over its steps, and writes a timeline of that to path: as bg_trace, but with
 * the steps alone, since nodes that run alone are a replay of their own. Between bg__replay_enter and leave. It waits
 * for the stream before and after. Errors: those of bg_replay; IO and OUT_OF_MEMORY, also after a replay that is
 * complete. */
bg_status bg__trace_replay(bg_graph *graph, cudaStream_t stream, const char *path);

/* As bg_graph_write_dot, for a segment that is there, with whose idea the file's name is. */
bg_status bg__dot_write(const bg_graph *graph, int segment, const char *path, bg__file_name name);

#endif
