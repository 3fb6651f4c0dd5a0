/* Passes that run eagerly with the meaning of a capture: calls have names, errors are sticky, outputs without memory
 * and scratch are in the call's own memory, streams are joined at each break and at the end, and a bucket of the pool
 * is open. Such a pass is a bg_capture that captures nothing. */
#include "capture/capture.h"
#include "capture/replay.h"

#include <stdio.h>
#include <stdlib.h>

static bg_status store_forward(bg_graph *graph, bg_forward forward, void *user, const bg_capture_options *options)
{
    bg__forward *kept = calloc(1, sizeof *kept);
    bg_status status;

    if (kept == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a forward pass");
    graph->forward = kept;
    kept->forward = forward;
    kept->user = user;
    kept->options = *options;
    graph->breaks = 1;
    BG__TRY(bg__graph_add_step(graph, (bg__step){.kind = BG__STEP_FORWARD}));
done:
    return status;
}

/* ---- one pass ---- */

static bg_status check_captures_ended(const bg_capture *pass, const bg_capture *before)
{
    const bg_capture *now = bg__thread_capture();
    bool left = now != NULL && now != before;
    bg_status status = BG_OK;

    if (!left)
        BG__TRY(bg__pass_find_capturing_stream(pass, &left));
    if (left)
        status =
            bg__fail(BG_ERROR_BUSY,
                     "the forward pass began a capture and did not end it; end or abort it before the pass returns");
done:
    return status;
}

/* If the program began a capture in the pass and has not ended it, the thread stays in that capture. */
static void restore_thread_after(bg__body_scope scope, const bg_capture *before)
{
    bg_capture *now = bg__thread_capture();
    bg__body_leave(scope);
    if (now == NULL || now == before)
        return;
    now->around = (bg__body_scope){scope.phase, NULL, scope.pass};
    bg__thread_self()->phase = BG_PHASE_CAPTURE;
    bg__thread_self()->pass = NULL;
}

static bg_status call_forward(bg_capture *pass, bg_phase phase, const bg__forward *forward,
                              const bg__op_observer *watcher)
{
    const bg_capture *before = bg__thread_capture();
    bg__body_scope scope = bg__body_enter(phase, &pass->graph->root);
    bg__thread *self = bg__thread_self();
    const bg__op_observer *outer = self->watcher;
    bg_status status, left;

    self->pass = pass;
    self->watcher = watcher;
    status = forward->forward(forward->user, pass->origin);
    self->watcher = outer;
    restore_thread_after(scope, before);
    bg__foreign_error_note(); /* `forward` may have left a CUDA error of its own */
    if (status != BG_OK && bg_last_error()[0] == '\0')
        bg__fail(status, "the forward pass returned %s (%s)", bg_status_name(status), bg_status_text(status));
    if (status != BG_OK)
        bg__capture_record_failure(pass, status);
    left = check_captures_ended(pass, before);
    if (left != BG_OK)
        bg__capture_record_failure(pass, left);
    return left;
}

/* The first failure counts, whatever `forward` returns. After a failure too, later work waits for the queued work. */
static bg_status run_forward_pass(bg_capture *pass, bg_phase phase, const bg__forward *forward,
                                  const bg__op_observer *watcher)
{
    char hidden = bg__error_set_aside();
    bg_status joined;

    bg__op_set_capture_hooks(&bg__capture_op_hooks);
    if (call_forward(pass, phase, forward, watcher) == BG_OK) {
        joined = bg__capture_join_members(pass);
        if (joined != BG_OK)
            bg__capture_record_failure(pass, joined);
    }
    if (pass->status != BG_OK)
        bg__error_set_text(pass->message);
    bg__error_restore(hidden);
    return pass->status;
}

bg_status bg__forward_pass(bg_graph *graph, bg_phase phase, cudaStream_t stream, const bg__op_observer *watcher)
{
    const bg__forward *forward = graph->forward;
    bg_capture pass = {.eager = true,
                       .parted = true,
                       .origin = stream,
                       .thread = bg__thread_id(),
                       .graph = graph,
                       .event = forward->event,
                       .options = forward->options,
                       .override = forward->override};
    bg_status status;

    BG__TRY(bg__capture_open_bucket(&pass));
    status = run_forward_pass(&pass, phase, forward, watcher);
    bg__capture_close_bucket(&pass);
    bg__capture_free_streams(&pass);
done:
    return status;
}

/* ---- graphs of passes ---- */

bg_status bg__forward_reload_overrides(bg_graph *graph, const char *eager_ops)
{
    bg__override *fresh;
    bg_status status;

    BG__TRY(bg__override_create(&fresh, eager_ops));
    bg__override_free(graph->forward->override);
    graph->forward->override = fresh;
done:
    return status;
}

bg_status bg__graph_create_forward(bg_graph **result, const char *name, bg_forward forward, void *user,
                                   const bg_capture_options *options)
{
    bg_graph *graph = NULL;
    bg_status status;

    BG__TRY(bg__graph_create(&graph, name, options->pool));
    graph->root.zero_tail = options->zero_tail;
    BG__TRY(store_forward(graph, forward, user, options));
    BG__TRY(bg__forward_reload_overrides(graph, options->eager_ops));
    BG__TRY_CUDA(cudaEventCreateWithFlags(&graph->forward->event, cudaEventDisableTiming));
    *result = graph;
    graph = NULL;
done:
    bg_graph_destroy(graph);
    return status;
}

bg_status bg__capture_run_forward(bg_capture *capture, bg_forward forward, void *user)
{
    bg_status status;

    BG__TRY(store_forward(capture->graph, forward, user, &capture->options));
    if (capture->options.launch_segments) {
        bg__nvtx_push_break(capture);
        status = run_forward_pass(capture, BG_PHASE_EAGER, capture->graph->forward, NULL);
        bg__nvtx_pop_break(capture);
    }
done:
    return status;
}

void bg__capture_transfer_forward(bg_capture *capture)
{
    bg__forward *forward = capture->graph->forward;
    forward->override = capture->override;
    forward->event = capture->event;
    capture->override = NULL;
    capture->event = NULL;
}

bg_status bg__forward_run(bg_graph *graph, bg_phase phase, cudaStream_t stream)
{
    bg__last_use *use = graph->use;
    bg_status status;

    BG__TRY(bg__capture_acquire_use(use));
    status = bg__last_use_order_stream(use, stream);
    if (status == BG_OK)
        status = bg__forward_pass(graph, phase, stream, NULL);
    if (stream == cudaStreamPerThread) { /* the handle means another stream in another thread */
        cudaError_t error = bg__last_use_record_event(use, stream);
        bg__clear_cuda_error(error);
        if (status == BG_OK && error != cudaSuccess)
            status = bg__fail_cuda(error, "cudaEventRecord");
    }
    bg__last_use_release(use);
done:
    return status;
}

bg_phase bg__forward_phase(void)
{
    bg_phase phase = bg_current_phase();
    return phase == BG_PHASE_CAPTURE ? BG_PHASE_PLAIN : phase;
}

/* ---- bg_forward_run ---- */

static bg_status check_stream(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    bg_status status;

    if (bg__thread_self()->pass != NULL)
        return bg__fail(BG_ERROR_BUSY, "bg_forward_run was called inside a pass that runs eagerly; call the forward "
                                       "function directly, or run it in an eager op");
    if (bg__capturing_streams_has(stream))
        return bg__fail(
            BG_ERROR_ALREADY_CAPTURING,
            "bg_forward_run: stream is capturing; call the forward function directly, or run it in an eager op");
    if (stream == cudaStreamLegacy)
        return bg__fail(
            BG_ERROR_INVALID_ARGUMENT,
            "bg_forward_run: stream is the legacy stream, which CUDA cannot capture; create a stream and use that");
    if (stream != NULL)
        BG__TRY_CUDA(cudaStreamIsCapturing(stream, &capturing));
    if (capturing != cudaStreamCaptureStatusNone)
        return bg__fail(BG_ERROR_FOREIGN_CAPTURE, "bg_forward_run: stream is captured by a capture that breakgraph "
                                                  "did not begin; end that one first");
    BG__TRY(bg__stream_check_device(stream, "bg_forward_run", "stream"));
done:
    return status;
}

/* Restores options.state after a failed pass. */
static void restore_state_or_warn(const bg__state *state, cudaStream_t stream)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    char text[1024];

    if (state->count == 0)
        return;
    snprintf(text, sizeof text, "%s", bg_last_error());
    bg__clear_cuda_error(cudaStreamIsCapturing(stream, &capturing));
    if (capturing != cudaStreamCaptureStatusNone)
        bg__warn("options.state could not be restored: stream is capturing");
    else if (bg__state_restore(state, stream) != BG_OK)
        bg__warn("options.state could not be restored: %s", bg_last_error());
    bg__error_set_text(text);
}

bg_status bg_forward_run(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options)
{
    bg_capture_options full;
    bg__state state = {NULL, 0};
    bg_graph *graph = NULL;
    bg_status status;

    BG__NEED(forward);
    bg__foreign_error_note();
    BG__TRY(bg__capture_options_copy(&full, options));
    BG__TRY(bg__capture_options_check(&full));
    BG__TRY(check_stream(stream));
    if (full.pool != NULL)
        BG__TRY(bg__pool_check_device(full.pool, "bg_forward_run"));
    BG__TRY(bg__graph_create_forward(&graph, full.name, forward, user, &full));
    BG__TRY(bg__state_save(&state, full.state, full.state_count, "options.state", stream));
    status = bg__forward_run(graph, bg__forward_phase(), stream);
    if (status == BG_OK) /* else ops after the failure were not called yet */
        bg__override_warn_unmatched(graph->forward->override);
    else
        restore_state_or_warn(&state, stream);
done:
    bg__state_free(&state);
    bg_graph_destroy(graph);
    return status;
}
