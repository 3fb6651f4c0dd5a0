/* Timelines of replays, for BG_TRACE. */
#ifndef BG_DEBUG_TRACE_H
#define BG_DEBUG_TRACE_H

#include <breakgraph/trace.h>

/* Replays graph once, in place of a walk over its steps, and writes a timeline of that to path: as bg_trace, but with
 * the steps alone, since nodes that run alone are a replay of their own. Between bg__replay_enter and leave. It waits
 * for the stream before and after. Errors: those of bg_replay; IO and OUT_OF_MEMORY, also after a replay that is
 * complete. */
bg_status bg__trace_replay(bg_graph *graph, cudaStream_t stream, const char *path);

#endif
