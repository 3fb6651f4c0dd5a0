/* Replay: runs the steps. Nothing here may lock, allocate, look up names or read the environment. */
#include "capture/replay.h"

#include "capture/capture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- checks that a replay on the same stream as the last one skips ---- */

/* Neither this stream nor that of the last replay may capture: an event between the two would join the capture. */
static bg_status check_capturing(const bg_graph *graph, cudaStream_t stream)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    cudaStream_t last = graph->use->stream;
    bg_status status = BG_OK;

    if (bg__capturing_streams_has(stream))
        return bg__fail(BG_ERROR_ALREADY_CAPTURING,
                        "bg_replay: stream is capturing; replay %s before the capture, after it, or in an eager op",
                        graph->name);
    if ((stream == last && !graph->checks_each_replay) || stream == NULL)
        return BG_OK;
    if (stream != cudaStreamLegacy)
        BG__TRY_CUDA(cudaStreamIsCapturing(stream, &capturing));
    if (capturing != cudaStreamCaptureStatusNone)
        return bg__fail(BG_ERROR_FOREIGN_CAPTURE,
                        "bg_replay: stream is captured by a capture that breakgraph did not begin; end that one first");
    if (last != NULL && last != cudaStreamLegacy)
        BG__TRY_CUDA(cudaStreamIsCapturing(last, &capturing));
    if (capturing != cudaStreamCaptureStatusNone)
        return bg__fail(BG_ERROR_BUSY,
                        "bg_replay: %s%s was last replayed on a stream that is now capturing; replay it after that "
                        "capture has ended, or on another stream before it begins",
                        graph->pool ? "a graph of the pool of " : "", graph->name);
done:
    return status;
}

static bg_status check_device(const bg_graph *graph)
{
    bg_status status = BG_OK;
    int current;

    BG__TRY_CUDA(cudaGetDevice(&current));
    if (current != graph->device)
        status =
            bg__fail(BG_ERROR_INVALID_ARGUMENT,
                     "bg_replay: %s was captured on device %d, the current device is %d; call cudaSetDevice(%d) first",
                     graph->name, graph->device, current, graph->device);
done:
    return status;
}

/* Fails, since another replay or a capture uses the graph, or its pool. */
static __attribute__((cold, noinline)) bg_status refuse_busy(const bg_graph *graph)
{
    if (graph->pool != NULL)
        return bg__fail(BG_ERROR_BUSY,
                        "bg_replay: the pool of %s is in use by a capture or a replay that has not returned; its "
                        "graphs share memory, so capture and replay one at a time",
                        graph->name);
    return bg__fail(BG_ERROR_BUSY,
                    "bg_replay: %s is already being replayed, by one of its own bodies or another thread; wait "
                    "until that bg_replay has returned",
                    graph->name);
}

/* Checks device and streams, after this replay has acquired the graph. */
static bg_status check_replay_place(bg_graph *graph, cudaStream_t stream)
{
    bg_status status = BG_OK;

    BG__TRY(check_capturing(graph, stream));
    if (stream != graph->use->stream || stream == NULL)
        BG__TRY(bg__stream_check_device(stream, "bg_replay", "stream"));
    BG__TRY(check_device(graph));
    if (stream == graph->use->stream)
        goto done;
    if (graph->wrapped && graph->segments[0].exec == NULL)
        BG__TRY(bg__wrapped_instantiate(graph));
    BG__TRY(bg__last_use_order_stream(graph->use, stream));
done:
    return status;
}

/* Acquires the graph; after an error it is released again. */
static bg_status acquire_graph(bg_graph *graph, cudaStream_t stream)
{
    bg_status status;

    if (!bg__last_use_try_acquire(graph->use))
        return refuse_busy(graph);
    status = check_replay_place(graph, stream);
    if (status != BG_OK)
        bg__last_use_release(graph->use);
    return status;
}

/* ---- steps ---- */

static inline bg_status status_from_cuda(cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return BG_OK;
    bg__foreign_error_forget();
    return bg__fail_cuda(error, call);
}

/* The handle of the per-thread default stream means another stream in another thread, so the next replay cannot be
 * ordered by the handle. Therefore this records an event, after a failure, too, since work may be queued. */
static bg_status record_per_thread_use(const bg_graph *graph, bg_status status)
{
    cudaError_t error = bg__last_use_record_event(graph->use, graph->use->stream);
    if (status == BG_OK)
        return status_from_cuda(error, "cudaEventRecord");
    bg__clear_cuda_error(error);
    return status;
}

static bg_status run_output_copy(const bg__output_copy *move, cudaStream_t stream)
{
    bg__foreign_error_forget();
    return bg__output_copy_run(move, stream);
}

