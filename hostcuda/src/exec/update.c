/* Changes of executable graphs: one node's parameters, disabled nodes, a whole graph. */
#include "hostcuda/src/exec/exec.h"

/* ---- one node ------------------------------------------------------------------------------------------------ */

/* Finds the node by its id, since the graph may have lost nodes after instantiation. */
static cudaError_t find_place(cudaGraphExec_t exec, cudaGraphNode_t node, size_t *place)
{
    if (!hc_handle_is(HC_EXEC, exec) || !hc_handle_is(HC_NODE, node))
        return cudaErrorInvalidValue;
    const struct CUgraph_st *shape = exec->shape;
    size_t guess = node->index;
    if (guess < shape->count && shape->nodes[guess]->id == node->id) {
        *place = exec->places[guess];
        return cudaSuccess;
    }
    for (size_t i = 0; i < shape->count; i++) {
        if (shape->nodes[i]->id == node->id) {
            *place = exec->places[i];
            return cudaSuccess;
        }
    }
    return cudaErrorInvalidValue;
}

/* Returns the op at that place, even if it is disabled. */
static struct hc_op **op_at(cudaGraphExec_t exec, size_t place)
{
    return exec->disabled[place] ? &exec->disabled[place] : &exec->program->ops[place];
}

/* The requested direction and the location of the memory must be the same. */
static bool same_copy(const struct hc_copy *old, const struct hc_copy *fresh)
{
    bool flat = old->height == 1 && fresh->height == 1 && old->depth <= 1 && fresh->depth <= 1;
    if (!flat && (old->width != fresh->width || old->height != fresh->height || old->depth != fresh->depth))
        return false;
    const struct hc_block *blocks[2][2] = {{hc_block_find(old->to), hc_block_find(old->from)},
                                           {hc_block_find(fresh->to), hc_block_find(fresh->from)}};
    for (int side = 0; side < 2; side++) {
        bool on_device[2];
        for (int i = 0; i < 2; i++)
            on_device[i] = blocks[i][side] && blocks[i][side]->kind == HC_MEMORY_DEVICE;
        if (on_device[0] != on_device[1])
            return false;
    }
    return true;
}

static bool same_fill(const struct cudaMemsetParams *old, const struct cudaMemsetParams *fresh)
{
    if (old->height == 1 && fresh->height == 1)
        return true;
    return old->width == fresh->width && old->height == fresh->height && old->pitch == fresh->pitch &&
           old->elementSize == fresh->elementSize;
}

/* Whether CUDA allows `fresh` to take the place of `old` in an executable graph. */
static bool is_compatible(const struct hc_op *old, const struct hc_op *fresh)
{
    if (old->kind != fresh->kind)
        return false;
    switch (old->kind) {
    case HC_OP_COPY: return same_copy(&old->copy, &fresh->copy);
    case HC_OP_FILL: return same_fill(&old->fill, &fresh->fill);
    case HC_OP_ALLOC:
    case HC_OP_FREE: return old->block == fresh->block;
    default: return true;
    }
}

/* Takes over the op's reference, also on failure. */
static cudaError_t replace_op(cudaGraphExec_t exec, size_t place, struct hc_op *op)
{
    if (!hc_exec_unshare_program(exec)) {
        hc_op_release(op);
        return cudaErrorMemoryAllocation;
    }
    struct hc_op **slot = op_at(exec, place);
    hc_op_release(*slot);
    *slot = op;
    return cudaSuccess;
}

/* New parameters of one node must name the copy's direction by the same enum value (measured). Updates with a whole
 * graph do not seem to require it. */
static bool same_copy_kind(const struct hc_op *old, const struct hc_op *fresh)
{
    return old->kind != HC_OP_COPY || fresh->kind != HC_OP_COPY || old->copy.kind == fresh->copy.kind;
}

cudaError_t hc_exec_set_node(cudaGraphExec_t exec, cudaGraphNode_t node, struct hc_op *op)
{
    size_t place = 0;
    cudaError_t error = find_place(exec, node, &place);
    if (!error && (!same_copy_kind(*op_at(exec, place), op) || !is_compatible(*op_at(exec, place), op)))
        error = cudaErrorInvalidValue;
    if (!error)
        return replace_op(exec, place, op);
    hc_op_release(op);
    return error;
}

/* ---- enabling and disabling nodes ----------------------------------------------------------------------------- */

static cudaError_t find_switchable(cudaGraphExec_t exec, cudaGraphNode_t node, size_t *place)
{
    cudaError_t error = find_place(exec, node, place);
    if (error)
        return error;
    enum hc_op_kind kind = (*op_at(exec, *place))->kind;
    return kind == HC_OP_KERNEL || kind == HC_OP_COPY || kind == HC_OP_FILL ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t hc_exec_enable_node(cudaGraphExec_t exec, cudaGraphNode_t node, bool on)
{
    size_t place = 0;
    cudaError_t error = find_switchable(exec, node, &place);
    if (error || on == !exec->disabled[place])
        return error;
    struct hc_op *empty = on ? NULL : hc_op_make_empty();
    if (!hc_exec_unshare_program(exec) || (!on && !empty)) {
        hc_op_release(empty);
        return cudaErrorMemoryAllocation;
    }
    if (on) {
        hc_op_release(exec->program->ops[place]);
        exec->program->ops[place] = exec->disabled[place];
        exec->disabled[place] = NULL;
    } else {
        exec->disabled[place] = exec->program->ops[place];
        exec->program->ops[place] = empty;
    }
    return cudaSuccess;
}

cudaError_t hc_exec_node_is_enabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *on)
{
    size_t place = 0;
    cudaError_t error = find_switchable(exec, node, &place);
    if (!error)
        *on = !exec->disabled[place];
    return error;
}

