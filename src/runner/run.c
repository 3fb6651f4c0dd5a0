/* Runs one batch: choose the bucket, copy the inputs in, run, copy the outputs out. */
#include "runner/runner.h"

#include <stdio.h>
#include <stdlib.h>

static bg_status check_batch(const bg_batch *batch)
{
    if (batch->tokens < 1 || batch->requests < 0 || batch->max_query_len < 0 || batch->variant < 0)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "the batch has %d tokens, %d requests, a longest query of %d tokens and variant %d; tokens "
                        "must be at least 1, and nothing negative",
                        batch->tokens, batch->requests, batch->max_query_len, batch->variant);
    if (batch->requests > batch->tokens || batch->max_query_len > batch->tokens)
        return bg__fail(
            BG_ERROR_INVALID_ARGUMENT,
            "the batch has %d tokens, but %d requests and a longest query of %d tokens; neither may exceed its tokens",
            batch->tokens, batch->requests, batch->max_query_len);
    if (batch->uniform_decode && (long long)batch->requests * batch->max_query_len != batch->tokens)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "the batch is uniform_decode, but %d requests of %d tokens do not make its %d tokens",
                        batch->requests, batch->max_query_len, batch->tokens);
    if (batch->tokens > BG__TOKENS_MAX)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "the batch has %d tokens; a runner takes at most %d", batch->tokens,
                        BG__TOKENS_MAX);
    return BG_OK;
}

typedef struct choice {
    bg__bucket *bucket;  /* NULL: the batch runs eagerly */
    bg_reason reason;    /* why */
    const char *why;     /* the veto's own words, or NULL */
    int tokens;          /* that the bucket must hold: the batch's, or the result of config.pad_across_ranks */
    bg__bucket *missing; /* the batch's own bucket, if its capture in the background is still to come; else NULL */
} choice;

static bg_status pad_across_ranks(const bg_runner_config *config, int *tokens)
{
    char hidden = bg__error_set_aside();
    int answer = config->pad_across_ranks(config->callback_user, *tokens);

    bg__foreign_error_note(); /* the callback may have left a CUDA error of its own */
    if (answer < 0 && bg_last_error()[0] != '\0') {
        bg__error_add_location("config.pad_across_ranks");
        return BG_ERROR_RANKS;
    }
    if (answer < 0)
        return bg__fail(
            BG_ERROR_RANKS,
            "config.pad_across_ranks failed: it returned %d for %d tokens, without a message; let it report its "
            "error with bg_report_failure",
            answer, *tokens);
    if (answer < *tokens)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "config.pad_across_ranks returned %d for %d tokens; return at least the rank's own tokens",
                        answer, *tokens);
    bg__error_restore(hidden);
    *tokens = answer;
    return BG_OK;
}

static bg_status choose_bucket(bg_runner *runner, const bg_batch *batch, choice *made)
{
    const bg_runner_config *config = &runner->config;
    int tokens = batch->tokens;
    bg__dispatch_result found;
    bg_status status = BG_OK;

    *made = (choice){.bucket = NULL};
    if (config->pad_across_ranks != NULL)
        BG__TRY(pad_across_ranks(config, &tokens));
    found = bg__dispatch_batch(runner, batch, tokens);
    *made = (choice){.bucket = found.bucket, .reason = found.reason, .tokens = tokens, .missing = found.missing};
    if (made->bucket != NULL && config->veto != NULL && config->veto(config->callback_user, batch, &made->why)) {
        made->bucket = made->missing = NULL;
        made->reason = BG_REASON_VETO;
    }
done:
    return status;
}

