/* Memory that a graph allocates and leaves to its next launch to free. */
#ifndef BG_ATTACH_KEPT_MEMORY_H
#define BG_ATTACH_KEPT_MEMORY_H

#include <cuda.h>

#include "graph/inspect.h"

/* exec was instantiated from the graph that graph wraps. frees_itself: each launch frees what the launch before has
 * allocated. */
void bg__kept_memory_watch(CUgraphExec exec, const bg_graph *graph, bool frees_itself);
/* exec is about to be launched. */
void bg__kept_memory_launched(CUgraphExec exec);
void bg__kept_memory_destroyed(CUgraphExec exec);
/* The program has freed the memory at address. */
void bg__kept_memory_freed(uintptr_t address);

#endif
