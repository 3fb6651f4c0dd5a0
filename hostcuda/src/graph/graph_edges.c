#include "hostcuda/src/graph/graph_edges.h"

cudaError_t hc_graph_check_nodes(cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count)
{
    if (!hc_graph_is_handle(graph) || (count && !nodes))
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

cudaError_t hc_graph_check_add(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                               size_t count, bool has_params)
{
    return node && has_params ? hc_graph_check_nodes(graph, dependencies, count) : cudaErrorInvalidValue;
}

/* Only edges that leave kernels have ports. */
static bool is_valid_edge_data(const cudaGraphEdgeData *data)
{
    unsigned reserved = 0;
    for (size_t i = 0; i < sizeof data->reserved; i++)
        reserved |= data->reserved[i];
    return !reserved && !data->to_port && data->from_port <= cudaGraphKernelNodePortLaunchCompletion &&
           data->type <= cudaGraphDependencyTypeProgrammatic;
}

cudaError_t hc_graph_check_edges(const cudaGraphEdgeData *data, size_t count)
{
    for (size_t i = 0; data && i < count; i++) {
        if (!is_valid_edge_data(&data[i]))
            return cudaErrorInvalidValue;
        if (data[i].from_port || data[i].type)
            return cudaErrorNotSupported;
    }
    return cudaSuccess;
}

cudaError_t hc_graph_add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                              size_t count, struct hc_op *op)
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
    *node = hc_graph_create_node(graph, &before, op);
    hc_nodes_free(&before);
    if (!*node)
        return cudaErrorMemoryAllocation;
    hc_node_add_to_block(*node);
    return cudaSuccess;
}