static void explain_choice(const bg_runner *runner, const bg_batch *batch, const choice *made)
{
    const char *mode = bg__mode_name(runner->mode);
    char miss[200];
    switch (made->reason) {
    case BG_REASON_NONE: return;
    case BG_REASON_MODE_NONE:
        if (bg__batch_miss_text(runner, batch, miss, sizeof miss)[0] != '\0')
            bg__fail(BG_ERROR_UNSUPPORTED,
                     "no graph was captured for decode batches of %s, and the mode %s has none for mixed ones, so "
                     "they run eagerly",
                     miss, mode);
        else
            bg__fail(BG_ERROR_UNSUPPORTED, "the mode %s has no graphs for %s batches, so they run eagerly", mode,
                     batch->uniform_decode ? "decode" : "mixed");
        return;
    case BG_REASON_TOO_LARGE:
        bg__fail(BG_ERROR_UNSUPPORTED,
                 "%d tokens are more than the largest bucket has; raise config.max_tokens, or add larger sizes to "
                 "config.schedule",
                 made->tokens);
        return;
    case BG_REASON_PADDING:
        bg__fail(BG_ERROR_UNSUPPORTED,
                 "the bucket for %d tokens has more than %g times as many; raise config.max_padding, or add sizes "
                 "to config.schedule",
                 made->tokens, runner->config.max_padding);
        return;
    case BG_REASON_VETO:
        bg__fail(BG_ERROR_UNSUPPORTED, "config.veto rejects the batch: %s", made->why ? made->why : "no reason given");
        return;
    case BG_REASON_CAPTURE_FAILED:
        bg__fail(BG_ERROR_UNSUPPORTED,
                 "the batch's bucket could not be captured; bg_runner_get_bucket returns the reason");
        return;
    case BG_REASON_NOT_CAPTURED:
        if (batch->variant >= runner->config.variants)
            bg__fail(BG_ERROR_UNSUPPORTED, "no graph was captured for batches of %s, so they run eagerly",
                     bg__batch_miss_text(runner, batch, miss, sizeof miss));
        else
            bg__fail(BG_ERROR_UNSUPPORTED, "the batch's bucket is not captured; call bg_runner_capture%s",
                     runner->config.lazy == BG_LAZY_BACKGROUND ? " and bg_runner_idle" : "");
        return;
    case BG_REASON_UNSUPPORTED:
        bg__fail(BG_ERROR_UNSUPPORTED,
                 "device %d does not support virtual memory management, which a runner's graphs need; all batches "
                 "run eagerly",
                 runner->device);
        return;
    }
}

bool bg_runner_can_run(bg_runner *runner, const bg_batch *batch, bg_reason *reason)
{
    choice made = {.reason = BG_REASON_NONE};
    bg_status status;
    bool running;

    if (reason != NULL)
        *reason = BG_REASON_NONE;
    if (runner == NULL || batch == NULL) {
        bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_runner_can_run: %s is NULL", runner ? "batch" : "runner");
        return false;
    }
    running = runner->running; /* this function may be called during a run, too */
    runner->running = true;
    status = check_batch(batch);
    if (status == BG_OK)
        status = choose_bucket(runner, batch, &made);
    runner->running = running;
    if (status != BG_OK) {
        bg__error_add_location("bg_runner_can_run");
        return false;
    }
    if (reason != NULL)
        *reason = made.reason;
    explain_choice(runner, batch, &made);
    return made.bucket != NULL;
}

/* ---- what all ranks choose ---- */

static bg_status agree_on_choice(bg_runner *runner, const bg_batch *batch, const choice *made, bg_status status)
{
    char text[400] = "", name[80], kept[1024];
    bg_status agreed;

    if (!runner->compares)
        return status;
    snprintf(kept, sizeof kept, "%s", bg_last_error());
    agreed = bg__runner_agree_once(runner);
    if (agreed != BG_OK && status != BG_OK)
        bg__error_set_text(kept);
    if (agreed != BG_OK)
        return status != BG_OK ? status : agreed;
    if (status == BG_OK && made->bucket != NULL) {
        bg__bucket_name(made->bucket, name, sizeof name);
        snprintf(text, sizeof text, "%d tokens of variant %d by the graph %s", made->tokens, batch->variant, name);
    } else if (status == BG_OK) {
        explain_choice(runner, batch, made);
        snprintf(text, sizeof text, "%d tokens of variant %d eagerly, since %.300s", made->tokens, batch->variant,
                 bg_last_error());
        bg__error_set_text(kept);
    }
    return bg__ranks_agree_after(&runner->ranks, "how the batch is to run", text, status);
}

