#include "hostcuda/graph/exec.h"

#include "hostcuda/stream/capture.h"
#include "hostcuda/memory/copy.h"
#include "hostcuda/stream/event.h"
#include "hostcuda/graph/graph.h"
#include "hostcuda/graph/order.h"
#include "hostcuda/stream/queue.h"
#include "hostcuda/core/schedule.h"
#include "hostcuda/stream/stream.h"

#include <stdlib.h>
#include <string.h>

/* ---- programs ------------------------------------------------------------------------------------------------ */

size_t hc_program_size(const struct hc_program *program)
{
    return program->count;
}

const struct hc_op *hc_program_op(const struct hc_program *program, size_t index)
{
    return program->ops[index];
}

const struct hc_order *hc_program_order(const struct hc_program *program)
{
    return program->order;
}

static struct hc_program *make_program(size_t count)
{
    struct hc_program *program = calloc(1, sizeof *program + count * sizeof(struct hc_op *));
    if (program) {
        program->references = 1;
        program->count = count;
    }
    return program;
}

void hc_exec_put(cudaGraphExec_t exec, size_t place, struct hc_op *op)
{
    hc_op_release(exec->program->ops[place]);
    exec->program->ops[place] = op;
}

void hc_program_release(struct hc_program *program)
{
    if (!program || --program->references)
        return;
    for (size_t i = 0; i < program->count; i++)
        hc_op_release(program->ops[i]);
    hc_order_release(program->order);
    hc_objects_release(&program->objects);
    free(program);
}

bool hc_exec_own_program(cudaGraphExec_t exec)
{
    if (exec->program->references == 1)
        return true;
    struct hc_program *copy = make_program(exec->program->count);
    if (!copy)
        return false;
    copy->order = hc_order_retain(exec->program->order);
    for (size_t i = 0; i < copy->count; i++)
        copy->ops[i] = hc_op_retain(exec->program->ops[i]);
    if (hc_objects_copy(&exec->program->objects, &copy->objects)) {
        hc_program_release(copy);
        return false;
    }
    hc_program_release(exec->program);
    exec->program = copy;
    return true;
}

/* ---- instantiate --------------------------------------------------------------------------------------------- */

/* The graph may be instantiated again, if it is still there. */
static void release_graph(const struct CUgraphExec_st *exec)
{
    if (hc_handle_is(HC_GRAPH, exec->graph) && exec->graph->id == exec->graph_id)
        exec->graph->instantiated = false;
}

static void free_exec(cudaGraphExec_t exec)
{
    if (!exec)
        return;
    for (size_t i = 0; exec->disabled && i < exec->program->count; i++)
        hc_op_release(exec->disabled[i]);
    free(exec->disabled);
    hc_program_release(exec->program);
    hc_token_release(exec->last_launch);
    if (exec->shape)
        hc_graph_destroy(exec->shape);
    free(exec->places);
    free(exec);
}

/* A fill of memory that was not there when it was captured is looked at here (measured). */
static cudaError_t check_fills(const struct CUgraph_st *graph)
{
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; !error && i < graph->count; i++)
        if (graph->nodes[i]->op->unchecked)
            error = hc_fill_check(&graph->nodes[i]->op->fill);
    return error;
}

static cudaError_t fill_exec(cudaGraphExec_t exec, cudaGraph_t graph)
{
    size_t count = graph->count;
    size_t *order = calloc(count + 1, sizeof *order);
    exec->program = make_program(count);
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

/* Nothing to upload: only the checks of a launch. */
static cudaError_t check_upload(cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    cudaError_t error = hc_stream_for_work(handle, &stream);
    if (error || !stream->capture)
        return error;
    hc_capture_invalidate(stream->capture);
    return cudaErrorStreamCaptureUnsupported;
}

static cudaError_t make_exec(cudaGraphExec_t *result, cudaGraph_t graph, unsigned long long flags)
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
        error = fill_exec(exec, exec->shape);
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

static cudaError_t instantiate(cudaGraphExec_t *result, cudaGraph_t graph, unsigned long long flags, bool may_upload)
{
    const unsigned long long allowed = cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                       cudaGraphInstantiateFlagUseNodePriority |
                                       (may_upload ? (unsigned long long)cudaGraphInstantiateFlagUpload : 0);
    if (!result || flags & ~allowed)
        return cudaErrorInvalidValue;
    cudaError_t error = hc_capture_unsafe_call();
    if (error)
        return error;
    if (!hc_graph_is(graph) || graph->capturing)
        return cudaErrorInvalidValue;
    if (graph->has_memory && graph->instantiated)
        return cudaErrorNotSupported;
    return make_exec(result, graph, flags);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = instantiate(pGraphExec, graph, flags, false);
    return hc_end(error);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = instantiate(pGraphExec, graph, flags, false);
    return hc_end(error);
}

/* The upload has nothing to do but its stream's checks. */
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams *instantiateParams)
{
    cudaError_t error = hc_begin();
    if (error || !instantiateParams)
        return hc_end(error ? error : cudaErrorInvalidValue);
    instantiateParams->errNode_out = NULL;
    error = instantiate(pGraphExec, graph, instantiateParams->flags, true);
    if (!error && instantiateParams->flags & cudaGraphInstantiateFlagUpload)
        error = check_upload(instantiateParams->uploadStream);
    instantiateParams->result_out = error ? cudaGraphInstantiateError : cudaGraphInstantiateSuccess;
    if (error == cudaErrorInvalidValue && hc_graph_is(graph) && hc_graph_has_cycle(graph))
        instantiateParams->result_out = cudaGraphInstantiateInvalidStructure;
    return hc_end(error);
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags)
{
    cudaError_t error = hc_begin();
    if (!error && (!hc_handle_is(HC_EXEC, graphExec) || !flags))
        error = cudaErrorInvalidValue;
    if (!error)
        *flags = graphExec->flags;
    return hc_end(error);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
    cudaError_t error = hc_begin_quiet();
    if (!error)
        error = hc_capture_unsafe_call();
    if (!error && !hc_handle_is(HC_EXEC, graphExec))
        error = cudaErrorInvalidValue;
    if (!error) {
        hc_handle_remove(graphExec);
        release_graph(graphExec);
        free_exec(graphExec);
    }
    return hc_end(error);
}

