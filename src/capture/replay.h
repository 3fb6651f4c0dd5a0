/* Replays and eager passes for the debugging tools, which run the steps of a graph themselves. */
#ifndef BG_CAPTURE_REPLAY_H
#define BG_CAPTURE_REPLAY_H

#include "graph/inspect.h"

/* The parts of a replay. The first part does the checks of bg_replay, and orders the replay after others. The graph is
 * busy until the last part, which returns `status` or a failure of its own. */
bg_status bg__replay_enter(bg_graph *graph, cudaStream_t stream);
bg_status bg__replay_step(bg_graph *graph, int step, cudaStream_t stream);
bg_status bg__replay_leave(bg_graph *graph, cudaStream_t stream, bg_status status);

/* Makes a graph whose replays run forward(user) eagerly, as under BG_DEBUG=forward: with the meaning of a capture with
 * these options. */
bg_status bg__graph_create_forward(bg_graph **graph, const char *name, bg_forward forward, void *user,
                                   const bg_capture_options *options);
/* Runs one pass of such a graph on stream. The caller orders it after other uses of its memory, and prevents other uses
 * meanwhile. watcher is called for the calls of this pass, not for those of passes inside it; NULL: none. */
bg_status bg__forward_pass(bg_graph *graph, bg_phase phase, cudaStream_t stream, const bg__op_observer *watcher);

/* Whether any capture of this library is capturing a stream now. */
bool bg__capturing_streams_any(void);

#endif
