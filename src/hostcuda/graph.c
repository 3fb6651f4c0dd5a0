#include "hostcuda/graph.h"

#include "hostcuda/copy.h"

#include <stdlib.h>

static uint64_t node_ids;

cudaGraph_t hc_graph_make(void)
{
    struct CUgraph_st *graph = calloc(1, sizeof *graph);
    if (graph && !hc_handle_add(HC_GRAPH, graph)) {
        free(graph);
        return NULL;
    }
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
    free(graph->nodes);
    free(graph);
}

void hc_graph_publish(cudaGraph_t graph)
{
    graph->capturing = false;
}

static bool reserve(cudaGraph_t graph)
{
    if (graph->count < graph->capacity)
        return true;
    size_t wanted = graph->capacity ? graph->capacity * 2 : 16;
    cudaGraphNode_t *nodes = realloc(graph->nodes, wanted * sizeof(*nodes));
    if (!nodes)
        return false;
    graph->nodes = nodes;
    graph->capacity = wanted;
    return true;
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

static bool is_graph(cudaGraph_t graph)
{
    return hc_handle_is(HC_GRAPH, graph);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    cudaError_t error = hc_begin_quiet();
    if (!error && (!is_graph(graph) || graph->capturing))
        error = cudaErrorInvalidValue;
    if (!error)
        hc_graph_destroy(graph);
    return hc_end(error);
}

static cudaError_t check_dependencies(cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count)
{
    if (!is_graph(graph) || (count && !nodes))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++) {
        if (!hc_handle_is(HC_NODE, nodes[i]) || nodes[i]->graph != graph)
            return cudaErrorInvalidValue;
        for (size_t k = 0; k < i; k++)
            if (nodes[k] == nodes[i])
                return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

static cudaError_t copy_graph(cudaGraph_t from, cudaGraph_t to)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct hc_nodes none = {0};
        cudaGraphNode_t node = hc_graph_add(to, &none, hc_op_retain(from->nodes[i]->op));
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
    return cudaSuccess;
}

static cudaError_t clone(cudaGraph_t *copy, cudaGraph_t graph)
{
    if (!copy || !is_graph(graph))
        return cudaErrorInvalidValue;
    if (graph->has_memory)
        return cudaErrorNotSupported;
    cudaGraph_t made = hc_graph_make();
    if (!made)
        return cudaErrorMemoryAllocation;
    cudaError_t error = copy_graph(graph, made);
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
    if (!error && (!pNode || !hc_handle_is(HC_NODE, originalNode) || !is_graph(clonedGraph)))
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

/* ---- adding nodes -------------------------------------------------------------------------------------------- */

/* Takes over the op's reference, whatever it returns. NULL: there was no memory for it. */
static cudaError_t add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                            struct hc_op *op)
{
    if (!op)
        return cudaErrorMemoryAllocation;
    struct hc_nodes before = {0};
    for (size_t i = 0; i < count; i++) {
        if (!hc_nodes_add(&before, dependencies[i])) {
            hc_nodes_free(&before);
            hc_op_release(op);
            return cudaErrorMemoryAllocation;
        }
    }
    *node = hc_graph_add(graph, &before, op);
    hc_nodes_free(&before);
    return *node ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t check_add(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                             size_t count, bool has_params)
{
    return node && has_params ? check_dependencies(graph, dependencies, count) : cudaErrorInvalidValue;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
                                   size_t numDependencies, const struct cudaKernelNodeParams *pNodeParams)
{
    struct hc_op *op = NULL;
    cudaError_t error = hc_begin();
    if (!error)
        error = check_add(pGraphNode, graph, pDependencies, numDependencies, pNodeParams);
    if (!error)
        error = hc_op_from_kernel_params(pNodeParams, &op);
    if (!error)
        error = add_node(pGraphNode, graph, pDependencies, numDependencies, op);
    return hc_end(error);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dst,
                                     const void *src, size_t count, enum cudaMemcpyKind kind)
{
    const struct hc_copy copy = {dst, src, count, count, count, 1, kind};
    cudaError_t error = hc_begin();
    if (!error)
        error = check_add(pGraphNode, graph, pDependencies, numDependencies, count != 0);
    if (!error)
        error = hc_copy_check(&copy);
    if (!error)
        error = add_node(pGraphNode, graph, pDependencies, numDependencies, hc_op_copy(&copy, false));
    return hc_end(error);
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
                                   size_t numDependencies, const struct cudaMemsetParams *pMemsetParams)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = check_add(pGraphNode, graph, pDependencies, numDependencies, pMemsetParams);
    if (!error)
        error = hc_fill_check(pMemsetParams);
    if (!error)
        error = add_node(pGraphNode, graph, pDependencies, numDependencies, hc_op_fill(pMemsetParams));
    return hc_end(error);
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
                                 size_t numDependencies, const struct cudaHostNodeParams *pNodeParams)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = check_add(pGraphNode, graph, pDependencies, numDependencies, pNodeParams && pNodeParams->fn);
    if (!error)
        error = add_node(pGraphNode, graph, pDependencies, numDependencies,
                         hc_op_host(pNodeParams->fn, pNodeParams->userData));
    return hc_end(error);
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
                                  size_t numDependencies)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = check_add(pGraphNode, graph, pDependencies, numDependencies, true);
    if (!error)
        error = add_node(pGraphNode, graph, pDependencies, numDependencies, hc_op_empty());
    return hc_end(error);
}

static cudaError_t add_edge(cudaGraphNode_t from, cudaGraphNode_t to)
{
    if (from == to || hc_nodes_has(&to->before, from))
        return cudaErrorInvalidValue;
    return hc_nodes_add(&to->before, from) ? cudaSuccess : cudaErrorMemoryAllocation;
}

static bool plain_edge(const cudaGraphEdgeData *data)
{
    return !data || (!data->from_port && !data->to_port && !data->type);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     const cudaGraphEdgeData *edgeData, size_t numDependencies)
{
    cudaError_t error = hc_begin();
    if (!error && (!is_graph(graph) || (numDependencies && (!from || !to))))
        error = cudaErrorInvalidValue;
    for (size_t i = 0; !error && i < numDependencies; i++) {
        error = check_dependencies(graph, &from[i], 1);
        if (!error)
            error = check_dependencies(graph, &to[i], 1);
        if (!error && !plain_edge(edgeData ? &edgeData[i] : NULL))
            error = cudaErrorNotSupported;
        if (!error)
            error = add_edge(from[i], to[i]);
    }
    return hc_end(error);
}
