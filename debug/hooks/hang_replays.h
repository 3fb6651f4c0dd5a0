/* BG_HANG: follows the steps of replays, so that a report can name the step that hangs. */
#ifndef BG_DEBUG_HANG_REPLAYS_H
#define BG_DEBUG_HANG_REPLAYS_H

#include "graph/inspect.h"

struct bg__hang_tracker;

/* Runs in place of bg__replay_steps. Steps that cannot be followed run unchanged. */
bg_status bg__hang_tracker_replay(bg_graph *graph, cudaStream_t stream);
/* `hang_tracker` may be NULL. */
void bg__hang_tracker_free(struct bg__hang_tracker *hang_tracker);

#endif
