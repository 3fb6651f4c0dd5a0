/* BG_DEBUG=step: every replay of a graph steps. */
#ifndef BG_DEBUG_STEP_REPLAYS_H
#define BG_DEBUG_STEP_REPLAYS_H

#include "capture/inspect.h"

/* Reads BG_STEP_STOP and BG_STEP_DUMP. */
bg_status bg__stepping_begin(bg_graph *graph);
/* In place of the walk over the steps: a fault, or the stop, is the replay's failure; findings go to standard error,
 * each of a graph's once. */
bg_status bg__stepping_replay(bg_graph *graph, cudaStream_t stream);
struct bg__stepping;
void bg__stepping_end(struct bg__stepping *stepping);

#endif
