/* Memory that a graph allocates and leaves to its next launch to free. */
#ifndef BG_ATTACH_UNFREED_MEMORY_H
#define BG_ATTACH_UNFREED_MEMORY_H

#include <cuda.h>

#include "graph/inspect.h"

/* exec was instantiated from the graph that graph wraps. frees_itself: each launch frees what the launch before has
 * allocated. */
void bg__unfreed_memory_add_graph(CUgraphExec exec, const bg_graph *graph, bool frees_itself);
/* exec is about to be launched. */
void bg__unfreed_memory_record_launch(CUgraphExec exec);
void bg__unfreed_memory_record_destroy(CUgraphExec exec);
/* The program has freed the memory at address. */
void bg__unfreed_memory_record_free(uintptr_t address);

#endif