/* ---- a whole graph ------------------------------------------------------------------------------------------- */

typedef cudaGraphExecUpdateResultInfo update_info;

static bool set_update_result(update_info *info, enum cudaGraphExecUpdateResult result, cudaGraphNode_t node)
{
    *info = (update_info){.result = result, .errorNode = node};
    return false;
}

static cudaGraphNode_t node_with_handle(cudaGraph_t graph, size_t index)
{
    return index < graph->count ? graph->nodes[index] : NULL; /* nodes of children have no handle for the program */
}

/* Nodes are paired in order of creation. */
static bool same_edges(const struct CUgraphNode_st *old, const struct CUgraphNode_st *fresh)
{
    if (old->before.count != fresh->before.count)
        return false;
    for (size_t i = 0; i < old->before.count; i++)
        if (old->before.items[i]->index != fresh->before.items[i]->index)
            return false;
    return true;
}

static bool check_update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraph_t flat, update_info *info)
{
    const struct CUgraph_st *shape = exec->shape;
    if (flat->count != shape->count)
        return set_update_result(info, cudaGraphExecUpdateErrorTopologyChanged, NULL);
    for (size_t i = 0; i < flat->count; i++)
        if (!same_edges(shape->nodes[i], flat->nodes[i]))
            return set_update_result(info, cudaGraphExecUpdateErrorTopologyChanged, node_with_handle(graph, i));
    for (size_t i = 0; i < flat->count; i++) {
        const struct hc_op *old = *op_at(exec, exec->places[i]), *fresh = flat->nodes[i]->op;
        if (old->kind != fresh->kind)
            return set_update_result(info, cudaGraphExecUpdateErrorNodeTypeChanged, node_with_handle(graph, i));
        if (!is_compatible(old, fresh))
            return set_update_result(info, cudaGraphExecUpdateErrorParametersChanged, node_with_handle(graph, i));
        if (!hc_node_attributes_may_replace(shape->nodes[i]->attributes, flat->nodes[i]->attributes))
            return set_update_result(info, cudaGraphExecUpdateErrorAttributesChanged, node_with_handle(graph, i));
    }
    return true;
}

static void replace_ops(cudaGraphExec_t exec, cudaGraph_t flat, size_t from, size_t to)
{
    for (size_t i = 0; i < to; i++) {
        struct hc_op **slot = op_at(exec, exec->places[from + i]);
        hc_op_release(*slot);
        *slot = hc_op_retain(flat->nodes[i]->op);
    }
}

cudaError_t hc_exec_update(cudaGraphExec_t exec, cudaGraph_t graph, update_info *info)
{
    if (!hc_handle_is(HC_EXEC, exec) || !hc_graph_is_handle(graph) || graph->capturing)
        return cudaErrorInvalidValue;
    cudaGraph_t flat = hc_graph_flatten(graph);
    if (!flat)
        return cudaErrorMemoryAllocation;
    cudaError_t error = cudaErrorGraphExecUpdateFailure;
    if (check_update(exec, graph, flat, info)) {
        error = hc_exec_unshare_program(exec) ? cudaSuccess : cudaErrorMemoryAllocation;
        if (!error)
            replace_ops(exec, flat, 0, flat->count);
    }
    hc_graph_destroy(flat);
    return error;
}

/* Replaces the ops of the child's nodes and of its descendants' nodes, which follow them in both flat graphs. The child
 * must have the same shape. */
cudaError_t hc_exec_set_child(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child)
{
    size_t place = 0, index = 0;
    cudaError_t error = find_place(exec, node, &place);
    if (error)
        return error;
    while (exec->places[index] != place)
        index++;
    const struct CUgraphNode_st *at = exec->shape->nodes[index];
    if (at->op->kind != HC_OP_CHILD || !hc_graph_is_handle(child))
        return cudaErrorInvalidValue;
    cudaGraph_t old = hc_graph_flatten(at->op->child), fresh = hc_graph_flatten(child);
    error = old && fresh ? cudaSuccess : cudaErrorMemoryAllocation;
    if (!error && old->count != fresh->count)
        error = cudaErrorGraphExecUpdateFailure;
    for (size_t i = 0; !error && i < old->count; i++) {
        const struct hc_op *now = *op_at(exec, exec->places[at->inner + i]);
        if (!same_edges(old->nodes[i], fresh->nodes[i]) || !is_compatible(now, fresh->nodes[i]->op))
            error = cudaErrorGraphExecUpdateFailure;
    }
    if (!error)
        error = hc_exec_unshare_program(exec) ? cudaSuccess : cudaErrorMemoryAllocation;
    if (!error)
        replace_ops(exec, fresh, at->inner, fresh->count);
    if (old)
        hc_graph_destroy(old);
    if (fresh)
        hc_graph_destroy(fresh);
    return error;
}
