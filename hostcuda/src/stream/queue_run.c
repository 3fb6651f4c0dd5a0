#include "hostcuda/src/stream/queue_run.h"

#include "hostcuda/src/core/core_schedule.h"
#include "hostcuda/src/kernel/integer_division.h"
#include "hostcuda/src/stream/host_function.h"
#include "hostcuda/src/stream/queue.h"
#include "hostcuda/src/stream/queue_choice.h"
#include "hostcuda/src/stream/stream.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

static bool busy;        /* some thread runs an item; only one runs at a time, so that runs are repeatable */
static unsigned pauses;  /* number of pauses since an item ran */
static unsigned waiting; /* number of threads that wait for work, and run it */

static cudaError_t run_unlocked(const struct hc_op *op)
{
    hc_unlock();
    cudaError_t error = hc_op_run(op);
    hc_lock();
    return error;
}

/* Returns false if the op waits for others, and has to run again. */
static bool run_op(struct hc_device *device, const struct hc_item *item, struct hc_op *op)
{
    if (device->sticky && !hc_op_runs_after_error(op)) {
        hc_op_skip(op);
        hc_host_function_forget(item, op);
    } else {
        cudaError_t error = op->kind == HC_OP_HOST ? hc_host_function_run(item, op, device->sticky) : run_unlocked(op);
        if (error == cudaErrorNotReady)
            return false;
        if (error && !device->sticky)
            device->sticky = error;
        if (error)
            hc_op_skip(op); /* other ranks may wait for it */
    }
    hc_op_finish(op);
    return true;
}

/* Runs one op of a graph. Returns true if the graph is done. */
static bool step_graph(struct hc_device *device, struct hc_item *item, size_t place)
{
    size_t size = item->program->count;
    if (item->cursor < size) {
        struct hc_op *op = item->program->ops[place];
        if (!run_op(device, item, op))
            return false;
        if (op->kind == HC_OP_RECORD)
            hc_token_reach(item->event_tokens[place]);
        if (item->ran)
            item->ran[place] = true;
        item->cursor++;
    }
    return item->cursor >= size;
}

static bool step_item(struct hc_device *device, struct hc_item *item, size_t place)
{
    switch (item->kind) {
    case HC_ITEM_OP: return run_op(device, item, item->op);
    case HC_ITEM_RECORD: hc_token_reach(item->token); return true;
    case HC_ITEM_WAIT: return true;
    case HC_ITEM_GRAPH:
        if (!step_graph(device, item, place))
            return false;
        hc_token_reach(item->token);
        return true;
    }
    return true;
}

static void run_choice(struct hc_queue_choice choice)
{
    cudaStream_t stream = choice.stream;
    struct hc_item *item = stream->head;
    busy = true;
    pauses = 0;
    hc_stream_retain(stream);
    if (step_item(hc_device(stream->device), item, choice.place))
        hc_queue_remove_first(stream);
    hc_stream_release(stream);
    busy = false;
    hc_notify_change();
}

void hc_run_at_query(void)
{
    hc_division_recheck_handler();
    for (unsigned steps = hc_schedule_seeded() ? hc_schedule_steps_at_query() : 1; steps && !busy; steps--) {
        struct hc_queue_choice choice = hc_queue_choose();
        if (!choice.stream)
            return;
        run_choice(choice);
    }
}

/* Limits the queue, so that a program that never waits does not exhaust the memory. */
void hc_run_at_call_end(void)
{
    enum { QUEUED_MOST = 4096 };
    bool any_order = hc_schedule_seeded();
    if ((!any_order && hc_queue_item_count() <= QUEUED_MOST) || busy || hc_thread()->inside.host_function)
        return;
    for (unsigned steps = any_order ? hc_schedule_steps_at_call_end() : 0;
         (steps || hc_queue_item_count() > QUEUED_MOST) && !busy; steps -= steps > 0) {
        struct hc_queue_choice choice = hc_queue_choose_at_call_end(any_order);
        if (!choice.stream)
            return;
        run_choice(choice);
    }
}

static bool stream_reached(const struct CUstream_st *stream, uint64_t limit)
{
    return !stream->head || stream->head->sequence > limit;
}

static bool device_reached(int device, uint64_t limit)
{
    if (!hc_busy_count || stream_reached(hc_busy_streams[0], limit))
        return true;
    for (size_t i = 0; i < hc_busy_count; i++)
        if (hc_busy_streams[i]->device == device && !stream_reached(hc_busy_streams[i], limit))
            return false;
    return true;
}

/* Gives other threads and processes time to run; longer if nothing has run for long. */
static void pause_for_others(void)
{
    enum { YIELDS = 32, SHORTEST = 20000, LONGEST = 500000 };
    unsigned round = pauses++, doubled = round < YIELDS ? 0 : round - YIELDS;
    const struct timespec wait = {0, doubled < 5 ? SHORTEST << doubled : LONGEST};
    hc_unlock();
    if (round < YIELDS)
        sched_yield();
    else
        nanosleep(&wait, NULL); /* a signal only shortens the pause */
    hc_lock();
}

