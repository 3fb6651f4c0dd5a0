/* Memory that a graph's own nodes allocate and free: a node that uses it must be ordered between the two. */
#ifndef BG_ATTACH_ALLOCATION_LIFETIMES_H
#define BG_ATTACH_ALLOCATION_LIFETIMES_H

#include <breakgraph/report.h>

#include "graph/inspect.h"

/* Adds a finding "race" for each node that uses such memory and that no edges of source order behind its allocation, or
 * before its free. graph has the calls of source. Only whole parameters, and the ends of copies and memsets, count as
 * uses; allocations that overlap or adjoin are not checked. */
void bg__allocation_lifetimes_check(const bg_graph *graph, cudaGraph_t source, bg_report *report);

#endif
