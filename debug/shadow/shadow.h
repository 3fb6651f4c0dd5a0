/* BG_SHADOW: every replay of a graph beside the pass itself. */
#ifndef BG_DEBUG_SHADOW_H
#define BG_DEBUG_SHADOW_H

#include "capture/inspect.h"

/* INVALID_ARGUMENT where BG_SHADOW is malformed, or BG_TOLERANCE, which it reads. */
bg_status bg__shadow_env_check(void);
/* For a graph that has just been captured; in place of a replay's steps; with the graph. */
bg_status bg__shadow_attach(bg_graph *graph, bg_forward forward, void *user, const bg_capture_options *options);
bg_status bg__shadow_replay(bg_graph *graph, cudaStream_t stream);
/* Memory as it was before the last replay of a graph, which then can run once more; false: that is not known. */
bool bg__shadow_undo_replay(const bg_graph *graph);
struct bg__replay_shadow;
void bg__shadow_detach(struct bg__replay_shadow *shadowing);

#endif
