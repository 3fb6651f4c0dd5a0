/* The forward context, and passes outside graphs. */
#include "runner/runner.h"

#include "capture/replay.h"

static _Thread_local const bg_forward_context *current_context;

void bg__context_set(bg_forward_context *context)
{
    current_context = context;
}

void bg__context_reset(void)
{
    current_context = NULL;
}

bool bg__context_is_set(void)
{
    return current_context != NULL;
}

/* The context of the bucket whose graph this thread replays outside a run (bg_runner_get_graph); NULL: none. */
static const bg_forward_context *find_replay_context(void)
{
    const bg__call *call_callback = bg__thread_self()->call;
    while (call_callback != NULL && call_callback->parent != NULL)
        call_callback = call_callback->parent;
    return call_callback != NULL ? call_callback->context : NULL;
}

const bg_forward_context *bg_forward_context_get(void)
{
    const bg_forward_context *context = current_context != NULL ? current_context : find_replay_context();
    if (context == NULL)
        bg__fail(BG_ERROR_NOT_FOUND,
                 "bg_forward_context_get: this thread is not in a run of a runner; the context is set only during "
                 "bg_runner_run, bg_runner_capture and replays of a runner's graph");
    return context;
}

/* Calls a function of the program; what: its name in messages. Keeps the error message that a failed function has set.
 */
static bg_status call_callback(bg_runner_forward function, void *user, const bg_forward_context *context,
                               cudaStream_t stream, const char *what)
{
    char hidden = bg__error_set_aside();
    bg_status status = function(user, context, stream);

    bg__foreign_error_note(); /* the function may have left a CUDA error of its own */
    if (status != BG_OK && bg_last_error()[0] == '\0')
        bg__fail(status, "%s returned %s (%s)", what, bg_status_name(status), bg_status_text(status));
    bg__error_restore(hidden);
    return status;
}

bg_status bg__pass_prepare(bg_runner *runner, const bg_forward_context *context)
{
    const bg_runner_config *config = &runner->config;
    bg_status status;

    if (config->prepare == NULL)
        return BG_OK;
    status = call_callback(config->prepare, config->callback_user, context, runner->stream, "it");
    if (status != BG_OK)
        bg__error_add_location("config.prepare");
    return status;
}

bg_status bg__pass_forward(void *user, cudaStream_t stream)
{
    const bg_forward_context *context = bg_forward_context_get();
    const bg_runner *runner = user;
    return context != NULL ? runner->forward(runner->user, context, stream) : BG_ERROR_NOT_FOUND;
}

bg_status bg__pass_create_eager_graph(bg_runner *runner)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    options.pool = runner->pool;
    options.eager_ops = runner->config.eager_ops;
    return bg__graph_create_forward(&runner->eager, "an eager run", bg__pass_forward, runner, &options);
}

bg_status bg__pass_run_eager(bg_runner *runner, const bg_forward_context *context)
{
    bg_phase phase = context->phase == BG_PHASE_WARMUP ? BG_PHASE_WARMUP : bg__forward_phase();
    return bg__forward_run(runner->eager, phase, runner->stream);
}