static bg_status write_back_outputs(bg__eager_call *eager, cudaStream_t stream, bool *steady)
{
    bg__output output = {0};
    bg_status status = BG_OK;

    while (bg__output_next(eager->call->op, &output)) {
        bg__writeback_copy *copy = eager->copies[output.ordinal];
        bg__output_copy move;
        BG__TRY(bg__output_plan_copy(eager->call, &output, eager->args, eager->work, &move));
        if (copy != NULL) {
            BG__TRY(bg__writeback_update_copy(copy, &move, stream, steady));
        } else if (bg__output_copy_is_needed(&move)) {
            *steady = false;
            BG__TRY(run_output_copy(&move, stream));
        }
    }
    if (eager->writeback_nodes != NULL)
        BG__TRY(bg__writeback_update_nodes(eager, stream, steady));
done:
    return status;
}

static inline const bg_tensor *captured_tensor(const void *args, const bg__captured_output *captured)
{
    return (const void *)((const char *)args + captured->offset);
}

static inline bool outputs_are_unchanged(const bg__eager_call *eager)
{
    for (int i = 0; i < eager->outputs; i++)
        if (!bg__tensors_are_same(captured_tensor(eager->work, &eager->captured[i]), &eager->captured[i].left))
            return false;
    return true;
}

/* Usually a body leaves its outputs as it did last time; then there is nothing to do. */
static bg_status finish_eager_call(bg__eager_call *eager, cudaStream_t stream)
{
    bool steady = true;
    bg_status status;

    if (__builtin_expect(eager->steady && !eager->exposed && outputs_are_unchanged(eager), 1))
        return BG_OK;
    eager->steady = false;
    status = write_back_outputs(eager, stream, &steady);
    if (status == BG_OK && steady) {
        /* Whether an op may leave fewer rows can change from replay to replay. */
        for (int i = 0; i < eager->outputs; i++) {
            eager->captured[i].left = *captured_tensor(eager->work, &eager->captured[i]);
            steady &= bg__tensors_have_same_shape(&eager->captured[i].left, &eager->captured[i].tensor);
        }
        eager->steady = steady;
    }
    return status;
}

static bool shapes_are_unchanged(const bg__eager_call *eager)
{
    for (int i = 0; i < eager->outputs; i++) {
        if (!bg__tensors_have_same_shape(captured_tensor(eager->args, &eager->captured[i]), &eager->captured[i].tensor))
            return false;
    }
    return true;
}

/* The program may change the stored arguments, but not dtype and shape of outputs that later segments read. */
static bg_status check_stored_outputs(const bg__eager_call *eager)
{
    bg__output output = {0};
    bg_status status = BG_OK;
    if (__builtin_expect(!eager->exposed || shapes_are_unchanged(eager), 1))
        return BG_OK;
    while (bg__output_next(eager->call->op, &output))
        BG__TRY(bg__output_check_shape(eager->call, &output, &eager->captured[output.ordinal].tensor, eager->args));
done:
    return status;
}

static bg_status run_eager_body(bg__eager_call *eager, cudaStream_t stream)
{
    bg__body_scope scope;
    bg_status status;

    memcpy(eager->work, eager->args, eager->call->op->args_size);
    scope = bg__body_enter(BG_PHASE_REPLAY, eager->call);
    status = bg__call_run_body(eager->call, eager->body, eager->work, stream);
    bg__body_leave(scope);
    return status;
}

static bg_status run_eager_call(bg__eager_call *eager, cudaStream_t stream)
{
    char hidden = bg__error_set_aside();
    bg_status status = check_stored_outputs(eager);

    if (status == BG_OK)
        status = run_eager_body(eager, stream);
    if (status == BG_OK)
        status = finish_eager_call(eager, stream);
    if (status == BG_OK && __builtin_expect(eager->results, 0))
        bg__copy_results(eager->call->op, eager->args, eager->work);
    if (status == BG_OK)
        bg__error_restore(hidden);
    else
        bg__error_add_call(eager->call, status);
    return status;
}

