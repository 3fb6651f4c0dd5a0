/* BG_DEBUG=step: runs every replay of a graph node by node. */
#ifndef BG_DEBUG_STEP_REPLAYS_H
#define BG_DEBUG_STEP_REPLAYS_H

#include "graph/inspect.h"

/* Reads BG_STEP_STOP, BG_STEP_DUMP, BG_STEP_GRAPHS and BG_STEP_REPLAYS. */
bg_status bg__stepping_create(bg_graph *graph);
/* Replays node by node, or normally if these variables exclude the replay. If the walk finds a fault or stops at
 * BG_STEP_STOP, the replay fails with that status. Prints findings to standard error, each finding once for a graph. */
bg_status bg__stepping_replay(bg_graph *graph, cudaStream_t stream);
/* Whether the replay that has just failed had run a part of the graph. *error: the error of the node that failed;
 * cudaSuccess: no node failed. Call it once for each failure, since it resets the result. */
bool bg__stepping_pop_partial_run(const bg_graph *graph, cudaError_t *error);
/* If the graph is stepped, calls `watcher` for its nodes from now on, and frees it with the graph. */
struct bg__node_observer;
bool bg__stepping_is_on(const bg_graph *graph);
void bg__stepping_set_observer(bg_graph *graph, const struct bg__node_observer *watcher);
struct bg__stepping;
void bg__stepping_free(struct bg__stepping *stepping);

#endif
