#include "step_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- order ---- */

/* A graph's nodes in the order of their making, and which waits for which. */
typedef struct layout {
    cudaGraphNode_t *nodes, *from, *to;
    cudaGraphEdgeData *data;
    size_t count, edges;
    struct handle {
        cudaGraphNode_t node;
        size_t place;
    } * handles;                /* by address */
    size_t *edge_to;            /* places; those that one node leads to lie together, from first_edge[node] on */
    size_t *first_edge, *waits; /* waits: for how many others */
    bool *ready;
} layout;

static void free_layout(layout *l)
{
    free(l->nodes);
    free(l->from);
    free(l->to);
    free(l->data);
    free(l->handles);
    free(l->edge_to);
    free(l->first_edge);
    free(l->waits);
    free(l->ready);
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct handle *)a)->node, y = (uintptr_t)((const struct handle *)b)->node;
    return (x > y) - (x < y);
}

static size_t place_of(const layout *l, cudaGraphNode_t node)
{
    struct handle wanted = {node, 0};
    const struct handle *found = bsearch(&wanted, l->handles, l->count, sizeof wanted, by_address);
    return found != NULL ? found->place : 0; /* an edge's ends are nodes of the graph */
}

static bg_status make_room(layout *l)
{
    l->nodes = calloc(l->count + 1, sizeof *l->nodes);
    l->handles = calloc(l->count + 1, sizeof *l->handles);
    l->first_edge = calloc(l->count + 2, sizeof *l->first_edge);
    l->waits = calloc(l->count + 1, sizeof *l->waits);
    l->ready = calloc(l->count + 1, sizeof *l->ready);
    l->from = calloc(l->edges + 1, sizeof(cudaGraphNode_t));
    l->to = calloc(l->edges + 1, sizeof(cudaGraphNode_t));
    l->data = calloc(l->edges + 1, sizeof *l->data);
    l->edge_to = calloc(l->edges + 1, sizeof *l->edge_to);
    if (l->nodes != NULL && l->handles != NULL && l->first_edge != NULL && l->waits != NULL && l->ready != NULL &&
        l->from != NULL && l->to != NULL && l->data != NULL && l->edge_to != NULL)
        return BG_OK;
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for %zu nodes", l->count);
}

/* The edges by the node that they leave. */
static void sort_edges(layout *l)
{
    for (size_t i = 0; i < l->edges; i++)
        l->first_edge[place_of(l, l->from[i]) + 2]++;
    for (size_t i = 2; i < l->count + 2; i++)
        l->first_edge[i] += l->first_edge[i - 1];
    for (size_t i = 0; i < l->edges; i++) {
        size_t to = place_of(l, l->to[i]);
        l->edge_to[l->first_edge[place_of(l, l->from[i]) + 1]++] = to;
        l->waits[to]++;
    }
}

static bg_status read_layout(layout *l, cudaGraph_t graph)
{
    size_t count = 0, edges = 0;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaGraphGetNodes(graph, NULL, &count));
    BG__TRY_CUDA(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    l->count = count;
    l->edges = edges;
    BG__TRY(make_room(l));
    if (count > 0)
        BG__TRY_CUDA(cudaGraphGetNodes(graph, l->nodes, &count));
    if (edges > 0)
        BG__TRY_CUDA(cudaGraphGetEdges(graph, l->from, l->to, l->data, &edges));
    for (size_t i = 0; i < l->count; i++)
        l->handles[i] = (struct handle){l->nodes[i], i};
    qsort(l->handles, l->count, sizeof *l->handles, by_address);
    sort_edges(l);
done:
    return status;
}

/* ---- the list ---- */

static bg_status add_graph(bg__step_list *list, cudaGraph_t graph, const bg__step_node *child);

static bg_status add_one(bg__step_list *list, const bg__step_node *node)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity > 0 ? 2 * list->capacity : 64;
        bg__step_node *larger = realloc(list->nodes, capacity * sizeof *larger);
        if (larger == NULL)
            return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for %zu nodes", capacity);
        list->nodes = larger;
        list->capacity = capacity;
    }
    list->nodes[list->count++] = *node;
    return BG_OK;
}