/* ---- the run ---- */

static bool needs_lazy_capture(const choice *made)
{
    return made->bucket != NULL && made->bucket->graph == NULL;
}

/* Returns the rows that a pass computes. With BG_DEBUG=forward it is the batch's own rows, as in an eager run. */
static int count_padded_tokens(const bg_batch *batch, const bg__bucket *bucket)
{
    bool eager = bucket == NULL || (bucket->graph != NULL && bucket->graph->forward != NULL);
    return eager ? batch->tokens : bucket->tokens;
}

static bg_status load_inputs(bg_runner *runner, const bg_batch *batch, const bg_tensor *inputs, choice *made)
{
    bool lazy = needs_lazy_capture(made), cannot = false;
    bg_status status;

    if (lazy) {
        cannot = bg__runner_check_can_capture("bg_runner_run") != BG_OK;
        BG__TRY(bg__runner_agree_on_lazy(runner, made->bucket, &cannot));
    }
    if (cannot)
        *made = (choice){.reason = BG_REASON_NOT_CAPTURED, .tokens = made->tokens};
    status = bg__inputs_load(runner, inputs, batch->tokens, count_padded_tokens(batch, made->bucket));
    if (lazy)
        status =
            bg__ranks_share_failure(&runner->ranks, "the inputs of a batch whose bucket is to be captured", status);
done:
    return status;
}

/* Copies the batch into the static buffers and, if its bucket is lazy, captures the bucket on that batch. The first
 * capture may lower the mode and replace the buckets: then a bucket is chosen again. */
static bg_status load_batch(bg_runner *runner, const bg_batch *batch, const bg_tensor *inputs, choice *made)
{
    bg_status status;

    BG__TRY(load_inputs(runner, batch, inputs, made));
    while (needs_lazy_capture(made)) {
        bool replanned = false;
        BG__TRY(bg__capture_bucket(runner, made->bucket, true, &replanned));
        if (replanned) {
            BG__TRY(choose_bucket(runner, batch, made));
            BG__TRY(load_inputs(runner, batch, NULL, made));
        } else if (made->bucket->graph == NULL) {
            *made = (choice){.reason = BG_REASON_CAPTURE_FAILED, .tokens = made->tokens};
        }
    }
done:
    return status;
}

/* Saves the state for a check that replays. Returns false if it cannot: it warns, and the check is skipped. The batch
 * itself needs no copy. */
static bool save_state(const bg_runner *runner, const bg_graph *graph, unsigned check, bg__state *state)
{
    const bg_runner_config *config = &runner->config;
    char hidden = bg__error_set_aside(), why[1024]; /* hidden: the earlier bg_last_error() */
    bg_status status = bg__state_save(state, config->state, config->state_count, "config.state", runner->stream);

    if (status != BG_OK) {
        snprintf(why, sizeof why, "%s", bg_last_error());
        bg__warn("BG_CHECK=%s: %s could not be checked: %s", check == BG__CHECK_POISON ? "poison" : "padding",
                 graph->name, why);
        bg__debug_hooks.not_checked(graph, check, why);
    }
    bg__error_restore(hidden);
    return status == BG_OK;
}

/* Runs BG_CHECK=poison, which needs a batch. */
static bg_status check_poison(bg_runner *runner, bg__bucket *bucket)
{
    bg__state state = {NULL, 0};
    bg_status status = BG_OK;

    bucket->poison = false;
    if (!save_state(runner, bucket->graph, BG__CHECK_POISON, &state))
        goto done;
    bg__debug_hooks.check_poison(bucket->graph, runner->stream);
    BG__TRY(bg__state_restore(&state, runner->stream));
done:
    bg__state_free(&state);
    return status;
}

