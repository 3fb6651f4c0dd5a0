#include "hostcuda/src/stream/queue.h"

#include "hostcuda/src/stream/stream.h"

#include <stdlib.h>

static uint64_t sequences;
static size_t queued_count; /* number of queued items */

static void release_contents(const struct hc_item *item)
{
    for (size_t i = 0; item->event_tokens && i < item->program->count; i++)
        hc_token_release(item->event_tokens[i]);
    free(item->event_tokens);
    free(item->ran);
    hc_op_release(item->op);
    hc_token_release(item->token);
    hc_token_release(item->after);
    hc_program_release(item->program);
}

static cudaError_t append_item(cudaStream_t stream, struct hc_item contents)
{
    struct hc_item *item = hc_stream_reserve_busy() ? malloc(sizeof *item) : NULL;
    if (!item) {
        release_contents(&contents);
        return cudaErrorMemoryAllocation;
    }
    *item = contents;
    item->next = NULL;
    item->sequence = ++sequences;
    if (stream->tail) {
        stream->tail->next = item;
    } else {
        stream->head = item;
        hc_stream_begin_busy(stream, item->sequence);
    }
    stream->tail = item;
    queued_count++;
    return cudaSuccess;
}

cudaError_t hc_queue_op(cudaStream_t stream, struct hc_op *op)
{
    return append_item(stream, (struct hc_item){.kind = HC_ITEM_OP, .op = op});
}

cudaError_t hc_queue_token(cudaStream_t stream, enum hc_item_kind kind, struct hc_token *token)
{
    return append_item(stream, (struct hc_item){.kind = kind, .token = token});
}

cudaError_t hc_queue_graph(cudaStream_t stream, struct hc_program *program, struct hc_token *after,
                           struct hc_token *token, struct hc_token **event_tokens)
{
    struct hc_item item = {
        .kind = HC_ITEM_GRAPH, .program = program, .after = after, .token = token, .event_tokens = event_tokens};
    if (program->order && !(item.ran = calloc(program->count + 1, sizeof *item.ran))) {
        release_contents(&item);
        return cudaErrorMemoryAllocation;
    }
    return append_item(stream, item);
}

void hc_queue_remove_first(cudaStream_t stream)
{
    struct hc_item *item = stream->head;
    stream->head = item->next;
    if (stream->head) {
        hc_stream_move_busy(stream, stream->head->sequence);
    } else {
        stream->tail = NULL;
        hc_stream_end_busy(stream);
    }
    queued_count--;
    release_contents(item);
    free(item);
}

size_t hc_queue_item_count(void)
{
    return queued_count;
}

uint64_t hc_queue_last_sequence(void)
{
    return sequences;
}
