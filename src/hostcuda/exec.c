#include "hostcuda/exec.h"

#include "hostcuda/capture.h"
#include "hostcuda/copy.h"
#include "hostcuda/event.h"
#include "hostcuda/graph.h"
#include "hostcuda/order.h"
#include "hostcuda/queue.h"
#include "hostcuda/schedule.h"
#include "hostcuda/stream.h"

#include <stdlib.h>
#include <string.h>

struct hc_program {
    unsigned references;
    size_t count;
    struct hc_order *order;
    struct hc_op *ops[];
};

struct CUgraphExec_st {
    struct hc_program *program;
    unsigned long long flags;
    bool has_events, has_memory;
    struct hc_token *last_launch; /* one runs after the other */
    uint64_t *node_ids;           /* by the node's index in its graph, as are the places: where its op is */
    size_t *places;
};

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

void hc_program_release(struct hc_program *program)
{
    if (!program || --program->references)
        return;
    for (size_t i = 0; i < program->count; i++)
        hc_op_release(program->ops[i]);
    hc_order_release(program->order);
    free(program);
}

/* A program that nobody else holds. */
static bool own_program(cudaGraphExec_t exec)
{
    if (exec->program->references == 1)
        return true;
    struct hc_program *copy = make_program(exec->program->count);
    if (!copy)
        return false;
    copy->order = hc_order_retain(exec->program->order);
    for (size_t i = 0; i < copy->count; i++)
        copy->ops[i] = hc_op_retain(exec->program->ops[i]);
    hc_program_release(exec->program);
    exec->program = copy;
    return true;
}

/* ---- instantiate --------------------------------------------------------------------------------------------- */

static void free_exec(cudaGraphExec_t exec)
{
    if (!exec)
        return;
    hc_program_release(exec->program);
    hc_token_release(exec->last_launch);
    free(exec->node_ids);
    free(exec->places);
    free(exec);
}

static cudaError_t fill_exec(cudaGraphExec_t exec, cudaGraph_t graph)
{
    size_t count = graph->count;
    size_t *order = calloc(count + 1, sizeof *order);
    exec->program = make_program(count);
    exec->node_ids = calloc(count + 1, sizeof *exec->node_ids);
    exec->places = calloc(count + 1, sizeof *exec->places);
    cudaError_t error = cudaErrorMemoryAllocation;
    if (order && exec->program && exec->node_ids && exec->places)
        error = hc_graph_sort(graph, order);
    if (!error && hc_schedule_seeded() && !(exec->program->order = hc_order_make(graph, order)))
        error = cudaErrorMemoryAllocation;
    for (size_t i = 0; !error && i < count; i++) {
        cudaGraphNode_t node = graph->nodes[order[i]];
        exec->program->ops[i] = hc_op_retain(node->op);
        exec->places[node->index] = i;
        exec->node_ids[node->index] = node->id;
        exec->has_events |= node->op->kind == HC_OP_RECORD || node->op->kind == HC_OP_WAIT;
    }
    free(order);
    return error;
}

static cudaError_t instantiate(cudaGraphExec_t *result, cudaGraph_t graph, unsigned long long flags)
{
    const unsigned long long allowed = cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload |
                                       cudaGraphInstantiateFlagUseNodePriority;
    if (!result || flags & ~allowed)
        return cudaErrorInvalidValue;
    cudaError_t error = hc_capture_unsafe_call();
    if (error)
        return error;
    if (!hc_handle_is(HC_GRAPH, graph) || graph->capturing)
        return cudaErrorInvalidValue;
    if (graph->has_memory && graph->instantiated)
        return cudaErrorNotSupported;
    struct CUgraphExec_st *exec = calloc(1, sizeof *exec);
    if (!exec)
        return cudaErrorMemoryAllocation;
    exec->flags = flags;
    exec->has_memory = graph->has_memory;
    error = fill_exec(exec, graph);
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

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
    cudaError_t error = hc_begin();
    if (!error)
        error = instantiate(pGraphExec, graph, flags);
    return hc_end(error);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
    return cudaGraphInstantiateWithFlags(pGraphExec, graph, flags);
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

/* Nothing to upload: only the checks of a launch. */
cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    cudaStream_t found = NULL;
    cudaError_t error = hc_begin();
    if (!error && !hc_handle_is(HC_EXEC, graphExec))
        error = cudaErrorInvalidValue;
    if (!error)
        error = hc_stream_for_work(stream, &found);
    if (!error && found->capture) {
        hc_capture_invalidate(found->capture);
        error = cudaErrorStreamCaptureUnsupported;
    }
    return hc_end(error);
}

/* ---- update -------------------------------------------------------------------------------------------------- */

static cudaError_t find_place(cudaGraphExec_t exec, cudaGraphNode_t node, enum hc_op_kind kind, size_t *place)
{
    if (!hc_handle_is(HC_EXEC, exec) || !hc_handle_is(HC_NODE, node))
        return cudaErrorInvalidValue;
    if (node->index >= exec->program->count || exec->node_ids[node->index] != node->id)
        return cudaErrorInvalidValue;
    *place = exec->places[node->index];
    return exec->program->ops[*place]->kind == kind ? cudaSuccess : cudaErrorInvalidValue;
}

/* Takes over the op's reference, whatever it returns. */
static cudaError_t replace(cudaGraphExec_t exec, size_t place, struct hc_op *op)
{
    if (!op)
        return cudaErrorMemoryAllocation;
    if (!own_program(exec)) {
        hc_op_release(op);
        return cudaErrorMemoryAllocation;
    }
    hc_op_release(exec->program->ops[place]);
    exec->program->ops[place] = op;
    return cudaSuccess;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *pNodeParams)
{
    size_t place = 0;
    struct hc_op *op = NULL;
    cudaError_t error = hc_begin();
    if (!error)
        error = pNodeParams ? find_place(hGraphExec, node, HC_OP_KERNEL, &place) : cudaErrorInvalidValue;
    if (!error)
        error = hc_op_from_kernel_params(pNodeParams, &op);
    if (!error)
        error = replace(hGraphExec, place, op);
    return hc_end(error);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst,
                                               const void *src, size_t count, enum cudaMemcpyKind kind)
{
    const struct hc_copy copy = {dst, src, count, count, count, 1, kind};
    size_t place = 0;
    cudaError_t error = hc_begin();
    if (!error)
        error = count ? find_place(hGraphExec, node, HC_OP_COPY, &place) : cudaErrorInvalidValue;
    if (!error)
        error = hc_copy_check(&copy);
    if (!error && hGraphExec->program->ops[place]->copy.height != 1)
        error = cudaErrorInvalidValue; /* the node is not one-dimensional */
    if (!error)
        error = replace(hGraphExec, place, hc_op_copy(&copy, false));
    return hc_end(error);
}