/* ---- launch -------------------------------------------------------------------------------------------------- */

static bool moves_memory(const struct hc_op *op)
{
    return op->kind == HC_OP_ALLOC || op->kind == HC_OP_FREE;
}

/* An allocation node's memory is in use from the launch on, until it is freed; a second launch may take it only where
 * the flag frees it. */
static cudaError_t check_memory(cudaGraphExec_t exec)
{
    const struct hc_program *program = exec->program;
    bool automatic = exec->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch;
    for (size_t i = 0; i < program->count; i++)
        if (moves_memory(program->ops[i]))
            program->ops[i]->block->walked = program->ops[i]->block->live;
    for (size_t i = 0; i < program->count; i++) {
        const struct hc_op *op = program->ops[i];
        if (!moves_memory(op))
            continue;
        bool allocate = op->kind == HC_OP_ALLOC;
        if (allocate ? op->block->walked && !automatic : !op->block->walked)
            return cudaErrorInvalidValue;
        op->block->walked = allocate;
    }
    return cudaSuccess;
}

/* The program's own reference comes and goes with `live`; a free drops it when it runs. */
static void issue_memory(cudaGraphExec_t exec)
{
    for (size_t i = 0; i < exec->program->count; i++) {
        const struct hc_op *op = exec->program->ops[i];
        if (op->kind == HC_OP_ALLOC && !op->block->live) {
            op->block->live = true;
            hc_block_retain(op->block);
        }
        if (op->kind == HC_OP_FREE)
            op->block->live = false;
    }
}

static void free_event_tokens(struct hc_token **tokens, size_t count)
{
    for (size_t i = 0; tokens && i < count; i++)
        hc_token_release(tokens[i]);
    free(tokens);
}

/* One token for each event node: what a record will reach, what a wait waits for. NULL: no memory. */
static struct hc_token **make_event_tokens(const struct hc_program *program)
{
    struct hc_token **tokens = calloc(program->count + 1, sizeof(*tokens));
    for (size_t i = 0; tokens && i < program->count; i++) {
        const struct hc_op *op = program->ops[i];
        if (op->kind == HC_OP_WAIT && op->event->token)
            tokens[i] = hc_token_retain(op->event->token);
        if (op->kind == HC_OP_RECORD && !(tokens[i] = hc_token_make())) {
            free_event_tokens(tokens, i);
            return NULL;
        }
    }
    return tokens;
}

/* From now on the events stand for this launch's records. */
static void issue_events(const struct hc_program *program, struct hc_token **tokens)
{
    for (size_t i = 0; tokens && i < program->count; i++)
        if (program->ops[i]->kind == HC_OP_RECORD)
            hc_event_set_token(program->ops[i]->event, hc_token_retain(tokens[i]));
}

static cudaError_t queue_launch(cudaGraphExec_t exec, cudaStream_t stream)
{
    struct hc_program *program = exec->program;
    struct hc_token *token = hc_token_make(), *before = exec->last_launch;
    struct hc_token **event_tokens = token && exec->has_events ? make_event_tokens(program) : NULL;
    if (!token || (exec->has_events && !event_tokens)) {
        hc_token_release(token);
        return cudaErrorMemoryAllocation;
    }
    program->references++;
    hc_token_retain(token); /* the executable graph's */
    cudaError_t error = hc_queue_graph(stream, program, before ? hc_token_retain(before) : NULL, token, event_tokens);
    if (error) {
        hc_token_release(token);
        return error;
    }
    issue_events(program, event_tokens);
    hc_token_release(before);
    exec->last_launch = token;
    return cudaSuccess;
}

static cudaError_t launch(cudaGraphExec_t exec, cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    if (!hc_handle_is(HC_EXEC, exec))
        return cudaErrorInvalidValue;
    cudaError_t error = hc_stream_for_work(handle, &stream);
    if (error)
        return error;
    if (stream->capture) {
        hc_capture_invalidate(stream->capture);
        return cudaErrorStreamCaptureUnsupported;
    }
    if (exec->has_memory) {
        error = check_memory(exec);
        if (error)
            return error;
    }
    error = queue_launch(exec, stream);
    if (!error && exec->has_memory)
        issue_memory(exec);
    return error;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = launch(graphExec, stream);
    return hc_end(error);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = hc_handle_is(HC_EXEC, graphExec) ? check_upload(stream) : cudaErrorInvalidValue;
    return hc_end(error);
}