static bool op_waits_for_others(const struct hc_item *item, const struct hc_op *op)
{
    return hc_op_may_wait(op) || (op->kind == HC_OP_HOST && !hc_host_function_ready(item, op));
}

static bool item_waits_for_others(const struct hc_item *item)
{
    size_t size = item->kind == HC_ITEM_GRAPH ? item->program->count : item->kind == HC_ITEM_OP;
    for (size_t place = item->ran ? 0 : item->cursor; place < size; place++)
        if (op_waits_for_others(item, hc_item_op_at(item, place)) && !(item->ran && item->ran[place]))
            return true;
    return false;
}

/* Whether any queued work waits for other threads or processes. */
static bool is_anything_awaited(void)
{
    for (size_t i = 0; i < hc_busy_count; i++)
        if (item_waits_for_others(hc_busy_streams[i]->head))
            return true;
    return false;
}

/* Returns false if nothing can ever run, which no program can cause. */
static bool run_or_wait(void)
{
    if (busy) {
        hc_wait_for_change();
        return true;
    }
    struct hc_queue_choice choice = hc_queue_choose();
    if (!choice.stream && is_anything_awaited()) {
        pause_for_others();
        return true;
    }
    if (!choice.stream) {
        fprintf(stderr, "hostcuda: internal error: queued work can never run; please report it with the program and "
                        "HOSTCUDA_SEED\n");
        return false;
    }
    run_choice(choice);
    return true;
}

cudaError_t hc_run_until(bool (*reached)(const void *data), const void *data)
{
    bool can = true;
    hc_division_recheck_handler();
    waiting++;
    while (can && !reached(data))
        can = run_or_wait();
    waiting--;
    return can ? cudaSuccess : cudaErrorUnknown;
}

/* The legacy stream also waits for the blocking streams of its device. */
static bool legacy_reached(int device, uint64_t limit)
{
    for (size_t i = 0; i < hc_busy_count; i++) {
        const struct CUstream_st *stream = hc_busy_streams[i];
        if (stream->device == device && !(stream->flags & cudaStreamNonBlocking) && !stream_reached(stream, limit))
            return false;
    }
    return true;
}

static bool is_legacy(const struct CUstream_st *stream)
{
    return stream == hc_device(stream->device)->legacy;
}

bool hc_run_is_done(const struct CUstream_st *stream)
{
    return is_legacy(stream) ? legacy_reached(stream->device, hc_queue_last_sequence()) : !stream->head;
}

struct limit {
    cudaStream_t stream;
    struct hc_token *token;
    int device;
    uint64_t sequence; /* of the last item before the call */
};

static bool stream_limit_reached(const void *data)
{
    const struct limit *limit = data;
    return is_legacy(limit->stream) ? legacy_reached(limit->device, limit->sequence)
                                    : stream_reached(limit->stream, limit->sequence);
}

cudaError_t hc_run_stream(cudaStream_t stream)
{
    const struct limit limit = {.stream = stream, .device = stream->device, .sequence = hc_queue_last_sequence()};
    hc_stream_retain(stream); /* another thread may destroy the stream meanwhile */
    cudaError_t error = hc_run_until(stream_limit_reached, &limit);
    hc_stream_release(stream);
    return error ? error : hc_device_error_after_wait(limit.device);
}

void hc_run_step_or_pause(void)
{
    struct hc_queue_choice choice = busy ? (struct hc_queue_choice){NULL, 0} : hc_queue_choose();
    if (busy)
        hc_wait_for_change();
    else if (choice.stream)
        run_choice(choice);
    else
        pause_for_others();
}

void hc_run_wait_until_idle(void)
{
    while (busy)
        hc_wait_for_change();
}

static bool token_limit_reached(const void *data)
{
    const struct limit *limit = data;
    return limit->token->done;
}

cudaError_t hc_run_token(struct hc_token *token, int device)
{
    const struct limit limit = {.token = hc_token_retain(token)};
    cudaError_t error = hc_run_until(token_limit_reached, &limit);
    hc_token_release(token);
    return error ? error : hc_device_error_after_wait(device);
}

static bool device_limit_reached(const void *data)
{
    const struct limit *limit = data;
    return device_reached(limit->device, limit->sequence);
}

cudaError_t hc_run_device(int device)
{
    const struct limit limit = {.device = device, .sequence = hc_queue_last_sequence()};
    cudaError_t error = hc_run_until(device_limit_reached, &limit);
    return error ? error : hc_device_error_after_wait(device);
}

/* ---- running work without calls ------------------------------------------------------------------------------- */

bool hc_run_has_work(void)
{
    return hc_queue_item_count() > 0;
}

bool hc_run_without_call(void)
{
    struct hc_queue_choice choice = busy || waiting ? (struct hc_queue_choice){NULL, 0} : hc_queue_choose();
    hc_division_recheck_handler();
    if (choice.stream)
        run_choice(choice);
    return choice.stream != NULL;
}

void hc_run_reset_in_child(void)
{
    busy = false;
    waiting = 0;
}
