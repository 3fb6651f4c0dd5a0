/* BG_HANG: replays whose steps are followed, so that the one that hangs can be named. */
#ifndef BG_DEBUG_HANG_REPLAYS_H
#define BG_DEBUG_HANG_REPLAYS_H

#include "graph/inspect.h"

struct bg__hanging;

/* In place of bg__replay_steps. What cannot be followed runs as it is. */
bg_status bg__hanging_replay(bg_graph *graph, cudaStream_t stream);
/* NULL does nothing. */
void bg__hanging_end(struct bg__hanging *hanging);

#endif
