/* Timelines of replays, for BG_TRACE; drawings, for BG_DOT. */
#ifndef BG_DEBUG_TRACE_H
#define BG_DEBUG_TRACE_H

#include <breakgraph/trace.h>

#include "debug/files/files.h"

/* Runs the steps of a replay that the caller has entered, and writes a timeline of them to path: as bg_trace, but
 * without nodes, which need another replay. Waits for the stream before and after. Errors: those of bg_replay; IO and
 * OUT_OF_MEMORY, also after a complete replay. */
bg_status bg__trace_replay(bg_graph *graph, cudaStream_t stream, const char *path);

/* As bg_graph_write_dot. segment must exist. name: where the file's name comes from. */
bg_status bg__dot_write(const bg_graph *graph, int segment, const char *path, bg__file_origin name);

#endif
