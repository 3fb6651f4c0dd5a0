#include "hostcuda/src/exec/exec.h"

#include "hostcuda/src/core/core_schedule.h"
#include "hostcuda/src/graph/graph_order.h"
#include "hostcuda/src/memory/memory_copy.h"
#include "hostcuda/src/stream/token.h"

#include <stdlib.h>

bool hc_exec_unshare_program(cudaGraphExec_t exec)
{
    if (exec->program->references == 1)
        return true;
    struct hc_program *copy = hc_program_copy(exec->program);
    if (!copy)
        return false;
    hc_program_release(exec->program);
    exec->program = copy;
    return true;
}

/* Allows the graph, if it still exists, to be instantiated again. */
static void mark_graph_uninstantiated(const struct CUgraphExec_st *exec)
{
    if (hc_handle_is(HC_GRAPH, exec->graph) && exec->graph->id == exec->graph_id)
        exec->graph->instantiated = false;
}

static void free_exec(cudaGraphExec_t exec)
{
    if (!exec)
        return;
    for (size_t i = 0; exec->disabled && exec->program && i < exec->program->count; i++)
        hc_op_release(exec->disabled[i]);
    free(exec->disabled);
    hc_program_release(exec->program);
    hc_token_release(exec->last_launch);
    if (exec->shape)
        hc_graph_destroy(exec->shape);
    free(exec->places);
    free(exec);
}

/* A captured fill of memory that did not exist at that time is checked here (measured). */
static cudaError_t check_fills(const struct CUgraph_st *graph)
{
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; !error && i < graph->count; i++)
        if (graph->nodes[i]->op->unchecked)
            error = hc_fill_check(&graph->nodes[i]->op->fill);
    return error;
}

static cudaError_t init_exec(cudaGraphExec_t exec, cudaGraph_t graph)
{
    size_t count = graph->count;
    size_t *order = calloc(count + 1, sizeof *order);
    exec->program = hc_program_make(count);
    exec->places = calloc(count + 1, sizeof *exec->places);
    exec->disabled = calloc(count + 1, sizeof(*exec->disabled));
    cudaError_t error = cudaErrorMemoryAllocation;
    if (order && exec->program && exec->places && exec->disabled)
        error = hc_graph_sort(graph, order);
    if (!error && hc_schedule_seeded() && !(exec->program->order = hc_order_make(graph, order)))
        error = cudaErrorMemoryAllocation;
    for (size_t i = 0; !error && i < count; i++) {
        cudaGraphNode_t node = graph->nodes[order[i]];
        exec->program->ops[i] = hc_op_retain(node->op);
        exec->places[node->index] = i;
        exec->has_events |= node->op->kind == HC_OP_RECORD || node->op->kind == HC_OP_WAIT;
    }
    free(order);
    return error;
}

cudaError_t hc_exec_make(cudaGraphExec_t *result, cudaGraph_t graph, unsigned long long flags)
{
    struct CUgraphExec_st *exec = calloc(1, sizeof *exec);
    if (!exec)
        return cudaErrorMemoryAllocation;
    exec->flags = flags;
    exec->has_memory = graph->has_memory;
    exec->graph = graph;
    exec->graph_id = graph->id;
    exec->shape = hc_graph_flatten(graph);
    cudaError_t error = exec->shape ? check_fills(exec->shape) : cudaErrorMemoryAllocation;
    if (!error)
        error = init_exec(exec, exec->shape);
    if (!error)
        error = hc_objects_copy(&graph->objects, &exec->program->objects);
    if (!error && !hc_handle_add(HC_EXEC, exec))
        error = cudaErrorMemoryAllocation;
    if (error) {
        free_exec(exec);
        return error;
    }
    graph->instantiated = true;
    *result = exec;
    return cudaSuccess;
}

void hc_exec_destroy(cudaGraphExec_t exec)
{
    hc_handle_remove(exec);
    mark_graph_uninstantiated(exec);
    free_exec(exec);
}
