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

bg_status bg__pass_eager(bg_runner *runner, const bg_context *context)
{
    bg_phase before = bg__thread_self()->phase;
    bg_status status;

    BG__TRY(bg__pool_bucket_begin(runner->pool, "an eager run"));
    if (context->phase == BG_PHASE_WARMUP)
        bg__thread_self()->phase = BG_PHASE_WARMUP;
    {
        char hidden = bg__fail_hide();
        status = runner->forward(runner->user, context, runner->stream);
        if (status != BG_OK && bg_last_error()[0] == '\0')
            bg__fail(status, "the forward pass returned %s (%s)", bg_status_name(status), bg_status_text(status));
        bg__fail_unhide(hidden);
    }
    bg__thread_self()->phase = before;
    bg__pool_bucket_end(runner->pool, NULL);
done:
    return status;
}
