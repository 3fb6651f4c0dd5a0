/* Op calls inside a capture: captured into the segment, or run at a break. */
#include "capture/capture.h"

#include "op/region.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- at a break ---- */

typedef struct break_call {
    bg__call *call;
    void *args;
    bool eager; /* true: its body runs at the break; false: the call is captured */
} break_call;

/* Returns the body to run at capture; NULL: none, since nothing is launched and all shapes are known. */
static bg_op_body choose_body(const bg_capture *capture, const bg_op *op, const void *args)
{
    bg__output output = {0};
    if (capture->options.launch_segments || op->attributes_.capture_stub != NULL)
        return bg__op_capture_body(op);
    while (bg__output_next(op, &output)) {
        const bg_tensor *tensor = bg__output_tensor(&output, (void *)args);
        if (tensor->data == NULL && tensor->rank == 0)
            return op->body;
    }
    return NULL;
}

static bg_status add_writeback(bg_capture *capture, bg__eager_call *eager, int ordinal, const bg__output_copy *move)
{
    bg__writeback_copy *kept = calloc(1, sizeof *kept);
    if (kept == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a write-back");
    kept->eager = eager;
    kept->move = *move;
    eager->copies[ordinal] = kept;
    return bg__writeback_add(capture->graph, &capture->writebacks, kept, capture->origin);
}

static bg_status add_writebacks(bg_capture *capture, bg__eager_call *eager)
{
    bg__output output = {0};
    bg_status status = BG_OK;

    while (bg__output_next(eager->call->op, &output)) {
        bg__output_copy move;
        BG__TRY(bg__output_plan_copy(eager->call, &output, eager->args, eager->work, &move));
        if (bg__output_copy_is_needed(&move))
            BG__TRY(add_writeback(capture, eager, output.ordinal, &move));
    }
done:
    return status;
}

/* Ends a capture that the body left open, since the next segment could not begin. */
static bg_status end_leftover_capture(cudaStream_t stream)
{
    CUstreamCaptureStatus capturing;
    cudaGraph_t graph = NULL;
    bg__capture_info_function info;
    bg_status status;

    if (stream == cudaStreamLegacy)
        return BG_OK;
    BG__TRY(bg__driver_find_capture_info(&info));
    BG__TRY_DRIVER("cuStreamGetCaptureInfo", info(stream, &capturing, NULL, NULL, NULL, NULL, NULL));
    if (capturing == CU_STREAM_CAPTURE_STATUS_NONE)
        goto done;
    bg__clear_cuda_error(cudaStreamEndCapture(stream, &graph));
    if (graph != NULL)
        BG__RELEASE(cudaGraphDestroy(graph));
    status = bg__fail(BG_ERROR_BUSY,
                      "the body began a capture on stream and did not end it; end it before the body returns");
done:
    return status;
}

static bg_status run_eager_body(bg_capture *capture, bg__eager_call *eager, bg_op_body body)
{
    bg__body_scope scope;
    bg_status status;

    memcpy(eager->work, eager->args, eager->call->op->args_size);
    scope = bg__body_enter(BG_PHASE_EAGER, eager->call);
    capture->in_body = true;
    if (eager->call->ranges)
        bg__nvtx_range_push(eager->call->name);
    status = bg__call_run_body(eager->call, body, eager->work, capture->origin);
    if (eager->call->ranges)
        bg__nvtx_range_pop();
    capture->in_body = false;
    bg__body_leave(scope);
    bg__foreign_error_note(); /* the body may have left a CUDA error of its own */
    return status == BG_OK ? end_leftover_capture(capture->origin) : status;
}

static bg_status run_at_break(bg_capture *capture, void *user)
{
    const break_call *at = user;
    const bg_op *op = at->call->op;
    char hidden = bg__error_set_aside();
    bg__output output = {0};
    bg__eager_call *eager;
    bg_op_body body;
    bg_status status;

    BG__TRY(bg__outputs_prepare(at->call, at->args));
    BG__TRY(bg__graph_add_eager_call(capture->graph, at->call, at->args, &eager));
    BG__TRY(bg__graph_add_step(
        capture->graph, (bg__step){.kind = BG__STEP_CALL, .place = capture->graph->breaks - 1, .of.eager = eager}));
    body = choose_body(capture, op, at->args);
    if (body != op->body)
        BG__TRY(bg__events_record_before_unrun_body(capture));
    if (body != NULL) {
        BG__TRY(run_eager_body(capture, eager, body));
        if (capture->aborted)
            goto done;
        BG__TRY(add_writebacks(capture, eager));
        bg__copy_results(op, eager->args, eager->work);
        bg__copy_results(op, at->args, eager->work);
    }
    BG__TRY(bg__capture_sync_step(capture));
    while (bg__output_next(op, &output)) {
        const bg_tensor *tensor = bg__output_tensor(&output, eager->args);
        eager->captured[output.ordinal] = (bg__captured_output){.offset = output.offset, .tensor = *tensor};
        *bg__output_tensor(&output, at->args) = *tensor;
    }
    BG__TRY(bg__graph_record_call_tensors(capture->graph, at->call, eager, eager->args));
done:
    if (status != BG_OK)
        bg__error_add_call(at->call, status);
    else
        bg__error_restore(hidden);
    return status;
}

/* ---- the hook ---- */

/* A body may invalidate the capture, which CUDA reports only at a later call: check now. */
static bg_status fail_inlined_call(const bg_capture *capture, const bg__call *call, bg_status status)
{
    if (status == BG_OK) {
        status = bg__fail(
            BG_ERROR_CAPTURE_INVALID,
            "the body made a call that CUDA forbids during capture (an allocation, a synchronisation, a query)");
        bg__error_add_call(call, status);
    }
    if (!call->op->eager)
        bg__error_set_advice("make the op eager (BG_EAGER_OP, BG_EAGER_OPS), or remove that CUDA call from its body");
    else
        bg__error_set_advice("%s is declared eager, but was captured inline: %s", call->op->name,
                             bg__override_allows_breaks(capture->override)
                                 ? "name it in options.eager_ops or BG_EAGER_OPS"
                                 : "unset BG_BREAKABLE=0");
    return status;
}

/* Calls the driver, not the runtime, so that CUDA's last error stays as the body left it. */
static bg_status begin_inline_call(bg_capture *capture, bg__call *call, cudaStream_t stream, bool *sound)
{
    bg__call_rewind(call);
    if (stream != capture->origin)
        bg__capture_set_last_call(capture, stream, call);
    call->kept = call->want;
    return bg__marks_add(capture, &call->first_node, sound);
}

/* body: the status that the body returned; was_sound: whether the capture was valid before. */
static bg_status end_failed_inline_call(bg_capture *capture, bg__call *call, bg_status body, bool was_sound)
{
    char text[1024];
    bg_status status;
    bool sound;

    snprintf(text, sizeof text, "%s", bg_last_error());
    status = bg__marks_add(capture, &call->end_node, &sound);
    bg__error_set_text(text);
    return status == BG_OK && was_sound && !sound ? fail_inlined_call(capture, call, body) : body;
}

static inline bg_status end_inline_call(bg_capture *capture, bg__call *call, void *args, bg_status body, bool was_sound)
{
    bg_status status;
    bool sound;

    call->end_segment = capture->graph->segment_count;
    if (body != BG_OK)
        return end_failed_inline_call(capture, call, body, was_sound);
    BG__TRY(bg__marks_add(capture, &call->end_node, &sound));
    if (was_sound && !sound)
        return fail_inlined_call(capture, call, BG_OK);
    BG__TRY(bg__graph_record_call_tensors(capture->graph, call, NULL, args));
    if (capture->level > 0)
        BG__TRY(bg__compile_add_call(capture, call));
done:
    return status;
}

static bg_status capture_inline_call(bg_capture *capture, bg__call *call, cudaStream_t stream, void *args)
{
    bg_status status;
    bool sound;

    BG__TRY(begin_inline_call(capture, call, stream, &sound));
    status = bg__call_run(call, call->op->body, args, stream);
    if (!capture->aborted)
        status = end_inline_call(capture, call, args, status, sound);
done:
    if (status != BG_OK)
        bg__error_add_call(call, status);
    return status;
}

/* Runs a call in a pass that captures nothing. Failures and waits inside an eager body do not affect the pass. */
static bg_status run_in_pass(const break_call *at, cudaStream_t stream)
{
    bg__call *call = at->call;
    bg__body_scope scope;
    bg_status status;

    if (!at->eager) {
        bg__call_rewind(call);
        return bg__call_run_observed(call, at->args, stream);
    }
    scope = bg__body_enter(bg__thread_self()->phase, call);
    status = bg__call_run_observed(call, at->args, stream);
    bg__body_leave(scope);
    if (status == BG_OK) {
        status = end_leftover_capture(stream);
        if (status != BG_OK)
            bg__error_add_call(call, status);
    }
    return status;
}

static bg_status run_call(bg_capture *capture, const break_call *at, cudaStream_t stream)
{
    return capture->eager ? run_in_pass(at, stream) : capture_inline_call(capture, at->call, stream, at->args);
}

static bg_status run_at_barrier(bg_capture *capture, void *user)
{
    return run_call(capture, user, capture->origin);
}

/* Returns the call of this capture whose body makes the next call; outside any body, the root. Calls of other passes do
 * not count. */
static bg__call *find_parent_call(const bg_capture *capture)
{
    bg__call *root = &capture->graph->root, *around = bg__thread_self()->call;
    for (const bg__call *call = around; call != NULL && call->recorded; call = call->parent)
        if (call == root)
            return around;
    return root;
}

/* Replaces the caller's closure by a copy that the graph owns, since captured work and replays outlive the closure. An
 * eager pass runs the call now, and has no replays. */
static bg_status copy_closure(bg_capture *capture, const bg__call *call, void *args)
{
    bg__region_args *region = bg__region_get_args(call->op, args);
    void *kept = NULL;
    bg_status status;

    if (region == NULL || region->keep == NULL || capture->eager)
        return BG_OK;
    BG__TRY(region->keep(region->user, &kept));
    status = bg__owned_add(&capture->graph->owned, kept, region->destroy);
    if (status == BG_OK)
        region->user = kept;
    else
        region->destroy(kept);
    capture->graph->keeps |= status == BG_OK;
done:
    if (status != BG_OK)
        bg__error_add_call(call, status);
    return status;
}

static bg_status call_in_capture(bg_capture *capture, const bg_op *op, cudaStream_t stream, void *args,
                                 const bg_site *site)
{
    bg__call *call;
    break_call at;
    bg_status status;

    BG__TRY(bg__call_find_or_add(find_parent_call(capture), op, site, &call));
    BG__TRY(copy_closure(capture, call, args));
    at = (break_call){call, args,
                      capture->debug == BG_DEBUG_OPS ||
                          bg__override_is_eager(capture->override, call, op->eager && !capture->options.inline_eager)};
    call->eager = at.eager || capture->eager;
    call->segment = capture->graph->segment_count;
    if (at.eager && !capture->eager) {
        bg__foreign_error_note();
        status = bg__capture_break(capture, call, run_at_break, &at);
    } else if (at.eager || op->eager) {
        status = bg__capture_barrier(capture, run_at_barrier, &at);
    } else {
        status = run_call(capture, &at, stream);
    }
    if (status != BG_OK || capture->aborted)
        bg__outputs_clear_bridges(call, args);
done:
    return status;
}

static bool refuse_other_threads(cudaStream_t stream, const char *what, bg_status *status)
{
    bg_current_phase(); /* notices that another thread ended this one's capture */
    if (!bg__capturing_streams_has(stream))
        return false;
    *status = bg__fail(BG_ERROR_WRONG_THREAD,
                       "%s: the stream takes part in another thread's capture; make this call in that thread", what);
    return true;
}

static bool capture_op(const bg_op *op, cudaStream_t stream, void *args, const bg_site *site, bg_status *status)
{
    bg_capture *capture = bg__thread_pass_or_capture();
    bg__stream_kind kind = BG__FORKED;

    if (capture == NULL || capture->in_body)
        return refuse_other_threads(stream, op->name, status);
    *status = bg__capture_check_open(capture);
    if (*status == BG_OK && stream != capture->origin)
        *status = bg__capture_resolve_stream(capture, stream, site, &kind);
    if (*status != BG_OK)
        return true;
    if (kind == BG__OUTSIDE || (kind == BG__FOREIGN && !capture->options.foreign_inline))
        return false;
    if (kind == BG__FOREIGN) {
        bg__foreign_error_note();
        *status = bg__call_run_plain(op, stream, args, site, true);
        return true;
    }
    bg__capture_begin_call(capture);
    *status = bg__capture_end_call(capture, call_in_capture(capture, op, stream, args, site));
    return true;
}

static void capture_op_failed(bg_status status)
{
    bg_capture *capture = bg__thread_pass_or_capture();
    if (capture == NULL || capture->in_body || capture->aborted)
        return;
    bg__foreign_error_note();
    bg__capture_fail(capture, status);
}

const bg__capture_hooks bg__capture_op_hooks = {capture_op, capture_op_failed};

/* ---- breaks without an op ---- */

static bg_status break_in_capture(bg_capture *capture, cudaStream_t stream, const bg_site *site)
{
    bg__stream_kind kind;
    bg_status status;

    BG__TRY(bg__capture_check_open(capture));
    BG__TRY(bg__capture_resolve_stream(capture, stream, site, &kind));
    if (kind != BG__FORKED)
        goto done;
    if (!capture->eager && bg__override_allows_breaks(capture->override) && !capture->options.inline_eager)
        BG__TRY(bg__capture_break(capture, NULL, NULL, NULL));
    else
        BG__TRY(bg__capture_barrier(capture, NULL, NULL));
done:
    return status;
}

bg_status bg_break_at(cudaStream_t stream, const bg_site *site)
{
    bg_capture *capture = bg__thread_pass_or_capture();
    bg_status status = BG_OK;

    bg__foreign_error_note();
    if (capture != NULL && capture->in_body)
        capture = NULL;
    if (stream == NULL)
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT, "stream is NULL; create a stream and use that");
    else if (capture == NULL)
        refuse_other_threads(stream, "bg_break", &status);
    else {
        bg__capture_begin_call(capture);
        status = break_in_capture(capture, stream, site);
    }
    if (status != BG_OK && !bg__error_has_location()) {
        bg__error_add_location("bg_break at %s:%d", site && site->file ? site->file : "unknown file",
                               site ? site->line : 0);
        bg__error_set_located();
    }
    if (status != BG_OK && capture != NULL && !capture->aborted)
        bg__capture_fail(capture, status);
    if (capture != NULL && stream != NULL)
        status = bg__capture_end_call(capture, status);
    return status;
}
