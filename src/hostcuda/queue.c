#include "hostcuda/queue.h"

#include "hostcuda/exec.h"
#include "hostcuda/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t sequences;
static bool busy; /* some thread runs an item: one at a time, so that runs are repeatable */

/* ---- tokens -------------------------------------------------------------------------------------------------- */

struct hc_token *hc_token_make(void)
{
    struct hc_token *token = calloc(1, sizeof *token);
    if (token)
        token->references = 1;
    return token;
}

struct hc_token *hc_token_retain(struct hc_token *token)
{
    token->references++;
    return token;
}

void hc_token_release(struct hc_token *token)
{
    if (token && !--token->references)
        free(token);
}

static void reach(struct hc_token *token)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now); /* on failure: the epoch, and no time has passed */
    token->milliseconds = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    token->done = true;
}

/* ---- queueing ------------------------------------------------------------------------------------------------ */

static void release_contents(const struct hc_item *item)
{
    for (size_t i = 0; item->event_tokens && i < hc_program_size(item->program); i++)
        hc_token_release(item->event_tokens[i]);
    free(item->event_tokens);
    hc_op_release(item->op);
    hc_token_release(item->token);
    hc_token_release(item->after);
    hc_program_release(item->program);
}

void hc_item_free(struct hc_item *item)
{
    release_contents(item);
    free(item);
}

static cudaError_t append(cudaStream_t stream, struct hc_item contents)
{
    struct hc_item *item = malloc(sizeof *item);
    if (!item) {
        release_contents(&contents);
        return cudaErrorMemoryAllocation;
    }
    *item = contents;
    item->next = NULL;
    item->sequence = ++sequences;
    if (stream->tail)
        stream->tail->next = item;
    else
        stream->head = item;
    stream->tail = item;
    return cudaSuccess;
}

cudaError_t hc_queue_op(cudaStream_t stream, struct hc_op *op)
{
    return append(stream, (struct hc_item){.kind = HC_ITEM_OP, .op = op});
}

cudaError_t hc_queue_token(cudaStream_t stream, enum hc_item_kind kind, struct hc_token *token)
{
    return append(stream, (struct hc_item){.kind = kind, .token = token});
}

cudaError_t hc_queue_graph(cudaStream_t stream, struct hc_program *program, struct hc_token *after,
                           struct hc_token *token, struct hc_token **event_tokens)
{
    return append(
        stream,
        (struct hc_item){
            .kind = HC_ITEM_GRAPH, .program = program, .after = after, .token = token, .event_tokens = event_tokens});
}

/* ---- choosing ------------------------------------------------------------------------------------------------ */

static bool graph_blocked(const struct hc_item *item)
{
    if (item->after && !item->after->done)
        return true;
    if (!item->event_tokens || item->cursor == hc_program_size(item->program))
        return false;
    const struct hc_op *op = hc_program_op(item->program, item->cursor);
    const struct hc_token *token = item->event_tokens[item->cursor];
    return op->kind == HC_OP_WAIT && token && !token->done;
}

/* The legacy stream waits for what was issued before on the device's blocking streams, and they for it. */
static bool blocked_by_legacy_rule(const struct CUstream_st *stream)
{
    if (stream->flags & cudaStreamNonBlocking)
        return false;
    for (const struct CUstream_st *other = hc_streams; other; other = other->next) {
        if (other == stream || !other->head || other->device != stream->device || other->flags & cudaStreamNonBlocking)
            continue;
        bool one_is_legacy = other->kind == HC_STREAM_LEGACY || stream->kind == HC_STREAM_LEGACY;
        if (one_is_legacy && other->head->sequence < stream->head->sequence)
            return true;
    }
    return false;
}

static bool runnable(const struct CUstream_st *stream)
{
    const struct hc_item *item = stream->head;
    if (!item || (item->kind == HC_ITEM_WAIT && !item->token->done))
        return false;
    if (item->kind == HC_ITEM_GRAPH && graph_blocked(item))
        return false;
    return !blocked_by_legacy_rule(stream);
}

