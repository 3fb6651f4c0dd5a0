/* Queries of a graph. Arrays follow CUDA's rule: with NULL, only the count is returned; the rest of an array that is
 * too large is filled with NULL. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/graph/graph_object.h"

#include <string.h>

static bool is_graph(cudaGraph_t graph)
{
    return hc_handle_is(HC_GRAPH, graph);
}

static bool is_node(cudaGraphNode_t node)
{
    return hc_handle_is(HC_NODE, node);
}

/* Collects nodes in the caller's array. */
struct list {
    cudaGraphNode_t *nodes; /* NULL: only counts */
    size_t room, found;
};

static void collect_node(struct list *list, cudaGraphNode_t node)
{
    if (list->nodes && list->found < list->room)
        list->nodes[list->found] = node;
    list->found++;
}

static struct list begin_collecting(cudaGraphNode_t *nodes, const size_t *count)
{
    return (struct list){nodes, nodes ? *count : 0, 0};
}

static void end_collecting(const struct list *list, size_t *count)
{
    for (size_t i = list->found; i < list->room; i++)
        list->nodes[i] = NULL;
    *count = list->nodes && list->found > list->room ? list->room : list->found;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
    HC_THROUGH_DRIVER(cuGraphGetNodes, graph, nodes, numNodes);
    cudaError_t error = hc_call_begin();
    if (!error && (!is_graph(graph) || !numNodes))
        error = cudaErrorInvalidValue;
    if (error)
        return hc_call_end(error);
    if (nodes && !*numNodes)
        return hc_call_end(cudaErrorInvalidValue); /* measured; the other queries accept it */
    struct list list = begin_collecting(nodes, numNodes);
    for (size_t i = 0; i < graph->count; i++)
        collect_node(&list, graph->nodes[i]);
    end_collecting(&list, numNodes);
    return hc_call_end(cudaSuccess);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes, size_t *pNumRootNodes)
{
    HC_THROUGH_DRIVER(cuGraphGetRootNodes, graph, pRootNodes, pNumRootNodes);
    cudaError_t error = hc_call_begin();
    if (!error && (!is_graph(graph) || !pNumRootNodes))
        error = cudaErrorInvalidValue;
    if (error)
        return hc_call_end(error);
    struct list list = begin_collecting(pRootNodes, pNumRootNodes);
    for (size_t i = 0; i < graph->count; i++)
        if (!graph->nodes[i]->before.count)
            collect_node(&list, graph->nodes[i]);
    end_collecting(&list, pNumRootNodes);
    return hc_call_end(cudaSuccess);
}

static void clear_edge_data(cudaGraphEdgeData *data, size_t count)
{
    if (data && count)
        memset(data, 0, count * sizeof *data);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                              cudaGraphEdgeData *edgeData, size_t *numEdges)
{
    HC_THROUGH_DRIVER(cuGraphGetEdges, graph, from, to, HC_SAME_AS(CUgraphEdgeData *, edgeData), numEdges);
    cudaError_t error = hc_call_begin();
    if (!error && (!is_graph(graph) || !numEdges || !from != !to))
        error = cudaErrorInvalidValue;
    if (error)
        return hc_call_end(error);
    struct list heads = begin_collecting(from, numEdges), tails = begin_collecting(to, numEdges);
    for (size_t i = 0; i < graph->count; i++) {
        const struct hc_nodes *before = &graph->nodes[i]->before;
        for (size_t k = 0; k < before->count; k++) {
            collect_node(&heads, before->items[k]);
            collect_node(&tails, graph->nodes[i]);
        }
    }
    end_collecting(&heads, numEdges);
    end_collecting(&tails, numEdges);
    clear_edge_data(edgeData, from ? *numEdges : 0);
    return hc_call_end(cudaSuccess);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
                                         cudaGraphEdgeData *edgeData, size_t *pNumDependencies)
{
    HC_THROUGH_DRIVER(cuGraphNodeGetDependencies, node, pDependencies, HC_SAME_AS(CUgraphEdgeData *, edgeData),
                      pNumDependencies);
    cudaError_t error = hc_call_begin();
    if (!error && (!is_node(node) || !pNumDependencies))
        error = cudaErrorInvalidValue;
    if (error)
        return hc_call_end(error);
    struct list list = begin_collecting(pDependencies, pNumDependencies);
    for (size_t i = 0; i < node->before.count; i++)
        collect_node(&list, node->before.items[i]);
    end_collecting(&list, pNumDependencies);
    clear_edge_data(edgeData, pDependencies ? *pNumDependencies : 0);
    return hc_call_end(cudaSuccess);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
                                           cudaGraphEdgeData *edgeData, size_t *pNumDependentNodes)
{
    HC_THROUGH_DRIVER(cuGraphNodeGetDependentNodes, node, pDependentNodes, HC_SAME_AS(CUgraphEdgeData *, edgeData),
                      pNumDependentNodes);
    cudaError_t error = hc_call_begin();
    if (!error && (!is_node(node) || !pNumDependentNodes))
        error = cudaErrorInvalidValue;
    if (error)
        return hc_call_end(error);
    struct list list = begin_collecting(pDependentNodes, pNumDependentNodes);
    for (size_t i = 0; i < node->graph->count; i++)
        if (hc_nodes_has(&node->graph->nodes[i]->before, node))
            collect_node(&list, node->graph->nodes[i]);
    end_collecting(&list, pNumDependentNodes);
    clear_edge_data(edgeData, pDependentNodes ? *pNumDependentNodes : 0);
    return hc_call_end(cudaSuccess);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType)
{
    HC_THROUGH_DRIVER(cuGraphNodeGetType, node, HC_SAME_AS(CUgraphNodeType *, pType));
    cudaError_t error = hc_call_begin();
    if (!error && (!is_node(node) || !pType))
        error = cudaErrorInvalidValue;
    if (!error)
        *pType = hc_node_type(node->op->kind);
    return hc_call_end(error);
}