/* What such a node needs of the graph that it was made in. */
static const char *tie_of(enum cudaGraphNodeType type)
{
    switch (type) {
    case cudaGraphNodeTypeKernel:
    case cudaGraphNodeTypeMemcpy:
    case cudaGraphNodeTypeMemset:
    case cudaGraphNodeTypeHost:
    case cudaGraphNodeTypeGraph:
    case cudaGraphNodeTypeEmpty:
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord: return NULL;
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree: return "memory nodes, whose addresses belong to their graph";
    case cudaGraphNodeTypeConditional: return "conditional nodes, whose handles belong to their graph";
    default: return "nodes of a type that cannot be copied";
    }
}

static bg_status add_node(bg__step_list *list, const layout *l, size_t place, const bg__step_node *child)
{
    bg__step_node node = {.node = l->nodes[place], .outer = child != NULL ? child->outer : (long)place};
    cudaGraph_t inner;
    const char *tie;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaGraphNodeGetType(node.node, &node.type));
    if (child != NULL)
        snprintf(node.place, sizeof node.place, "%.20s.%zu", child->place, place);
    else
        snprintf(node.place, sizeof node.place, "%zu", place);
    tie = tie_of(node.type);
    if (tie != NULL)
        list->whole = tie;
    if (node.type != cudaGraphNodeTypeGraph)
        return add_one(list, &node);
    BG__TRY_CUDA(cudaGraphChildGraphNodeGetGraph(node.node, &inner));
    BG__TRY(add_graph(list, inner, &node));
done:
    return status;
}

/* Of those that wait for none, always the one that was made first. */
static bg_status add_in_order(bg__step_list *list, layout *l, const bg__step_node *child)
{
    bg_status status = BG_OK;

    for (size_t i = 0; i < l->count; i++)
        l->ready[i] = l->waits[i] == 0;
    for (size_t i = 0, next; i < l->count; i = next) {
        next = i + 1;
        if (!l->ready[i])
            continue;
        l->ready[i] = false;
        BG__TRY(add_node(list, l, i, child));
        for (size_t e = l->first_edge[i]; e < l->first_edge[i + 1]; e++) {
            size_t to = l->edge_to[e];
            l->ready[to] = --l->waits[to] == 0;
            if (l->ready[to] && to < next)
                next = to;
        }
    }
done:
    return status;
}

static bg_status add_graph(bg__step_list *list, cudaGraph_t graph, const bg__step_node *child)
{
    layout l = {0};
    bg_status status;

    BG__TRY(read_layout(&l, graph));
    BG__TRY(add_in_order(list, &l, child));
done:
    free_layout(&l);
    return status;
}

bg_status bg__step_list_create(bg__step_list *list, cudaGraph_t graph)
{
    *list = (bg__step_list){0};
    return add_graph(list, graph, NULL);
}

void bg__step_list_free(bg__step_list *list)
{
    free(list->nodes);
    *list = (bg__step_list){0};
}

const char *bg__step_type_name(enum cudaGraphNodeType type)
{
    switch (type) {
    case cudaGraphNodeTypeKernel: return "kernel";
    case cudaGraphNodeTypeMemcpy: return "copy";
    case cudaGraphNodeTypeMemset: return "fill";
    case cudaGraphNodeTypeHost: return "host function";
    case cudaGraphNodeTypeGraph: return "child graph";
    case cudaGraphNodeTypeEmpty: return "empty node";
    case cudaGraphNodeTypeWaitEvent: return "event wait";
    case cudaGraphNodeTypeEventRecord: return "event record";
    case cudaGraphNodeTypeMemAlloc: return "allocation";
    case cudaGraphNodeTypeMemFree: return "free";
    case cudaGraphNodeTypeConditional: return "conditional node";
    default: return "node";
    }
}
