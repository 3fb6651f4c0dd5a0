/* One batch: choose, bring in, run, hand out. */
#include "runner/runner.h"

static bg_status check_batch(const bg_batch *batch)
{
    if (batch->tokens < 1 || batch->requests < 0 || batch->max_query_len < 0 || batch->variant < 0)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "the batch has %d tokens, %d requests, a longest query of %d tokens and variant %d; at least 1 "
                        "token is needed, and nothing negative",
                        batch->tokens, batch->requests, batch->max_query_len, batch->variant);
    if (batch->requests > batch->tokens || batch->max_query_len > batch->tokens)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "the batch has %d tokens, but %d requests and a longest query of %d tokens", batch->tokens,
                        batch->requests, batch->max_query_len);
    if (batch->uniform_decode && (long long)batch->requests * batch->max_query_len != batch->tokens)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "the batch is uniform_decode, but %d requests of %d tokens are not its %d tokens",
                        batch->requests, batch->max_query_len, batch->tokens);
    if (batch->tokens > BG__TOKENS_MAX)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "the batch has %d tokens; a runner takes at most %d", batch->tokens,
                        BG__TOKENS_MAX);
    return BG_OK;
}

/* The bucket that the batch may run by, or NULL and why not; *why: the veto's own words, or NULL. */
static bg_status choose(bg_runner *runner, const bg_batch *batch, bg__bucket **bucket, bg_reason *reason,
                        const char **why)
{
    const bg_runner_config *config = &runner->config;
    int tokens = batch->tokens;

    *why = NULL;

    if (config->pad_across_ranks != NULL) {
        tokens = config->pad_across_ranks(config->callback_user, tokens);
        if (tokens < batch->tokens)
            return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                            "config.pad_across_ranks answered %d for %d tokens; no rank may run fewer than it has",
                            tokens, batch->tokens);
    }
    *bucket = bg__dispatch(runner, batch, tokens, reason);
    if (*bucket != NULL && config->veto != NULL && config->veto(config->callback_user, batch, why)) {
        *bucket = NULL;
        *reason = BG_REASON_VETO;
    }
    return BG_OK;
}

static void explain(const bg_runner *runner, const bg_batch *batch, bg_reason reason, const char *why)
{
    const char *mode = bg__mode_name(runner->mode);
    switch (reason) {
    case BG_REASON_NONE: return;
    case BG_REASON_MODE_NONE:
        bg__fail(BG_ERROR_UNSUPPORTED, "the mode %s runs %s batches eagerly", mode,
                 batch->uniform_decode ? "such decode" : "mixed");
        return;
    case BG_REASON_TOO_LARGE:
        bg__fail(BG_ERROR_UNSUPPORTED, "%d tokens are more than the largest bucket has; extend config.schedule",
                 batch->tokens);
        return;
    case BG_REASON_PADDING:
        bg__fail(BG_ERROR_UNSUPPORTED,
                 "the bucket of a batch of %d tokens is more than config.max_padding (%g) times as large",
                 batch->tokens, runner->config.max_padding);
        return;
    case BG_REASON_VETO:
        bg__fail(BG_ERROR_UNSUPPORTED, "config.veto refuses: %s", why ? why : "it gives no reason");
        return;
    case BG_REASON_CAPTURE_FAILED:
        bg__fail(BG_ERROR_UNSUPPORTED, "the batch's bucket could not be captured; bg_runner_get_bucket tells why");
        return;
    case BG_REASON_NOT_CAPTURED:
        bg__fail(BG_ERROR_UNSUPPORTED, "the batch's bucket is not captured; call bg_runner_capture, and see "
                                       "config.variants");
        return;
    }
}

bool bg_runner_can_run(bg_runner *runner, const bg_batch *batch, bg_reason *reason)
{
    bg_reason found = BG_REASON_NONE;
    bg__bucket *bucket = NULL;
    const char *why = NULL;

    if (runner == NULL || batch == NULL) {
        bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_runner_can_run: %s is NULL", runner ? "batch" : "runner");
        return false;
    }
    if (check_batch(batch) != BG_OK || choose(runner, batch, &bucket, &found, &why) != BG_OK) {
        bg__fail_where("bg_runner_can_run");
        return false;
    }
    if (reason != NULL)
        *reason = found;
    explain(runner, batch, found, why);
    return bucket != NULL;
}

