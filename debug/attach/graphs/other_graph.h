/* Nodes whose dependency is a node of another graph. */
#ifndef BG_ATTACH_OTHER_GRAPH_H
#define BG_ATTACH_OTHER_GRAPH_H

#include "debug/attach/shim/shim.h"

/* Called after each call that adds a node, with the arguments (CUgraphNode *phGraphNode, CUgraph hGraph, const
 * CUgraphNode *dependencies, ..., size_t numDependencies, ...); count is the index of numDependencies. Adds a finding
 * "other-graph" if the call failed and a dependency is not a node of hGraph. */
void bg__other_graph_check(const bg__driver_call *call, int count);

#endif
