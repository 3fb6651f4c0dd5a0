/* Memory that a graph's own nodes allocate and free: a node that uses it must come behind the one and before the other.
 */
#ifndef BG_ATTACH_NODE_LIVES_H
#define BG_ATTACH_NODE_LIVES_H

#include <breakgraph/report.h>

#include "graph/inspect.h"

/* Adds a finding "race" for each node that uses such memory and that no edges of source, of which graph has the calls,
 * put behind its allocation, or before its free. Only pointers that are a whole parameter, and ends of copies and
 * memsets, count as uses; allocations that share an address, or adjoin, are left alone. */
void bg__node_lives_check(const bg_graph *graph, cudaGraph_t source, bg_report *report);

#endif
