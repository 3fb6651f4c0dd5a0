#include "hostcuda/src/graph/graph_order.h"

#include "hostcuda/src/graph/graph_object.h"

#include <stdlib.h>

static size_t count_edges(const struct CUgraph_st *graph)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->count; i++)
        count += graph->nodes[i]->before.count;
    return count;
}

static void fill_order(struct hc_order *order, const struct CUgraph_st *graph, const size_t *sequence, size_t *place_of)
{
    size_t edges = 0;
    for (size_t i = 0; i < graph->count; i++)
        place_of[sequence[i]] = i;
    for (size_t i = 0; i < graph->count; i++) {
        const struct hc_nodes *before = &graph->nodes[sequence[i]]->before;
        order->starts[i] = edges;
        for (size_t j = 0; j < before->count; j++)
            order->places[edges++] = place_of[before->items[j]->index];
    }
    order->starts[graph->count] = edges;
}

struct hc_order *hc_order_make(cudaGraph_t graph, const size_t *sequence)
{
    struct hc_order *order = calloc(1, sizeof *order);
    size_t *place_of = calloc(graph->count + 1, sizeof *place_of);
    if (order) {
        order->references = 1;
        order->starts = calloc(graph->count + 1, sizeof *order->starts);
        order->places = calloc(count_edges(graph) + 1, sizeof *order->places);
    }
    if (order && place_of && order->starts && order->places) {
        fill_order(order, graph, sequence, place_of);
    } else {
        hc_order_release(order);
        order = NULL;
    }
    free(place_of);
    return order;
}

struct hc_order *hc_order_retain(struct hc_order *order)
{
    if (order)
        order->references++;
    return order;
}

void hc_order_release(struct hc_order *order)
{
    if (!order || --order->references)
        return;
    free(order->starts);
    free(order->places);
    free(order);
}

bool hc_order_allows(const struct hc_order *order, size_t place, const bool *ran)
{
    for (size_t i = order->starts[place]; i < order->starts[place + 1]; i++)
        if (!ran[order->places[i]])
            return false;
    return true;
}
