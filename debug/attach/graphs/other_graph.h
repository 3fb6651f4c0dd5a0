/* Nodes that are added behind a node of another graph. */
#ifndef BG_ATTACH_OTHER_GRAPH_H
#define BG_ATTACH_OTHER_GRAPH_H

#include "debug/attach/shim/shim.h"

/* A call that adds a node has failed, with the arguments (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode
 * *dependencies, ..., size_t numDependencies, ...), the last at index count: adds a finding "other-graph" if a
 * dependency is no node of hGraph. */
void bg__other_graph_look(const bg__driver_call *call, int count);

#endif