/* Lists the buffers that have a row for each token. */
static size_t add_padded_buffers(const bg__buffers *buffers, bool inputs, const bg_forward_context *context,
                                 bg__padded_buffer *list)
{
    size_t count = 0;
    for (size_t i = 0; i < buffers->count; i++) {
        const bg__buffer *b = &buffers->list[i];
        if (!b->by_tokens)
            continue;
        list[count] = (bg__padded_buffer){b->tensor, context->batch.tokens, BG__PADDED_OTHER};
        if (inputs && b->padding != BG_PAD_REPEAT_LAST)
            list[count].kind = b->padding == BG_PAD_ZERO   ? BG__PADDED_VALUE
                               : b->padding == BG_PAD_KEEP ? BG__PADDED_KEPT
                                                           : BG__PADDED_SENTINEL;
        list[count++].tensor.dim[0] = context->padded_tokens;
    }
    return count;
}

static bg_status list_padded_buffers(const bg_runner *runner, const bg_forward_context *context,
                                     bg__padded_buffer **list, size_t *count)
{
    *list = calloc(runner->inputs.count + runner->outputs.count + runner->extra.count + 1, sizeof **list);
    if (*list == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the buffers of a batch");
    *count = add_padded_buffers(&runner->inputs, true, context, *list);
    *count += add_padded_buffers(&runner->outputs, false, context, *list + *count);
    *count += add_padded_buffers(&runner->extra, false, context, *list + *count);
    return BG_OK;
}

/* Runs BG_CHECK=padding, except with several ranks: a rank whose batch fills its bucket would not replay. */
static bg_status check_padding(bg_runner *runner, bg__bucket *bucket, const bg_forward_context *context)
{
    bg__state state = {NULL, 0};
    bg__padded_buffer *buffers = NULL;
    size_t count = 0;
    bg_status status = BG_OK;

    bucket->padding = false;
    if (bg__ranks_table(&runner->ranks) != NULL) {
        bg__debug_hooks.not_checked(bucket->graph, BG__CHECK_PADDING,
                                    "the runner has several ranks, whose batches may differ");
        goto done;
    }
    if (!save_state(runner, bucket->graph, BG__CHECK_PADDING, &state))
        goto done;
    BG__TRY(list_padded_buffers(runner, context, &buffers, &count));
    bg__debug_hooks.check_padding(bucket->graph, buffers, count, runner->stream);
    BG__TRY(bg__state_restore(&state, runner->stream));
done:
    bg__state_free(&state);
    free(buffers);
    return status;
}

static bg_status run_pass(bg_runner *runner, bg__bucket *bucket, const bg_forward_context *context)
{
    bg_status status;

    BG__TRY(bg__pass_prepare(runner, context));
    if (bucket != NULL && bucket->poison)
        BG__TRY(check_poison(runner, bucket));
    if (bucket != NULL && bucket->padding && context->batch.tokens < context->padded_tokens)
        BG__TRY(check_padding(runner, bucket, context));
    status = bucket != NULL ? bg_replay(bucket->graph, runner->stream) : bg__runner_run_eagerly(runner, context);
done:
    return status;
}

/* Checks bound buffers before anything is copied, since the caller may have freed one. */
static bg_status check_bound_inputs(const bg_runner *runner, const bg__bucket *bucket)
{
    if (bucket == NULL || bucket->graph == NULL || (bucket->graph->watched & BG__CHECK_REPLAY) == 0)
        return BG_OK;
    for (size_t i = 0; i < runner->inputs.count; i++)
        if (runner->inputs.list[i].bound)
            return bg__debug_hooks.check_replay(bucket->graph, BG__CHECK_REPLAY, NULL);
    return BG_OK;
}

static void count_batch(bg_runner *runner, const bg_batch *batch, const choice *made, int padded)
{
    const bg__bucket *bucket = made->bucket;
    const bg__mix_run run = {
        .reason = bucket != NULL ? BG_REASON_NONE : made->reason, .tokens = made->tokens, .padded_tokens = padded};
    int larger = 0;

    if (made->missing != NULL) {
        made->missing->wanted++;
        larger = padded > made->missing->tokens ? padded - made->missing->tokens : 0;
    }
    if (bucket != NULL)
        bg__count_replay(bucket->mode, padded - larger - batch->tokens, larger);
    else
        bg__count_eager(made->reason);
    bg__misses_add_batch(runner, batch);
    if (bg__mix_add_batch(&runner->mix, bg__runner_family(runner, batch), batch, &run))
        bg__debug_hooks.runner_ran(runner);
}

/* Does all checks that may reject a batch, before anything is copied. */
static bg_status prepare_batch(bg_runner *runner, const bg_batch *batch, const bg_tensor *outputs, choice *made)
{
    bg_status status;

    BG__TRY(bg__runner_check_thread_device(runner, "bg_runner_run"));
    BG__TRY(bg__runner_lock_pool(runner, "bg_runner_run"));
    status = check_batch(batch);
    if (status != BG_OK) {
        bg__error_add_location("bg_runner_run");
        goto done;
    }
    BG__TRY(bg__outputs_check(runner, outputs, batch->tokens));
    BG__TRY(choose_bucket(runner, batch, made));
    BG__TRY(check_bound_inputs(runner, made->bucket));
done:
    return status;
}

static bg_status record_inputs_read(const bg_runner *runner)
{
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaEventRecord(runner->read, runner->stream));
done:
    if (status != BG_OK)
        bg__error_add_location("bg_runner_run: the event of bg_runner_inputs_read");
    return status;
}

