#include "step_nodes.h"

#include "layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bg_status add_node(bg__step_list *list, const bg__layout *l, size_t place, const bg__step_node *child)
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
static bg_status add_in_order(bg__step_list *list, bg__layout *l, const bg__step_node *child)
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
    bg__layout l = {0};
    bg_status status;

    BG__TRY(bg__layout_read(&l, graph));
    BG__TRY(add_in_order(list, &l, child));
done:
    bg__layout_free(&l);
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
