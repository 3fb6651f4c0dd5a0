#include "hostcuda/src/graph/graph_copy.h"

static void destroy_child(const struct hc_op *op)
{
    hc_graph_destroy(op->child);
}

struct hc_op *hc_op_make_child(cudaGraph_t child)
{
    struct hc_op *op = hc_op_make(HC_OP_CHILD, 0);
    if (op) {
        op->child = child;
        op->release_references = destroy_child;
        child->owned = true;
    }
    return op;
}

/* Retains the op, or copies it if it has a child graph. Returns NULL if there is no memory. */
static struct hc_op *copy_op(struct hc_op *op)
{
    if (op->kind != HC_OP_CHILD)
        return hc_op_retain(op);
    cudaGraph_t child = hc_graph_make();
    struct hc_op *made = child && !hc_graph_copy(op->child, child) ? hc_op_make_child(child) : NULL;
    if (child && !made)
        hc_graph_destroy(child);
    return made;
}

cudaError_t hc_graph_copy(cudaGraph_t from, cudaGraph_t to)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct hc_nodes none = {0};
        struct hc_op *op = copy_op(from->nodes[i]->op);
        cudaGraphNode_t node = op ? hc_graph_create_node(to, &none, op) : NULL;
        if (!node)
            return cudaErrorMemoryAllocation;
        node->cloned_from_id = from->nodes[i]->id;
        if (!hc_node_attributes_copy(from->nodes[i]->attributes, &node->attributes))
            return cudaErrorMemoryAllocation;
    }
    for (size_t i = 0; i < from->count; i++) {
        const struct hc_nodes *before = &from->nodes[i]->before;
        for (size_t k = 0; k < before->count; k++)
            if (!hc_nodes_add(&to->nodes[i]->before, to->nodes[before->items[k]->index]))
                return cudaErrorMemoryAllocation;
    }
    return hc_objects_copy(&from->objects, &to->objects);
}

/* The node gets a copy of the child. */
cudaError_t hc_op_from_child(cudaGraph_t child, struct hc_op **op)
{
    if (!hc_graph_is_handle(child) || child->capturing)
        return cudaErrorInvalidValue;
    if (child->has_memory)
        return cudaErrorNotSupported;
    cudaGraph_t copy = hc_graph_make();
    if (!copy)
        return cudaErrorMemoryAllocation;
    cudaError_t error = hc_graph_copy(child, copy);
    if (!error)
        error = (*op = hc_op_make_child(copy)) ? cudaSuccess : cudaErrorMemoryAllocation;
    if (error)
        hc_graph_destroy(copy);
    return error;
}