static bg_status run_checked_batch(bg_runner *runner, const bg_batch *batch, const bg_tensor *inputs,
                                   bg_tensor *outputs, void *context_user)
{
    bg_forward_context context = {.mode = BG_MODE_NONE, .batch = *batch, .phase = BG_PHASE_PLAIN, .user = context_user};
    bg__bucket *bucket;
    choice made = {.bucket = NULL};
    bool copied = runner->read != NULL && bg__inputs_are_copied(runner, inputs);
    bg_status status = prepare_batch(runner, batch, outputs, &made);

    BG__TRY(agree_on_choice(runner, batch, &made, status));
    runner->frozen = true;
    BG__TRY(bg__buffers_grow(runner, batch->tokens));
    BG__TRY(load_batch(runner, batch, inputs, &made));
    if (copied)
        BG__TRY(record_inputs_read(runner));
    bucket = made.bucket;
    context.padded_tokens = count_padded_tokens(batch, bucket);
    if (bucket != NULL) {
        context.mode = bucket->mode;
        context.phase = BG_PHASE_REPLAY;
        context.replay = bucket->graph->replays;
    }
    bg__context_set(&context);
    if (bucket != NULL)
        bucket->graph->root.context = &context;
    status = run_pass(runner, bucket, &context);
    if (bucket != NULL)
        bucket->graph->root.context = &bucket->unbatched;
    bg__context_reset();
    if (status != BG_OK)
        goto done;
    if (runner->read != NULL && !copied)
        BG__TRY(record_inputs_read(runner));
    BG__TRY(bg__outputs_store(runner, outputs, batch->tokens));
    if (bucket != NULL)
        bucket->replays++;
    count_batch(runner, batch, &made, context.padded_tokens);
done:
    return status;
}

bg_status bg_runner_run(bg_runner *runner, const bg_batch *batch, const bg_tensor *inputs, bg_tensor *outputs,
                        void *context_user)
{
    bg_status status;

    BG__NEED(runner);
    BG__NEED(batch);
    bg__foreign_error_note();
    BG__TRY(bg__runner_check_not_running(runner, __func__));
    runner->running = true;
    status = run_checked_batch(runner, batch, inputs, outputs, context_user);
    bg__runner_unlock_pool(runner);
    runner->running = false;
done:
    return status;
}

bg_status bg_runner_inputs_read(bg_runner *runner, cudaEvent_t event)
{
    bg_status status;

    BG__NEED(runner);
    bg__foreign_error_note();
    BG__TRY(bg__runner_check_not_running(runner, __func__));
    runner->read = event;
done:
    return status;
}
