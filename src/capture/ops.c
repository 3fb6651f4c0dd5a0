/* Op calls inside a capture: captured into the segment, or run at a break. */
#include "capture/capture.h"

#include <stdlib.h>
#include <string.h>

bg__body_scope bg__body_enter(bg_phase phase, bg__call *call)
{
    bg__thread *self = bg__thread_self();
    bg__body_scope scope = {self->phase, self->call};
    self->phase = phase;
    self->call = call;
    bg__call_rewind(call);
    return scope;
}

void bg__body_leave(bg__body_scope scope)
{
    bg__thread *self = bg__thread_self();
    self->phase = scope.phase;
    self->call = scope.call;
}

/* ---- at a break ---- */

typedef struct at_break {
    const bg_op *op;
    bg__call *call;
    void *args;
} at_break;

/* What runs at capture; NULL: nothing, since nothing is launched and all shapes are known. */
static bg_op_body choose_body(const bg_capture *capture, const bg_op *op, const void *args)
{
    bg__output output = {0};
    if (capture->options.launch_segments || op->capture_stub_ != NULL)
        return bg__op_capture_body(op);
    while (bg__output_next(op, &output)) {
        const bg_tensor *tensor = bg__output_tensor(&output, (void *)args);
        if (tensor->data == NULL && tensor->rank == 0)
            return op->body;
    }
    return NULL;
}