/* Brings the batch in, and captures its bucket first where it is lazy: on this batch, which may lie in the static
 * buffers already. At the first capture the mode may be found too high: then the batch is sent out anew. */
static bg_status load(bg_runner *runner, const bg_batch *batch, const bg_tensor *inputs, bg__bucket **bucket,
                      bg_reason *reason)
{
    const char *why;
    bg_status status;
    for (;;) {
        bool replanned = false;
        BG__TRY(bg__inputs_load(runner, inputs, batch->tokens, *bucket ? (*bucket)->tokens : batch->tokens));
        if (*bucket == NULL || (*bucket)->graph != NULL)
            goto done;
        BG__TRY(bg__capture_lazily(runner, *bucket, &replanned));
        if (replanned) {
            BG__TRY(choose(runner, batch, bucket, reason, &why));
        } else if ((*bucket)->graph == NULL) {
            *bucket = NULL;
            *reason = BG_REASON_CAPTURE_FAILED;
        }
    }
done:
    return status;
}

static bg_status run_pass(bg_runner *runner, const bg__bucket *bucket, const bg_context *context)
{
    bg_status status;

    BG__TRY(bg__pass_prepare(runner, context));
    status = bucket != NULL ? bg_replay(bucket->graph, runner->stream) : bg__pass_eager(runner, context);
done:
    return status;
}

static bg_status run(bg_runner *runner, const bg_batch *batch, const bg_tensor *inputs, bg_tensor *outputs,
                     void *context_user)
{
    bg_context context = {.mode = BG_MODE_NONE, .batch = *batch, .phase = BG_PHASE_PLAIN, .user = context_user};
    bg__bucket *bucket;
    bg_reason reason;
    const char *why;
    bg_status status;

    BG__TRY(bg__outputs_check(runner, outputs, batch->tokens));
    BG__TRY(choose(runner, batch, &bucket, &reason, &why));
    BG__TRY(bg__buffers_grow(runner, batch->tokens));
    BG__TRY(load(runner, batch, inputs, &bucket, &reason));
    context.padded_tokens = batch->tokens;
    if (bucket != NULL) {
        context.mode = bucket->mode;
        context.padded_tokens = bucket->tokens;
        context.phase = BG_PHASE_REPLAY;
        context.replay = bucket->graph->replays;
    }
    bg__context_set(&context);
    status = run_pass(runner, bucket, &context);
    bg__context_reset();
    if (status != BG_OK)
        goto done;
    BG__TRY(bg__outputs_store(runner, outputs, batch->tokens));
    if (bucket != NULL) {
        bucket->replays++;
        bg__count_replay(bucket->mode, bucket->tokens - batch->tokens);
    } else {
        bg__count_eager(reason);
    }
done:
    return status;
}

bg_status bg__runner_check_idle(const bg_runner *runner, const char *function)
{
    if (bg__context_is_set())
        return bg__fail(BG_ERROR_BUSY, "%s: this thread is in a run of a runner already; runs do not nest", function);
    if (runner->running)
        return bg__fail(BG_ERROR_BUSY,
                        "%s: the runner is busy, in another thread or in a callback of its own; it serves one at a "
                        "time",
                        function);
    return BG_OK;
}

bg_status bg_runner_run(bg_runner *runner, const bg_batch *batch, const bg_tensor *inputs, bg_tensor *outputs,
                        void *context_user)
{
    bg_status status;

    BG__NEED(runner);
    BG__NEED(batch);
    bg__pending_note();
    BG__TRY(bg__runner_check_idle(runner, __func__));
    status = check_batch(batch);
    if (status != BG_OK) {
        bg__fail_where("bg_runner_run");
        goto done;
    }
    runner->running = runner->frozen = true;
    status = run(runner, batch, inputs, outputs, context_user);
    runner->running = false;
done:
    return status;
}