/* The next stream whose first item runs: the oldest item. A seeded order is another choice among the runnable. */
static cudaStream_t pick(void)
{
    cudaStream_t best = NULL;
    for (cudaStream_t stream = hc_streams; stream; stream = stream->next)
        if (runnable(stream) && (!best || stream->head->sequence < best->head->sequence))
            best = stream;
    return best;
}

/* ---- running ------------------------------------------------------------------------------------------------- */

static void run_op(struct hc_device *device, const struct hc_op *op)
{
    if (!device->sticky) {
        hc_unlock();
        cudaError_t error = hc_op_run(op);
        hc_lock();
        if (error && !device->sticky)
            device->sticky = error;
    }
    hc_op_finish(op);
}

/* One op of a graph, in an order that its edges allow. True: the graph is done. */
static bool step_graph(struct hc_device *device, struct hc_item *item)
{
    size_t size = hc_program_size(item->program);
    if (item->cursor < size) {
        const struct hc_op *op = hc_program_op(item->program, item->cursor);
        run_op(device, op);
        if (op->kind == HC_OP_RECORD)
            reach(item->event_tokens[item->cursor]);
        item->cursor++;
    }
    return item->cursor >= size;
}

static bool step_item(struct hc_device *device, struct hc_item *item)
{
    switch (item->kind) {
    case HC_ITEM_OP: run_op(device, item->op); return true;
    case HC_ITEM_RECORD: reach(item->token); return true;
    case HC_ITEM_WAIT: return true;
    case HC_ITEM_GRAPH:
        if (!step_graph(device, item))
            return false;
        reach(item->token);
        return true;
    }
    return true;
}

static void run_one(cudaStream_t stream)
{
    struct hc_item *item = stream->head;
    busy = true;
    hc_stream_retain(stream);
    if (step_item(hc_device(stream->device), item)) {
        stream->head = item->next;
        if (!stream->head)
            stream->tail = NULL;
        hc_item_free(item);
    }
    hc_stream_release(stream);
    busy = false;
    hc_wake();
}

void hc_run_step(void)
{
    cudaStream_t stream = busy ? NULL : pick();
    if (stream)
        run_one(stream);
}

static bool stream_reached(const struct CUstream_st *stream, uint64_t limit)
{
    return !stream->head || stream->head->sequence > limit;
}

static bool device_reached(int device, uint64_t limit)
{
    for (const struct CUstream_st *stream = hc_streams; stream; stream = stream->next)
        if (stream->device == device && !stream_reached(stream, limit))
            return false;
    return true;
}

/* False: nothing can run any more, which a program cannot bring about. */
static bool advance(void)
{
    if (busy) {
        hc_sleep();
        return true;
    }
    cudaStream_t stream = pick();
    if (!stream) {
        fprintf(stderr, "hostcuda: internal error: queued work waits for ever\n");
        return false;
    }
    run_one(stream);
    return true;
}

cudaError_t hc_run_stream(cudaStream_t stream)
{
    uint64_t limit = sequences;
    int device = stream->device;
    hc_stream_retain(stream); /* another thread may destroy it meanwhile */
    while (!stream_reached(stream, limit))
        if (!advance())
            return cudaErrorUnknown;
    hc_stream_release(stream);
    return hc_device(device)->sticky;
}

cudaError_t hc_run_token(struct hc_token *token, int device)
{
    hc_token_retain(token);
    while (!token->done)
        if (!advance())
            return cudaErrorUnknown;
    hc_token_release(token);
    return hc_device(device)->sticky;
}

cudaError_t hc_run_device(int device)
{
    uint64_t limit = sequences;
    while (!device_reached(device, limit))
        if (!advance())
            return cudaErrorUnknown;
    return hc_device(device)->sticky;
}