/* Inlined, for the loop in bg_replay. */
static inline __attribute__((always_inline)) bg_status replay_step(bg_graph *graph, const bg__step *step,
                                                                   cudaStream_t stream)
{
    switch (step->kind) {
    case BG__STEP_LAUNCH: return status_from_cuda(cudaGraphLaunch(step->of.exec, stream), "cudaGraphLaunch");
    case BG__STEP_CALL: return run_eager_call(step->of.eager, stream);
    case BG__STEP_FORWARD: return bg__forward_pass(graph, BG_PHASE_REPLAY, stream, NULL);
    case BG__STEP_COPY:
        return bg__output_copy_is_needed(&step->of.copy->move) ? run_output_copy(&step->of.copy->move, stream) : BG_OK;
    case BG__STEP_WAIT: return status_from_cuda(cudaStreamWaitEvent(stream, step->of.event, 0), "cudaStreamWaitEvent");
    case BG__STEP_RECORD: return status_from_cuda(cudaEventRecord(step->of.event, stream), "cudaEventRecord");
    case BG__STEP_SYNC: return status_from_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
    return BG_OK;
}

static __attribute__((cold, noinline)) bg_status run_step_in_range(bg_graph *graph, const bg__step *step,
                                                                   cudaStream_t stream)
{
    bg_status status;
    bg__nvtx_push_step(graph, step);
    status = replay_step(graph, step, stream);
    bg__nvtx_pop_step(step);
    return status;
}

static void add_step_location(const bg_graph *graph, const bg__step *step)
{
    char text[256];
    if (step->kind == BG__STEP_CALL || bg__error_has_location())
        return; /* the message has op and site already */
    bg__error_add_location("replay, %s%s", step->kind == BG__STEP_SYNC ? "after " : "",
                           bg__graph_describe_step(graph, (int)(step - graph->steps), text, sizeof text));
}

/* A debugging tool runs the replay, and adds the place to a failure itself. */
static __attribute__((cold, noinline)) bg_status replay_diverted(bg_graph *graph, cudaStream_t stream)
{
    bg__foreign_error_note();
    return bg__debug_hooks.replay(graph, stream);
}

/* A load and a store suffice: no other thread replays the graph now. */
static void count_replay(bg_graph *graph, bg_status status)
{
    uint64_t replays = atomic_load_explicit(&graph->replays, memory_order_relaxed);
    atomic_store_explicit(&graph->replays, replays + (status == BG_OK), memory_order_relaxed);
}

static __attribute__((cold, noinline)) bg_status run_replay_checks(bg_graph *graph, bg_status prepared,
                                                                   const void *frame)
{
    char text[1024];
    bg_status status;

    snprintf(text, sizeof text, "%s", bg_last_error());
    status = bg__debug_hooks.check_replay(graph, graph->watched, frame);
    if (prepared != BG_OK && status != BG_ERROR_STALE_ADDRESS) {
        bg__error_set_text(text);
        status = prepared;
    }
    return status;
}

/* The checks of a replay on another stream, or of a graph with checks. The graph is acquired at the call and, after a
 * success, on return. It is released during checks, which may replay it themselves, and after a failure. */
static __attribute__((cold, noinline)) bg_status check_acquired(bg_graph *graph, cudaStream_t stream, const void *frame)
{
    bg_status status;

    bg__foreign_error_note();
    status = check_replay_place(graph, stream);
    if (status != BG_OK || graph->watched != 0)
        bg__last_use_release(graph->use);
    /* After the device has failed, an address that had been freed may be the cause. */
    if (graph->watched == 0 || (status != BG_OK && status != BG_ERROR_CUDA))
        return status;
    status = run_replay_checks(graph, status, frame);
    return status == BG_OK ? acquire_graph(graph, stream) : status;
}

bg_status bg_replay(bg_graph *graph, cudaStream_t stream)
{
    const bg__step *step, *end;
    bg_status status = BG_OK;
    bg__last_use *use;
    bool ranges;

    if (__builtin_expect(graph == NULL || !bg__last_use_try_acquire(graph->use), 0)) {
        bg__foreign_error_note();
        BG__NEED(graph);
        return refuse_busy(graph);
    }
    use = graph->use;
    if (__builtin_expect(
            stream == NULL || stream != use->stream || graph->checks_each_replay || bg__capturing_streams_any(), 0)) {
        status = check_acquired(graph, stream, __builtin_frame_address(0));
        if (status != BG_OK)
            return status;
    }
    ranges = graph->root.ranges;
    step = graph->steps;
    end = step + graph->step_count;
    if (__builtin_expect(graph->diverted, 0)) {
        status = replay_diverted(graph, stream);
        if (stream != cudaStreamPerThread) /* under --attach the program may capture on the stream by the next replay */
            bg__clear_cuda_error(bg__last_use_record_event(use, stream));
        step = end;
    }
    for (; step < end; step++) {
        status =
            __builtin_expect(ranges, 0) ? run_step_in_range(graph, step, stream) : replay_step(graph, step, stream);
        if (__builtin_expect(status != BG_OK, 0)) {
            add_step_location(graph, step);
            break;
        }
    }
    if (__builtin_expect(stream == cudaStreamPerThread, 0))
        status = record_per_thread_use(graph, status);
    count_replay(graph, status);
    bg__last_use_release(use);
    return status;
}

/* ---- in parts ---- */

bg_status bg__replay_enter(bg_graph *graph, cudaStream_t stream)
{
    bool entered;
    bg_status status;

    BG__NEED(graph);
    BG__TRY(acquire_graph(graph, stream));
    status = bg__watch_ranks_enter(graph, &entered);
    if (status != BG_OK)
        bg__last_use_release(graph->use);
done:
    return status;
}

bg_status bg__replay_step(bg_graph *graph, int step, cudaStream_t stream)
{
    bg_status status = replay_step(graph, &graph->steps[step], stream);
    if (status != BG_OK)
        add_step_location(graph, &graph->steps[step]);
    else
        status = bg__watch_ranks_step(graph, step, stream);
    return status;
}

bg_status bg__replay_leave(bg_graph *graph, cudaStream_t stream, bg_status status)
{
    bg__watch_ranks_leave(graph);
    if (stream == cudaStreamPerThread)
        status = record_per_thread_use(graph, status);
    if (!bg__thread_self()->in_tool)
        count_replay(graph, status);
    bg__last_use_release(graph->use);
    return status;
}
