/* The order that a graph's edges require: for each place in a program, the places that must run before it. */
#ifndef HOSTCUDA_ORDER_H
#define HOSTCUDA_ORDER_H

#include "hostcuda/src/core/core_state.h"

struct hc_order {
    unsigned references;
    size_t *starts; /* the places in [starts[i], starts[i + 1]) run before place i */
    size_t *places;
};

/* Makes the order of a graph. `sequence` lists the indices of the graph's nodes in topological order. Returns NULL if
 * there is no memory. */
struct hc_order *hc_order_make(cudaGraph_t graph, const size_t *sequence);
struct hc_order *hc_order_retain(struct hc_order *order);
void hc_order_release(struct hc_order *order);
/* Whether all places before this one have run. */
bool hc_order_allows(const struct hc_order *order, size_t place, const bool *ran);

#endif
