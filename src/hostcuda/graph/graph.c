#include "hostcuda/graph/graph.h"

#include "hostcuda/core/grow.h"

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

static void free_node(cudaGraphNode_t node)
{
    hc_handle_remove(node);
    hc_op_release(node->op);
    hc_nodes_free(&node->before);
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
}

static bool reserve(cudaGraph_t graph)
{
    return hc_grow(&graph->nodes, &graph->capacity, graph->count + 1, sizeof(*graph->nodes));
}

cudaGraphNode_t hc_graph_add(cudaGraph_t graph, const struct hc_nodes *before, struct hc_op *op)
{
    struct CUgraphNode_st *node = reserve(graph) ? calloc(1, sizeof *node) : NULL;
    if (!node || !hc_nodes_assign(&node->before, before) || !hc_handle_add(HC_NODE, node)) {
        if (node)
            hc_nodes_free(&node->before);
        free(node);
        hc_op_release(op);
        return NULL;
    }
    node->graph = graph;
    node->index = graph->count;
    node->id = node->original_id = ++node_ids;
    node->op = op;
    graph->nodes[graph->count++] = node;
    graph->has_memory |= op->kind == HC_OP_ALLOC || op->kind == HC_OP_FREE;
    return node;
}

void hc_graph_remove(cudaGraphNode_t node)
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

/* Sweeps until nothing changes: where edges point to later nodes, as in every capture, one sweep is enough. */
void hc_graph_mark_ancestors(cudaGraph_t graph, const struct hc_nodes *nodes)
{
    bool again = true;
    for (size_t i = 0; i < graph->count; i++)
        graph->nodes[i]->marked = false;
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

static bool ready(const struct CUgraphNode_st *node)
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
            if (!ready(graph->nodes[i]))
                continue;
            graph->nodes[i]->marked = true;
            order[sorted++] = i;
        }
        if (sorted == before)
            return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

bool hc_graph_has_cycle(cudaGraph_t graph)
{
    size_t *order = calloc(graph->count + 1, sizeof *order);
    bool cycle = order && hc_graph_sort(graph, order) == cudaErrorInvalidValue;
    free(order);
    return cycle;
}

/* ---- making -------------------------------------------------------------------------------------------------- */

cudaError_t cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
    cudaError_t error = hc_begin();
    if (!error && (!pGraph || flags))
        error = cudaErrorInvalidValue;
    if (!error && !(*pGraph = hc_graph_make()))
        error = cudaErrorMemoryAllocation;
    return hc_end(error);
}

bool hc_graph_is(cudaGraph_t graph)
{
    return hc_handle_is(HC_GRAPH, graph);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    cudaError_t error = hc_begin_quiet();
    if (!error && (!hc_graph_is(graph) || graph->capturing || graph->owned))
        error = cudaErrorInvalidValue;
    if (!error)
        hc_graph_destroy(graph);
    return hc_end(error);
}

/* The op, or where it holds a graph of its own, one with a copy of that. NULL: no memory. */
static struct hc_op *copy_op(struct hc_op *op)
{
    if (op->kind != HC_OP_CHILD)
        return hc_op_retain(op);
    cudaGraph_t child = hc_graph_make();
    struct hc_op *made = child && !hc_graph_copy(op->child, child) ? hc_op_child(child) : NULL;
    if (child && !made)
        hc_graph_destroy(child);
    return made;
}

cudaError_t hc_graph_copy(cudaGraph_t from, cudaGraph_t to)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct hc_nodes none = {0};
        struct hc_op *op = copy_op(from->nodes[i]->op);
        cudaGraphNode_t node = op ? hc_graph_add(to, &none, op) : NULL;
        if (!node)
            return cudaErrorMemoryAllocation;
        node->original_id = from->nodes[i]->id;
    }
    for (size_t i = 0; i < from->count; i++) {
        const struct hc_nodes *before = &from->nodes[i]->before;
        for (size_t k = 0; k < before->count; k++)
            if (!hc_nodes_add(&to->nodes[i]->before, to->nodes[before->items[k]->index]))
                return cudaErrorMemoryAllocation;
    }
    return hc_objects_copy(&from->objects, &to->objects);
}

static cudaError_t clone(cudaGraph_t *copy, cudaGraph_t graph)
{
    if (!copy || !hc_graph_is(graph))
        return cudaErrorInvalidValue;
    if (graph->has_memory)
        return cudaErrorNotSupported;
    cudaGraph_t made = hc_graph_make();
    if (!made)
        return cudaErrorMemoryAllocation;
    cudaError_t error = hc_graph_copy(graph, made);
    if (error)
        hc_graph_destroy(made);
    else
        *copy = made;
    return error;
}

cudaError_t cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = clone(pGraphClone, originalGraph);
    return hc_end(error);
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode, cudaGraph_t clonedGraph)
{
    cudaError_t error = hc_begin();
    if (!error && (!pNode || !hc_handle_is(HC_NODE, originalNode) || !hc_graph_is(clonedGraph)))
        error = cudaErrorInvalidValue;
    if (error)
        return hc_end(error);
    for (size_t i = 0; i < clonedGraph->count; i++) {
        if (clonedGraph->nodes[i]->original_id == originalNode->id) {
            *pNode = clonedGraph->nodes[i];
            return hc_end(cudaSuccess);
        }
    }
    return hc_end(cudaErrorInvalidValue);
}