/* A write-back of its own step, since the body left this output elsewhere. */
static bg_status add_copy(bg_capture *capture, bg__eager *eager, int ordinal, bg__copy copy)
{
    bg__copy *kept = malloc(sizeof *kept);
    bg_status status = BG_OK;

    if (kept == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for a write-back");
    *kept = copy;
    eager->copies[ordinal] = kept;
    BG__TRY(bg__graph_add_step(capture->graph, (bg__step){.kind = BG__COPY, .of.copy = kept}));
    BG__TRY_CUDA(cudaMemcpyAsync(copy.target, copy.source, copy.bytes, cudaMemcpyDefault, capture->origin));
done:
    return status;
}

static bg_status settle(bg_capture *capture, bg__eager *eager)
{
    bg__output output = {0};
    bg_status status = BG_OK;

    while (bg__output_next(eager->call->op, &output)) {
        bg_tensor *want = bg__output_tensor(&output, eager->args);
        bg__copy copy;
        BG__TRY(bg__output_settle(eager->call, &output, want, bg__output_tensor(&output, eager->work), &copy.source,
                                  &copy.bytes));
        copy.target = want->data;
        if (copy.source != NULL)
            BG__TRY(add_copy(capture, eager, output.ordinal, copy));
    }
done:
    return status;
}

static bg_status run_body(bg_capture *capture, bg__eager *eager, bg_op_body body)
{
    bg__body_scope scope;
    bg_status status;

    memcpy(eager->work, eager->args, eager->call->op->args_size);
    scope = bg__body_enter(BG_PHASE_EAGER, eager->call);
    capture->in_body = true;
    status = bg__call_body(eager->call, body, eager->work, capture->origin);
    capture->in_body = false;
    bg__body_leave(scope);
    return status;
}

static bg_status run_at_break(bg_capture *capture, void *user)
{
    const at_break *at = user;
    char hidden = bg__fail_hide();
    bg__output output = {0};
    bg__eager *eager;
    bg_op_body body;
    bg_status status;

    BG__TRY(bg__outputs_prepare(at->call, at->args));
    BG__TRY(bg__graph_add_eager(capture->graph, at->call, at->args, &eager));
    BG__TRY(bg__graph_add_step(capture->graph, (bg__step){.kind = BG__CALL, .of.eager = eager}));
    body = choose_body(capture, at->op, at->args);
    if (body != NULL) {
        BG__TRY(run_body(capture, eager, body));
        if (capture->aborted)
            goto done;
        BG__TRY(settle(capture, eager));
    }
    BG__TRY(bg__step_sync(capture));
    while (bg__output_next(at->op, &output))
        *bg__output_tensor(&output, at->args) = *bg__output_tensor(&output, eager->args);
done:
    if (status != BG_OK)
        bg__call_blame(at->call, status);
    else
        bg__fail_unhide(hidden);
    return status;
}

/* ---- the hook ---- */

static bg_status call_in_capture(bg_capture *capture, const bg_op *op, cudaStream_t stream, void *args,
                                 const bg_site *site)
{
    bg__call *around = bg__thread_self()->call;
    bg__call *parent = around != NULL && around->recorded ? around : &capture->graph->root;
    bg__call *call;
    bg_status status;

    BG__TRY(bg__call_enter(parent, op, site, &call));
    call->eager = capture->debug == BG_DEBUG_OPS || bg__override_apply(capture->override, call, op->eager);
    call->segment = capture->graph->segment_count;
    if (call->eager) {
        at_break at = {op, call, args};
        status = bg__capture_break(capture, run_at_break, &at);
    } else {
        bg__call_rewind(call);
        status = bg__call_run(call, op->body, args, stream);
    }
    if (capture->aborted)
        return status;
done:
    if (status != BG_OK)
        bg__capture_fail(capture, status);
    return status;
}

/* A stream that the tracker has not seen: not captured, forked from this capture with bare CUDA calls, or foreign. */
typedef enum stream_kind { OUTSIDE, FORKED, FOREIGN } stream_kind;

static bg_status classify(const bg_capture *capture, cudaStream_t stream, stream_kind *kind)
{
    enum cudaStreamCaptureStatus mine, its;
    unsigned long long my_id = 0, its_id = 0;
    bg_status status = BG_OK;

    *kind = OUTSIDE;
    if (stream == cudaStreamLegacy)
        return BG_OK;
    BG__TRY_CUDA(cudaStreamGetCaptureInfo(stream, &its, &its_id, NULL, NULL, NULL, NULL));
    if (its == cudaStreamCaptureStatusNone)
        goto done;
    BG__TRY_CUDA(cudaStreamGetCaptureInfo(capture->origin, &mine, &my_id, NULL, NULL, NULL, NULL));
    *kind = its_id == my_id ? FORKED : FOREIGN;
done:
    return status;
}

/* Whether the call is the capture's; a stream forked by bare CUDA calls becomes a member. */
static bg_status claim(bg_capture *capture, cudaStream_t stream, const bg_site *site, stream_kind *kind)
{
    bg__member *member;
    bg_status status = BG_OK;

    *kind = FORKED;
    if (bg__capture_has(capture, stream))
        return BG_OK;
    if (bg__captured_has(stream))
        return bg__fail(BG_ERROR_WRONG_THREAD, "the stream takes part in another thread's capture");
    BG__TRY(classify(capture, stream, kind));
    if (*kind == FORKED)
        BG__TRY(bg__capture_add_member(capture, stream, site, &member));
done:
    return status;
}

static bool refuse_other_threads(cudaStream_t stream, const char *what, bg_status *status)
{
    bg_current_phase(); /* notices that another thread ended this one's capture */
    if (!bg__captured_has(stream))
        return false;
    *status = bg__fail(BG_ERROR_WRONG_THREAD, "%s: the stream takes part in a capture of another thread; call it there",
                       what);
    return true;
}

bool bg__capture_op(const bg_op *op, cudaStream_t stream, void *args, const bg_site *site, bg_status *status)
{
    bg_capture *capture = bg__live_mine();
    stream_kind kind;

    if (capture == NULL || capture->in_body)
        return refuse_other_threads(stream, op->name, status);
    if (capture->status != BG_OK) {
        bg__fail_restore(capture->message);
        *status = capture->status;
        return true;
    }
    *status = claim(capture, stream, site, &kind);
    if (*status != BG_OK) {
        bg__capture_fail(capture, *status);
        return true;
    }
    if (kind == OUTSIDE || (kind == FOREIGN && !capture->options.foreign_inline))
        return false;
    if (kind == FOREIGN)
        *status = bg__call_plain(op, stream, args, site, true);
    else
        *status = call_in_capture(capture, op, stream, args, site);
    bg__capture_was_aborted(capture, status);
    return true;
}

/* ---- bare breaks, and the whole pass ---- */

bg_status bg_break_at(cudaStream_t stream, const bg_site *site)
{
    bg_capture *capture = bg__live_mine();
    bg_status status = BG_OK;
    stream_kind kind;

    if (stream == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_break: stream is NULL; create a stream and use that");
    if (capture == NULL || capture->in_body) {
        refuse_other_threads(stream, "bg_break", &status);
        return status;
    }
    bg__pending_note();
    if (capture->status != BG_OK) {
        bg__fail_restore(capture->message);
        return capture->status;
    }
    status = claim(capture, stream, site, &kind);
    if (status == BG_OK && kind == FORKED && bg__override_breakable(capture->override))
        status = bg__capture_break(capture, NULL, NULL);
    if (status == BG_OK)
        return BG_OK;
    bg__fail_where("bg_break at %s:%d", site && site->file ? site->file : "unknown file", site ? site->line : 0);
    return bg__capture_fail(capture, status);
}

bg_status bg__capture_run_forward(bg_capture *capture, bg_forward forward, void *user)
{
    bg_graph *graph = capture->graph;
    bg_status status;

    graph->forward = forward;
    graph->forward_user = user;
    graph->breaks = 1;
    BG__TRY(bg__graph_add_step(graph, (bg__step){.kind = BG__FORWARD}));
    if (capture->options.launch_segments) {
        char hidden = bg__fail_hide();
        bg__body_scope scope = bg__body_enter(BG_PHASE_EAGER, &graph->root);
        capture->in_body = true;
        status = forward(user, capture->origin);
        capture->in_body = false;
        bg__body_leave(scope);
        if (status != BG_OK && bg_last_error()[0] == '\0')
            bg__fail(status, "the forward pass returned %s (%s)", bg_status_name(status), bg_status_text(status));
        bg__fail_unhide(hidden);
    }
done:
    return status;
}
