/* Follows the values of a call: from its outputs to the calls that read them, and on to the outputs of these. */
#ifndef BG_DEBUG_REACH_H
#define BG_DEBUG_REACH_H

#include "graph/inspect.h"
#include "debug/memory/spans.h"

/* Adds the memory that depends on the outputs of the call `from` after a pass of the graph, by the tensors of the
 * calls. eager: the arguments of the same call in the eager pass, which may have written elsewhere; NULL: not known.
 * Copies outside op calls, and memory that ops access by other pointers, are not followed. Errors: OUT_OF_MEMORY. */
bg_status bg__reach_add(bg__spans *reached, const bg_graph *graph, const bg__call *from, const void *eager);

#endif
