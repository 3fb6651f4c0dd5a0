#include "hostcuda/src/exec/exec.h"

#include "hostcuda/src/stream/event.h"
#include "hostcuda/src/stream/queue.h"

#include <stdlib.h>

static bool is_memory_op(const struct hc_op *op)
{
    return op->kind == HC_OP_ALLOC || op->kind == HC_OP_FREE;
}

/* The memory of an allocation node is in use from the launch until the memory is freed. A second launch may use it
 * again only if the executable graph has the flag AutoFreeOnLaunch. */
static cudaError_t check_allocations(cudaGraphExec_t exec)
{
    const struct hc_program *program = exec->program;
    bool automatic = exec->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch;
    for (size_t i = 0; i < program->count; i++)
        if (is_memory_op(program->ops[i]))
            program->ops[i]->block->walked = program->ops[i]->block->live;
    for (size_t i = 0; i < program->count; i++) {
        const struct hc_op *op = program->ops[i];
        if (!is_memory_op(op))
            continue;
        bool allocate = op->kind == HC_OP_ALLOC;
        if (allocate ? op->block->walked && !automatic : !op->block->walked)
            return cudaErrorInvalidValue;
        op->block->walked = allocate;
    }
    return cudaSuccess;
}

/* Each live block has a reference that belongs to the program. A free node drops that reference when it runs. */
static void issue_allocations(cudaGraphExec_t exec)
{
    for (size_t i = 0; i < exec->program->count; i++) {
        const struct hc_op *op = exec->program->ops[i];
        if (op->kind == HC_OP_ALLOC && !op->block->live) {
            if (!op->block->pool)
                hc_block_add_to_pool(op->block, hc_pool_of_graphs(op->block->device));
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

/* Makes one token for each event node. A record node reaches its token, and a wait node waits for its token. Returns
 * NULL if there is no memory. */
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

/* From now on, the events refer to this launch's records. */
static void set_event_tokens(const struct hc_program *program, struct hc_token **tokens)
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
    hc_token_retain(token); /* the executable graph's reference */
    cudaError_t error = hc_queue_graph(stream, program, before ? hc_token_retain(before) : NULL, token, event_tokens);
    if (error) {
        hc_token_release(token);
        return error;
    }
    set_event_tokens(program, event_tokens);
    hc_token_release(before);
    exec->last_launch = token;
    return cudaSuccess;
}

cudaError_t hc_exec_launch(cudaGraphExec_t exec, cudaStream_t stream)
{
    cudaError_t error = exec->has_memory ? check_allocations(exec) : cudaSuccess;
    if (!error)
        error = queue_launch(exec, stream);
    if (!error && exec->has_memory)
        issue_allocations(exec);
    return error;
}
