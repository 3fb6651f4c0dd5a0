#include "hostcuda/src/graph/graph_nodes.h"

#include "hostcuda/src/core/core_grow.h"

#include <stdlib.h>

static bool reserve_nodes(struct hc_nodes *set, size_t count)
{
    return hc_array_reserve(&set->items, &set->capacity, count, sizeof(*set->items));
}

bool hc_nodes_has(const struct hc_nodes *set, cudaGraphNode_t node)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i] == node)
            return true;
    return false;
}

bool hc_nodes_add(struct hc_nodes *set, cudaGraphNode_t node)
{
    if (hc_nodes_has(set, node))
        return true;
    if (!reserve_nodes(set, set->count + 1))
        return false;
    set->items[set->count++] = node;
    return true;
}

bool hc_nodes_add_all(struct hc_nodes *set, const struct hc_nodes *other)
{
    if (!reserve_nodes(set, set->count + other->count))
        return false;
    for (size_t i = 0; i < other->count; i++)
        hc_nodes_add(set, other->items[i]);
    return true;
}

bool hc_nodes_assign(struct hc_nodes *set, const struct hc_nodes *other)
{
    if (!reserve_nodes(set, other->count))
        return false;
    set->count = 0;
    return hc_nodes_add_all(set, other);
}

bool hc_nodes_remove(struct hc_nodes *set, cudaGraphNode_t node)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->items[i] != node)
            continue;
        set->count--;
        for (; i < set->count; i++)
            set->items[i] = set->items[i + 1];
        return true;
    }
    return false;
}

void hc_nodes_clear(struct hc_nodes *set)
{
    set->count = 0;
}

void hc_nodes_free(struct hc_nodes *set)
{
    free(set->items);
    *set = (struct hc_nodes){0};
}
