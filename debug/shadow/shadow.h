/* BG_SHADOW: every replay of a graph beside the pass itself. */
#ifndef BG_DEBUG_SHADOW_H
#define BG_DEBUG_SHADOW_H

#include "capture/inspect.h"

/* INVALID_ARGUMENT where BG_SHADOW is malformed, or BG_TOLERANCE, which it reads. */
bg_status bg__shadowing_check(void);
/* For a graph that has just been captured; in place of a replay's steps; with the graph. */
bg_status bg__shadowing_begin(bg_graph *graph, bg_forward forward, void *user, const bg_capture_options *options);
bg_status bg__shadowing_replay(bg_graph *graph, cudaStream_t stream);
/* Memory as it was before the last replay of a graph, which then can run once more; false: that is not known. */
bool bg__shadowing_undo(const bg_graph *graph);
struct bg__shadowing;
void bg__shadowing_end(struct bg__shadowing *shadowing);

#endif
