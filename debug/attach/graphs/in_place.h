/* What tools launch in place of the program's launches. */
#ifndef BG_ATTACH_IN_PLACE_H
#define BG_ATTACH_IN_PLACE_H

#include "attached.h"

/* A launch by the launcher: on the device of the stream, and behind the launches of a before it. true: the graph has
 * been launched, and the program gets *result; false: it is launched as it is. */
bool bg__launch_in_place(const bg__launcher *launcher, bg__attached *a, cudaStream_t stream, CUresult *result);
/* Where a graph cannot be launched in place: as it is, behind the launches of a that were. */
bool bg__launch_behind(const bg__launcher *launcher, bg__attached *a, cudaStream_t stream, CUresult *result);
void bg__in_place_free(bg__attached *a);

#endif
