/* Memory that graphs allocate, and leave it to their next launch to free. */
#ifndef BG_ATTACH_KEPT_MEMORY_H
#define BG_ATTACH_KEPT_MEMORY_H

#include <cuda.h>

#include "graph/inspect.h"

/* exec was instantiated from what graph wraps. frees_itself: its launches free what the one before has allocated. */
void bg__kept_memory_watch(CUgraphExec exec, const bg_graph *graph, bool frees_itself);
/* It is about to be launched, or destroyed. */
void bg__kept_memory_launched(CUgraphExec exec);
void bg__kept_memory_destroyed(CUgraphExec exec);
/* The program has freed what is at address. */
void bg__kept_memory_freed(uintptr_t address);

#endif
