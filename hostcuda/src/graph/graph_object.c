#include "hostcuda/src/graph/graph_object.h"

#include "hostcuda/src/core/core_grow.h"

#include <stdlib.h>

static uint64_t node_ids, graph_ids;

cudaGraph_t hc_graph_make(void)
{
    struct CUgraph_st *graph = calloc(1, sizeof *graph);
    if (graph && !hc_handle_add(HC_GRAPH, graph)) {
        free(graph);
        return NULL;
    }
    if (graph)
        graph->id = ++graph_ids;
    return graph;
}

void hc_node_add_to_block(cudaGraphNode_t node)
{
    node->frees = node->op->kind == HC_OP_FREE;
    if (node->frees)
        node->op->block->free_node_count++;
}

static void free_node(cudaGraphNode_t node)
{
    hc_handle_remove(node);
    if (node->frees)
        node->op->block->free_node_count--;
    hc_op_release(node->op);
    hc_nodes_free(&node->before);
    free(node->attributes);
    free(node);
}

void hc_graph_destroy(cudaGraph_t graph)
{
    for (size_t i = 0; i < graph->count; i++)
        free_node(graph->nodes[i]);
    hc_handle_remove(graph);
    hc_objects_release(&graph->objects);
    free(graph->nodes);
    free(graph);
}

void hc_graph_publish(cudaGraph_t graph)
{
    graph->capturing = false;
    for (size_t i = 0; i < graph->count; i++)
        graph->nodes[i]->left = false; /* the next capture into the graph starts without marks */
}

static bool reserve_node(cudaGraph_t graph)
{
    return hc_array_reserve(&graph->nodes, &graph->capacity, graph->count + 1, sizeof(*graph->nodes));
}

cudaGraphNode_t hc_graph_create_node(cudaGraph_t graph, const struct hc_nodes *before, struct hc_op *op)
{
    struct CUgraphNode_st *node = reserve_node(graph) ? calloc(1, sizeof *node) : NULL;
    if (!node || !hc_nodes_assign(&node->before, before) || !hc_handle_add(HC_NODE, node)) {
        if (node)
            hc_nodes_free(&node->before);
        free(node);
        hc_op_release(op);
        return NULL;
    }
    node->graph = graph;
    node->index = graph->count;
    node->id = ++node_ids;
    node->op = op;
    graph->nodes[graph->count++] = node;
    graph->has_memory |= op->kind == HC_OP_ALLOC || op->kind == HC_OP_FREE;
    return node;
}

void hc_graph_destroy_node(cudaGraphNode_t node)
{
    cudaGraph_t graph = node->graph;
    for (size_t i = 0; i < graph->count; i++)
        hc_nodes_remove(&graph->nodes[i]->before, node);
    graph->count--;
    for (size_t i = node->index; i < graph->count; i++) {
        graph->nodes[i] = graph->nodes[i + 1];
        graph->nodes[i]->index = i;
    }
    free_node(node);
}

/* Repeats until nothing changes. One pass is enough if all edges point to later nodes, as in every capture. */
void hc_graph_mark_ancestors(cudaGraph_t graph, const struct hc_nodes *nodes)
{
    bool again = true;
    for (size_t i = 0; i < graph->count; i++)
        graph->nodes[i]->marked = graph->nodes[i]->left;
    for (size_t i = 0; i < nodes->count; i++)
        nodes->items[i]->marked = true;
    while (again) {
        again = false;
        for (size_t i = graph->count; i-- > 0;) {
            const struct CUgraphNode_st *node = graph->nodes[i];
            for (size_t k = 0; node->marked && k < node->before.count; k++) {
                cudaGraphNode_t before = node->before.items[k];
                again |= !before->marked && before->index > i;
                before->marked = true;
            }
        }
    }
}

bool hc_graph_all_marked(const struct hc_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (!nodes->items[i]->marked)
            return false;
    return true;
}

static bool dependencies_marked(const struct CUgraphNode_st *node)
{
    return !node->marked && hc_graph_all_marked(&node->before);
}

cudaError_t hc_graph_sort(cudaGraph_t graph, size_t *order)
{
    size_t sorted = 0, before = 1;
    for (size_t i = 0; i < graph->count; i++)
        graph->nodes[i]->marked = false;
    while (sorted < graph->count && sorted != before) {
        before = sorted;
        for (size_t i = 0; i < graph->count; i++) {
            if (!dependencies_marked(graph->nodes[i]))
                continue;
            graph->nodes[i]->marked = true;
            order[sorted++] = i;
        }
        if (sorted == before)
            return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

/* Returns a node of the cycle. Nodes behind a cycle are not sorted either, but a walk back through unsorted nodes ends
 * in the cycle. */
static cudaGraphNode_t find_node_in_cycle(const struct CUgraph_st *graph, cudaGraphNode_t node)
{
    for (size_t step = 0; step < graph->count; step++) {
        size_t k = 0;
        while (node->before.items[k]->marked)
            k++;
        node = node->before.items[k];
    }
    return node;
}

cudaGraphNode_t hc_graph_find_cycle(cudaGraph_t graph)
{
    size_t *order = calloc(graph->count + 1, sizeof *order);
    bool cycle = order && hc_graph_sort(graph, order) == cudaErrorInvalidValue;
    size_t first = 0;
    free(order);
    while (cycle && graph->nodes[first]->marked)
        first++;
    return cycle ? find_node_in_cycle(graph, graph->nodes[first]) : NULL;
}

bool hc_graph_is_handle(cudaGraph_t graph)
{
    return hc_handle_is(HC_GRAPH, graph);
}
