#include "hostcuda/src/stream/queue_choice.h"

#include "hostcuda/src/core/core_schedule.h"
#include "hostcuda/src/graph/graph_order.h"
#include "hostcuda/src/stream/host_function.h"
#include "hostcuda/src/stream/stream.h"

static bool is_event_blocked(const struct hc_item *item, size_t place)
{
    if (!item->event_tokens)
        return false;
    const struct hc_token *token = item->event_tokens[place];
    return item->program->ops[place]->kind == HC_OP_WAIT && token && !token->done;
}

/* In a seeded order: whether this op of a launched graph may run next. */
static bool is_place_allowed(const struct hc_item *item, size_t place)
{
    return !item->ran[place] && !is_event_blocked(item, place) &&
           hc_order_allows(item->program->order, place, item->ran);
}

/* When ops run in order of issue: whether the next op of the graph, the one at the cursor, must wait. */
static bool is_graph_blocked(const struct hc_item *item)
{
    if (item->after && !item->after->done)
        return true;
    return !item->ran && item->cursor < item->program->count && is_event_blocked(item, item->cursor);
}

/* The legacy stream waits for earlier work of the device's blocking streams, and they wait for its earlier work. */
static bool is_blocked_by_legacy(const struct CUstream_st *stream)
{
    const struct CUstream_st *legacy = hc_device(stream->device)->legacy;
    if (stream->flags & cudaStreamNonBlocking)
        return false;
    if (stream != legacy)
        return legacy->head && legacy->oldest < stream->oldest;
    for (size_t i = 0; hc_busy_streams[0] != stream && i < hc_busy_count; i++) {
        const struct CUstream_st *other = hc_busy_streams[i];
        if (other->oldest < stream->oldest && other->device == stream->device &&
            !(other->flags & cudaStreamNonBlocking))
            return true;
    }
    return false;
}

const struct hc_op *hc_item_op_at(const struct hc_item *item, size_t place)
{
    if (item->kind == HC_ITEM_OP)
        return item->op;
    bool more = item->kind == HC_ITEM_GRAPH && place < item->program->count;
    return more ? item->program->ops[place] : NULL;
}

/* Whether this op of a runnable stream can run, instead of waiting for other threads or processes. */
static bool is_place_ready(const struct CUstream_st *stream, size_t place)
{
    const struct hc_item *item = stream->head;
    const struct hc_op *op = hc_item_op_at(item, place);
    if (!op || (hc_device(stream->device)->sticky && !hc_op_runs_after_error(op)))
        return true;
    return op->kind == HC_OP_HOST ? hc_host_function_ready(item, op) : hc_op_ready(op, item->sequence);
}

static bool is_runnable(const struct CUstream_st *stream)
{
    const struct hc_item *item = stream->head;
    if (!item || (item->kind == HC_ITEM_WAIT && !item->token->done))
        return false;
    if (item->kind == HC_ITEM_GRAPH && is_graph_blocked(item))
        return false;
    return !is_blocked_by_legacy(stream);
}

static bool can_run(const struct CUstream_st *stream)
{
    return is_runnable(stream) && is_place_ready(stream, stream->head->cursor);
}

/* Usually chooses the first stream. Chooses a later one if the first waits for other threads or processes. */
static struct hc_queue_choice choose_oldest(void)
{
    cudaStream_t best = NULL;
    if (hc_busy_count && can_run(hc_busy_streams[0]))
        best = hc_busy_streams[0];
    for (size_t i = 1; hc_busy_count && best != hc_busy_streams[0] && i < hc_busy_count; i++) {
        cudaStream_t stream = hc_busy_streams[i];
        if ((!best || stream->oldest < best->oldest) && can_run(stream))
            best = stream;
    }
    return (struct hc_queue_choice){best, best ? best->head->cursor : 0};
}

static bool calls_program(const struct hc_item *item, size_t place)
{
    const struct hc_op *op = hc_item_op_at(item, place);
    return op && op->kind == HC_OP_HOST;
}

/* The same without host functions of the program, and without a search. */
static struct hc_queue_choice choose_oldest_at_call_end(void)
{
    cudaStream_t first = hc_busy_count ? hc_busy_streams[0] : NULL;
    bool can = first && !calls_program(first->head, first->head->cursor) && can_run(first);
    return can ? (struct hc_queue_choice){first, first->head->cursor} : (struct hc_queue_choice){NULL, 0};
}

/* Compares the ops of one stream that can run with the best one found. `early`: leaves out host functions of the
 * program, which may wait for the thread that makes this call. */
static void consider_stream(cudaStream_t stream, bool early, struct hc_queue_choice *best, uint64_t *best_key)
{
    const struct hc_item *item = stream->head;
    bool any_order = item->ran && item->program->count;
    size_t places = any_order ? item->program->count : 1;
    for (size_t i = 0; i < places; i++) {
        size_t place = any_order ? i : item->cursor;
        if ((any_order && !is_place_allowed(item, place)) || (early && calls_program(item, place)))
            continue;
        if (!is_place_ready(stream, place))
            continue;
        uint64_t key = hc_schedule_key(stream->id, place);
        if (!best->stream || key > *best_key) {
            *best = (struct hc_queue_choice){stream, place};
            *best_key = key;
        }
    }
}

static struct hc_queue_choice choose_seeded(bool early)
{
    struct hc_queue_choice best = {NULL, 0};
    uint64_t best_key = 0;
    hc_schedule_begin_step();
    for (cudaStream_t stream = hc_streams; stream; stream = stream->next)
        if (is_runnable(stream))
            consider_stream(stream, early, &best, &best_key);
    return best;
}

struct hc_queue_choice hc_queue_choose(void)
{
    return hc_schedule_seeded() ? choose_seeded(false) : choose_oldest();
}

struct hc_queue_choice hc_queue_choose_at_call_end(bool any_order)
{
    return any_order ? choose_seeded(true) : choose_oldest_at_call_end();
}
