/* A set of graph nodes: the frontier of a capturing stream, the nodes of an event, or a node's dependencies. */
#ifndef HOSTCUDA_NODES_H
#define HOSTCUDA_NODES_H

#include "hostcuda/src/core/core_state.h"

struct hc_nodes {
    cudaGraphNode_t *items;
    size_t count, capacity;
};

/* These return false, and leave the set unchanged, if there is no memory. */
bool hc_nodes_add(struct hc_nodes *set, cudaGraphNode_t node); /* ignores duplicates */
bool hc_nodes_add_all(struct hc_nodes *set, const struct hc_nodes *other);
bool hc_nodes_assign(struct hc_nodes *set, const struct hc_nodes *other);
bool hc_nodes_remove(struct hc_nodes *set, cudaGraphNode_t node); /* false: not in the set */
bool hc_nodes_has(const struct hc_nodes *set, cudaGraphNode_t node);
void hc_nodes_clear(struct hc_nodes *set); /* keeps the memory */
void hc_nodes_free(struct hc_nodes *set);

#endif
