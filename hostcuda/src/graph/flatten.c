/* Flattens a graph's children: executable graphs are made from the result. */
#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/graph/graph_object.h"

static bool add_children(cudaGraph_t flat, size_t first, size_t count);

static bool add_node_copy(cudaGraph_t flat, const struct CUgraphNode_st *from)
{
    const struct hc_nodes none = {0};
    cudaGraphNode_t node = hc_graph_create_node(flat, &none, hc_op_retain(from->op));
    if (!node)
        return false;
    node->id = from->id;
    return hc_node_attributes_copy(from->attributes, &node->attributes);
}

/* In the flat graph, the child's roots depend on what the child's node in the parent depends on. */
static bool connect_child_roots(cudaGraph_t flat, cudaGraphNode_t place, cudaGraph_t child)
{
    for (size_t i = 0; i < child->count; i++) {
        const struct hc_nodes *before = &child->nodes[i]->before;
        struct hc_nodes *to = &flat->nodes[place->inner + i]->before;
        if (!before->count && !hc_nodes_assign(to, &place->before))
            return false;
        for (size_t k = 0; k < before->count; k++)
            if (!hc_nodes_add(to, flat->nodes[place->inner + before->items[k]->index]))
                return false;
    }
    return true;
}

/* The child's node stays as an empty op, which depends on all leaves of the child. */
static bool add_child(cudaGraph_t flat, cudaGraphNode_t place)
{
    cudaGraph_t child = place->op->child;
    place->inner = flat->count;
    for (size_t i = 0; i < child->count; i++) {
        if (!add_node_copy(flat, child->nodes[i]))
            return false;
    }
    if (!connect_child_roots(flat, place, child))
        return false;
    for (size_t i = 0; i < child->count; i++)
        if (!hc_nodes_add(&place->before, flat->nodes[place->inner + i]))
            return false;
    return add_children(flat, place->inner, child->count);
}

static bool add_children(cudaGraph_t flat, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++)
        if (flat->nodes[i]->op->kind == HC_OP_CHILD && !add_child(flat, flat->nodes[i]))
            return false;
    return true;
}

static bool add_nodes(cudaGraph_t flat, cudaGraph_t graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        if (!add_node_copy(flat, graph->nodes[i]))
            return false;
    }
    for (size_t i = 0; i < graph->count; i++) {
        const struct hc_nodes *before = &graph->nodes[i]->before;
        for (size_t k = 0; k < before->count; k++)
            if (!hc_nodes_add(&flat->nodes[i]->before, flat->nodes[before->items[k]->index]))
                return false;
    }
    return true;
}

cudaGraph_t hc_graph_flatten(cudaGraph_t graph)
{
    cudaGraph_t flat = hc_graph_make();
    if (!flat)
        return NULL;
    if (!add_nodes(flat, graph) || !add_children(flat, 0, graph->count)) {
        hc_graph_destroy(flat);
        return NULL;
    }
    hc_handle_remove(flat); /* the program never sees this handle */
    return flat;
}
