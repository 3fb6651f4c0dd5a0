/* bg_op_call, through which every op call passes, and bg_scratch. */
#include "op/op.h"

#include <stdatomic.h>

static _Atomic(const bg__capture_hooks *) capture_hooks;

void bg__op_set_capture_hooks(const bg__capture_hooks *hooks)
{
    atomic_store(&capture_hooks, hooks);
}

static bg_status check_call(const bg_op *op, cudaStream_t stream, const void *args)
{
    if (op == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_op_call: op is NULL");
    if (args == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "args is NULL");
    if (stream == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "stream is NULL; create a stream and use that");
    if (op->twin_ != NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "two ops are named %s, at %s:%d and at %s:%d; rename one", op->name,
                        op->defined_at.file, op->defined_at.line, op->twin_->defined_at.file,
                        op->twin_->defined_at.line);
    return BG_OK;
}

/* A break ends the capture, which only the code that began it may do. */
static bg_status refuse_foreign_capture(const bg__call *call, cudaStream_t stream)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    bg_status status = BG_OK;
    bool inlined = false;

    /* A query of the legacy stream fails while another stream captures, but the legacy stream itself is not
     * captured. */
    if (stream == cudaStreamLegacy)
        return BG_OK;
    BG__TRY_CUDA(cudaStreamIsCapturing(stream, &capture));
    if (capture == cudaStreamCaptureStatusNone)
        return BG_OK;
    BG__TRY(bg__env_flag("BG_FOREIGN_INLINE", &inlined));
    if (!inlined) {
        status =
            bg__fail(BG_ERROR_FOREIGN_CAPTURE,
                     "the op is eager, but its stream is captured by a capture that breakgraph did not begin; begin "
                     "it with bg_capture_begin, or set BG_FOREIGN_INLINE=1 to capture the op inline");
        bg__error_add_call(call, status);
    }
done:
    return status;
}

bg_status bg__call_run_plain(const bg_op *op, cudaStream_t stream, void *args, const bg_site *site, bool foreign_inline)
{
    bg__thread *self = bg__thread_self();
    bg__call call = {.op = op, .parent = self->call, .stream = stream, .segment = -1};
    bg_status status;

    if (site != NULL)
        call.site = *site;
    if (op->eager && !foreign_inline)
        BG__TRY(refuse_foreign_capture(&call, stream));
    BG__TRY(bg__call_run(&call, op->body, args, stream));
done:
    return status;
}

bg_status bg__call_run_observed(bg__call *call, void *args, cudaStream_t stream)
{
    const bg__op_observer *watcher = bg__thread_self()->watcher;
    bg_status status;

    if (__builtin_expect(watcher != NULL, 0))
        BG__TRY(watcher->before(watcher->user, call, args, stream));
    BG__TRY(bg__call_run(call, call->op->body, args, stream));
    if (__builtin_expect(watcher != NULL, 0))
        BG__TRY(watcher->after(watcher->user, call, args, stream));
done:
    return status;
}

/* Runs a call inside a body that runs at a break or in a replay: inline, but with a name. */
static bg_status run_nested_call(bg__call *parent, const bg_op *op, cudaStream_t stream, void *args,
                                 const bg_site *site)
{
    bg__call *call;
    bg_status status;

    BG__TRY(bg__call_find_or_add(parent, op, site, &call));
    call->eager = true;
    bg__call_rewind(call);
    BG__TRY(bg__call_run_observed(call, args, stream));
done:
    return status;
}

static bg_status dispatch_call(const bg_op *op, cudaStream_t stream, void *args, const bg_site *site,
                               const bg__capture_hooks *hooks)
{
    bg__thread *self = bg__thread_self();
    bg_status status = check_call(op, stream, args);

    if (status != BG_OK)
        return status;
    if (__builtin_expect(self->observe != NULL, 0))
        self->observe(self->observer, op);
    if (self->phase != BG_PHASE_CAPTURE && self->pass == NULL && self->call != NULL && self->call->recorded) {
        bg__foreign_error_note();
        return run_nested_call(self->call, op, stream, args, site);
    }
    if (hooks != NULL && hooks->call(op, stream, args, site, &status))
        return status;
    bg__foreign_error_note();
    return bg__call_run_plain(op, stream, args, site, false);
}

bg_status bg_op_call(const bg_op *op, cudaStream_t stream, void *args, const bg_site *site)
{
    const bg__capture_hooks *hooks = atomic_load_explicit(&capture_hooks, memory_order_acquire);
    bg_status status = dispatch_call(op, stream, args, site, hooks);

    if (status != BG_OK) {
        if (op != NULL && !bg__error_has_location())
            bg__error_add_call(&(bg__call){.op = op, .site = site ? *site : (bg_site){NULL, 0}}, status);
        if (hooks != NULL)
            hooks->fail(status);
    }
    return status;
}

void bg__op_call_failed(bg_status status)
{
    const bg__capture_hooks *hooks = atomic_load_explicit(&capture_hooks, memory_order_acquire);
    if (hooks != NULL)
        hooks->fail(status);
}

bg_status bg_scratch(void *args, size_t bytes, void **ptr)
{
    bg__call *call = bg__thread_self()->call;
    int slot;

    BG__NEED(args);
    BG__NEED(ptr);
    *ptr = NULL;
    if (call == NULL || call->args != args)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_scratch: args is not the argument pointer of the body that "
                                                   "runs in this thread; pass the body's own args");
    slot = call->scratch_used++; /* also for 0 bytes, so that the blocks after it stay */
    if (bytes == 0)
        return BG_OK;
    return bg__call_get_block(call, BG__SCRATCH, slot, bytes, ptr);
}
