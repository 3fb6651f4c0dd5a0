/* What a graph's edges ask of its order: for each place in a program, the places that must have run before. */
#ifndef HOSTCUDA_ORDER_H
#define HOSTCUDA_ORDER_H

#include "hostcuda/src/core/core_state.h"

struct hc_order {
    unsigned references;
    size_t *starts; /* places[starts[i]] to places[starts[i + 1]] run before place i */
    size_t *places;
};

/* Of the graph's nodes in this sorted sequence of indices. NULL: no memory. */
struct hc_order *hc_order_make(cudaGraph_t graph, const size_t *sequence);
struct hc_order *hc_order_retain(struct hc_order *order);
void hc_order_release(struct hc_order *order);
/* Everything before this place has run. */
bool hc_order_allows(const struct hc_order *order, size_t place, const bool *ran);

#endif
