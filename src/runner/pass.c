/* The forward context, and passes outside graphs. */
#include "runner/runner.h"

static _Thread_local const bg_context *current;

void bg__context_set(bg_context *context)
{
    current = context;
}

void bg__context_reset(void)
{
    current = NULL;
}

bool bg__context_is_set(void)
{
    return current != NULL;
}

const bg_context *bg_context_get(void)
{
    if (current == NULL)
        bg__fail(BG_ERROR_NOT_FOUND,
                 "bg_context_get: this thread is in no run of a runner; the context is set in bg_runner_run and "
                 "bg_runner_capture alone");
    return current;
}

/* Runs what is the program's: what, in messages. A failure's own sentence is kept, where it has one. */
static bg_status call(bg_runner_forward function, void *user, const bg_context *context, cudaStream_t stream,
                      const char *what)
{
    char hidden = bg__fail_hide();
    bg_status status = function(user, context, stream);

    bg__pending_note(); /* it may have left an error of its own */
    if (status != BG_OK && bg_last_error()[0] == '\0')
        bg__fail(status, "%s returned %s (%s)", what, bg_status_name(status), bg_status_text(status));
    bg__fail_unhide(hidden);
    return status;
}

bg_status bg__pass_prepare(bg_runner *runner, const bg_context *context)
{
    const bg_runner_config *config = &runner->config;
    bg_status status;

    if (config->prepare == NULL)
        return BG_OK;
    status = call(config->prepare, config->callback_user, context, runner->stream, "it");
    if (status != BG_OK)
        bg__fail_where("config.prepare");
    return status;
}

bg_status bg__pass_open_bucket(bg_runner *runner, const char *name)
{
    bg_status status;

    if (runner->bucket_left)
        BG__TRY(bg__pool_bucket_end(runner->pool, NULL));
    runner->bucket_left = false;
    BG__TRY(bg__pool_bucket_begin(runner->pool, name));
done:
    return status;
}

/* Whether forward began a capture of breakgraph's and did not end it. */
static bool left_capture(const bg_capture *before)
{
    const bg_capture *now = bg__live_mine();
    return now != NULL && now != before;
}

/* The same of bare ones, too. */
static bg_status check_left(const bg_runner *runner, const bg_capture *before)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    bool left = left_capture(before);
    bg_status status = BG_OK;

    if (!left && runner->stream != cudaStreamLegacy)
        BG__TRY_CUDA(cudaStreamIsCapturing(runner->stream, &capturing));
    if (left || capturing != cudaStreamCaptureStatusNone)
        status = bg__fail(BG_ERROR_BUSY, "the forward pass left a capture open that it began; it has to end or abort "
                                         "that before it returns");
done:
    return status;
}

bg_status bg__pass_eager(bg_runner *runner, const bg_context *context)
{
    bg__thread *self = bg__thread_self();
    const bg_capture *capture = bg__live_mine();
    bg_phase before = self->phase;
    bg_status status;

    BG__TRY(bg__pass_open_bucket(runner, "an eager run"));
    if (context->phase == BG_PHASE_WARMUP)
        self->phase = BG_PHASE_WARMUP;
    status = call(runner->forward, runner->user, context, runner->stream, "the forward pass");
    if (context->phase == BG_PHASE_WARMUP && self->phase == BG_PHASE_WARMUP)
        self->phase = before;
    if (status == BG_OK)
        status = check_left(runner, capture);
    runner->bucket_left = left_capture(capture); /* that one may hold the pool */
    if (!runner->bucket_left)
        bg__pool_bucket_end(runner->pool, NULL);
done:
    return status;
}
