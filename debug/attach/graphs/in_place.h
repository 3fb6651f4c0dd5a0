/* Launches in place of the program's launches. */
#ifndef BG_ATTACH_IN_PLACE_H
#define BG_ATTACH_IN_PLACE_H

#include "debug/attach/events/tracked_graph.h"

/* Lets the launcher launch the graph `a`, on the device of the stream, and after the earlier launches of `a`. Returns
 * true if the graph has been launched; then the program gets *result. After false the program launches the graph. */
bool bg__launch_in_place(const bg__launcher *launcher, bg__tracked_graph *a, cudaStream_t stream, CUresult *result);
/* Launches the graph itself, after earlier launches in its place: for a graph that the launcher cannot replace now.
 * Returns as bg__launch_in_place. */
bool bg__launch_in_order(const bg__launcher *launcher, bg__tracked_graph *a, cudaStream_t stream, CUresult *result);
void bg__in_place_free(bg__tracked_graph *a);

#endif
