#include "node_list.h"

#include "debug/graph/layout.h"
#include "debug/memory/allocate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

static bg_status add_child_graph(bg__step_list *list, cudaGraph_t graph, const bg__nodes *nodes,
                                 const bg__step_node *child);

static bg_status append_node(bg__step_list *list, const bg__step_node *node)
{
    bg_status status;
    BG__TRY(BG__ARRAY_GROW(list->nodes, list->count, list->capacity, "nodes"));
    list->nodes[list->count++] = *node;
done:
    return status;
}

/* Why a node cannot run outside its graph; NULL: it can. */
static const char *find_obstacle(const bg__node *node)
{
    switch (node->type) {
    case cudaGraphNodeTypeEmpty: return NULL;
    case cudaGraphNodeTypeKernel:
    case cudaGraphNodeTypeMemcpy:
    case cudaGraphNodeTypeMemset:
    case cudaGraphNodeTypeHost:
    case cudaGraphNodeTypeGraph:
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord: return node->known ? NULL : "nodes whose parameters CUDA does not report";
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree: return "memory nodes, whose addresses belong to their graph";
    case cudaGraphNodeTypeConditional: return "conditional nodes, whose handles belong to their graph";
    default: return "nodes of a type that cannot be copied";
    }
}

/* A graph whose nodes are added. */
typedef struct list_builder {
    bg__step_list *list;
    const bg__layout *layout;
    const bg__nodes *nodes;
    const bg__step_node *child; /* the node that has this child graph; NULL: the segment's graph */
} list_builder;

static bg_status add_node_to_list(void *user, size_t place)
{
    const list_builder *a = user;
    const bg__step_node *child = a->child;
    bg__step_node node = {.outer = child != NULL ? child->outer : (long)place};
    bg__step_list *list = a->list;
    const char *tie;

    node.node = bg__nodes_find(a->nodes, a->layout->nodes[place]);
    if (node.node == NULL)
        return bg__fail(BG_ERROR_NOT_FOUND,
                        "node %zu was added to the graph while it was stepped; do not change the graph meanwhile",
                        place);
    if (child != NULL)
        snprintf(node.place, sizeof node.place, "%.20s.%zu", child->place, place);
    else
        snprintf(node.place, sizeof node.place, "%zu", place);
    tie = find_obstacle(node.node);
    if (tie != NULL)
        list->whole = tie;
    if (node.node->type == cudaGraphNodeTypeGraph && tie == NULL)
        return add_child_graph(list, node.node->of.child, a->nodes, &node);
    return append_node(list, &node);
}

static bg_status add_nodes_in_order(bg__step_list *list, bg__layout *l, cudaGraph_t graph, const bg__nodes *nodes,
                                    const bg__step_node *child)
{
    bg_status status;
    BG__TRY(bg__layout_read(l, graph));
    BG__TRY(bg__layout_visit_in_order(l, add_node_to_list, &(list_builder){list, l, nodes, child}));
done:
    return status;
}

static bg_status add_child_graph(bg__step_list *list, cudaGraph_t graph, const bg__nodes *nodes,
                                 const bg__step_node *child)
{
    bg__layout l = {0};
    bg_status status = add_nodes_in_order(list, &l, graph, nodes, child);
    bg__layout_free(&l);
    return status;
}

/* ---- another order ---- */

/* Whether an edge leads from one place to the other, or a path through unlisted places (child graphs without nodes). */
static bool has_path(const bg__layout *l, const bool *listed, size_t from, size_t to)
{
    for (size_t e = l->first_edge[from]; e < l->first_edge[from + 1]; e++)
        if (l->edge_to[e] == to || (!listed[l->edge_to[e]] && has_path(l, listed, l->edge_to[e], to)))
            return true;
    return false;
}

/* In order 1, every node comes as early as it can; in others, the hash decides. */
static bool prefers_earlier(int order, size_t i, size_t k)
{
    uint64_t hash = (uint64_t)order * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u + k * 0x94d049bb133111ebu;
    hash = (hash ^ hash >> 31) * 0xbf58476d1ce4e5b9u;
    return order == 1 || (hash >> 40 & 3) != 0;
}

/* If a path connects two neighbours of the list, only unlisted places lie on it: listed ones would be between them. */
static bg_status reorder_within_calls(bg__step_list *list, const bg__layout *l, int order)
{
    enum { FARTHEST = 512 }; /* most places that one node moves */
    bool *listed;
    bg_status status;

    BG__TRY(BG__ALLOCATE(listed, l->count, "nodes"));
    for (size_t i = 0; i < list->count; i++)
        listed[list->nodes[i].outer] = true;
    for (size_t i = 1; i < list->count; i++)
        for (size_t k = i; k > 0 && i - k < FARTHEST; k--) {
            const bg__step_node node = list->nodes[k], before = list->nodes[k - 1];
            if (node.node->call == NULL || node.node->call != before.node->call || node.outer == before.outer ||
                has_path(l, listed, (size_t)before.outer, (size_t)node.outer) || !prefers_earlier(order, i, k))
                break;
            list->nodes[k] = before;
            list->nodes[k - 1] = node;
        }
done:
    free(listed);
    return status;
}

bg_status bg__step_list_create(bg__step_list *list, cudaGraph_t graph, const bg__nodes *nodes, int order)
{
    bg__layout l = {0};
    bg_status status;

    *list = (bg__step_list){0};
    status = add_nodes_in_order(list, &l, graph, nodes, NULL);
    if (status == BG_OK && order > 0)
        status = reorder_within_calls(list, &l, order);
    bg__layout_free(&l);
    return status;
}

void bg__step_list_free(bg__step_list *list)
{
    free(list->nodes);
    *list = (bg__step_list){0};
}
