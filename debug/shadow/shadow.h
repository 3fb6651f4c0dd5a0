/* BG_SHADOW: compares every replay of a graph with the eager pass. */
#ifndef BG_DEBUG_SHADOW_H
#define BG_DEBUG_SHADOW_H

#include "graph/inspect.h"

/* INVALID_ARGUMENT if BG_SHADOW, or BG_TOLERANCE, is malformed. */
bg_status bg__shadow_env_check(void);
/* attach: sets up a graph that has just been captured. replay: runs in place of the steps of a replay. */
bg_status bg__shadow_attach(bg_graph *graph, bg_forward forward, void *user, const bg_capture_options *options);
bg_status bg__shadow_replay(bg_graph *graph, cudaStream_t stream);
/* Restores memory to its contents before the last replay, so that the replay can run again. Returns false if they are
 * not known. */
bool bg__shadow_undo_replay(const bg_graph *graph);
struct bg__replay_shadow;
void bg__shadow_detach(struct bg__replay_shadow *shadowing);

#endif
