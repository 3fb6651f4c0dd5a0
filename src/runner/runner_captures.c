/* Captures of buckets: warm-up, the pass, and its report. */
#include "runner/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fails if the ranks do different things: each further bucket would only wait for the other ranks. */
static bg_status check_ranks_in_step(const bg_runner *runner)
{
    return runner->ranks.parted ? BG_ERROR_RANKS : BG_OK;
}

/* ---- how long captures take ---- */

void bg__capture_timer_start(bg_runner *runner)
{
    runner->began_ms = bg__now_ms();
}

static bg_status wait_for_device(const bg_runner *runner)
{
    bg__relaxed_mode relaxed;
    bg_status status;

    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY_CUDA(cudaStreamSynchronize(runner->stream));
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

bg_status bg__capture_timer_stop(const bg_runner *runner, bg__bucket *bucket)
{
    bg_status status;
    BG__TRY(wait_for_device(runner));
    bucket->took_ms = bg__now_ms() - runner->began_ms;
done:
    return status;
}

/* ---- one bucket ---- */

static bg_forward_context bucket_context(const bg__bucket *bucket, bg_phase phase)
{
    int request = bucket->query_len > 0 ? bucket->query_len : bucket->tokens;
    return (bg_forward_context){.mode = bucket->mode,
                                .batch = {.tokens = bucket->tokens,
                                          .requests = bucket->tokens / request,
                                          .max_query_len = request,
                                          .variant = bucket->variant,
                                          .uniform_decode = bucket->query_len > 0},
                                .padded_tokens = bucket->tokens,
                                .phase = phase};
}

/* The first pass of a process loads kernels and makes handles. If captures are timed, one more warm-up does that,
 * unless the program wants none. */
static bool needs_loading_pass(const bg_runner *runner)
{
    return !runner->loaded && runner->config.lazy == BG_LAZY_BACKGROUND && runner->config.warmups > 0;
}

static bg_status run_warm_up_pass(bg_runner *runner, const bg_forward_context *context)
{
    bg_status status = bg__pass_prepare(runner, context);
    if (status == BG_OK)
        status = bg__pass_run_eager(runner, context);
    if (status != BG_OK)
        bg__error_add_location("warm-up");
    return status;
}

static bg_status warm_up_bucket(bg_runner *runner, const bg__bucket *bucket)
{
    bg_forward_context context = bucket_context(bucket, BG_PHASE_WARMUP);
    bg_status status;

    /* Eager runs use the overrides of the last capture. */
    status = bg__forward_reload_overrides(runner->eager, runner->config.eager_ops);
    if (status != BG_OK)
        return status;
    bg__pass_ops_observe_begin(runner);
    bg__context_set(&context);
    if (needs_loading_pass(runner)) {
        status = run_warm_up_pass(runner, &context);
        if (status == BG_OK)
            status = wait_for_device(runner);
        bg__capture_timer_start(runner);
    }
    runner->loaded = true;
    for (int i = 0; i < runner->config.warmups && status == BG_OK; i++)
        status = run_warm_up_pass(runner, &context);
    bg__context_reset();
    bg__pass_ops_observe_end();
    return status;
}

/* A failure on any rank becomes a failure on all ranks. */
static bg_status share_failure(bg_runner *runner, bg_status status, const char *when, const char *name)
{
    char what[160];
    snprintf(what, sizeof what, "%s of %s", when, name);
    return bg__ranks_share_failure(&runner->ranks, what, status);
}

/* ---- hooks around its capture ---- */

typedef struct bucket_capture {
    bg_runner *runner;
    bg__bucket *bucket;
    const char *name;
    const bg_forward_context *context;
    bool open;
} bucket_capture;

/* Other ranks wait before the capture, so a failure is sent to them there. */
static bg_status open_bucket(void *user)
{
    bucket_capture *c = user;
    bg_status status = bg__pool_bucket_begin(c->runner->pool, c->name);

    c->open = status == BG_OK;
    if (status == BG_OK)
        status = bg__pass_prepare(c->runner, c->context);
    if (status != BG_OK)
        (void)bg__ranks_agree_on_begin(&c->runner->ranks, c->name, NULL, false, status);
    return status;
}

static void close_bucket(void *user)
{
    bucket_capture *c = user;
    bg__bucket_stats figures = {0};

    if (!c->open)
        return;
    c->open = false;
    bg__pool_bucket_end(c->runner->pool, &figures);
    c->bucket->pool_bytes = figures.bytes;
}

static bg_status capture_graph(bg_runner *runner, bg__bucket *bucket, const char *name)
{
    bg_forward_context context = bucket_context(bucket, BG_PHASE_CAPTURE);
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bucket_capture warm_up_and_capture = {runner, bucket, name, &context, false};
    bg__bucket_hooks around = {
        .open = open_bucket, .close = close_bucket, .user = &warm_up_and_capture, .rows = bucket->tokens};
    bg_status status;

    options.name = name;
    options.debug = runner->config.debug;
    options.level = runner->config.level;
    if (runner->config.compile_sizes != NULL && strcmp(runner->config.compile_sizes, "schedule") != 0)
        options.compile_sizes = runner->config.compile_sizes;
    status = bg__compile_needs_proofs(options.level, &options.launch_segments);
    if (status != BG_OK)
        return share_failure(runner, status, "the level", name);
    options.inline_eager = bucket->mode == BG_MODE_FULL;
    options.eager_ops = runner->config.eager_ops;
    options.worker_threads = runner->config.worker_threads;
    options.pool = runner->pool;
    options.state = runner->config.state;
    options.state_count = runner->config.state_count;
    options.ranks = bg__ranks_table(&runner->ranks);
    bg__pass_ops_observe_begin(runner);
    bg__context_set(&context);
    status = open_bucket(&warm_up_and_capture);
    if (status == BG_OK)
        status = bg__capture_forward(&bucket->graph, bg__pass_forward, runner, runner->stream, &options, &around);
    bg__context_reset();
    bg__pass_ops_observe_end();
    if (bucket->graph != NULL) {
        bucket->poison = around.poison;
        bucket->padding = around.padding;
        bucket->unbatched = bucket_context(bucket, BG_PHASE_REPLAY);
        bucket->graph->root.context = &bucket->unbatched;
        status = bg__buffers_record(runner, bucket->tokens, bucket->graph);
    }
    status = share_failure(runner, status, "the capture", name);
    if (status != BG_OK) {
        bg_graph_destroy(bucket->graph);
        bucket->graph = NULL;
    }
    close_bucket(&warm_up_and_capture);
    return status;
}

/* Keeps the reason, and warns. */
static void record_failure(bg__bucket *bucket, const char *name)
{
    bucket->failure = strdup(bg_last_error());
    bg__warn("%s could not be captured, so its batches run eagerly: %s%s", name,
             bucket->failure ? bucket->failure : "out of host memory for the reason",
             bucket->mode == BG_MODE_FULL
                 ? "; a full graph also includes the eager ops: lower the graph_support of an op that cannot be "
                   "captured (bg_op_set_attributes), or set the mode piecewise"
                 : "");
    if (bucket->failure == NULL)
        bucket->failure = calloc(1, 1);
}

/* A failure of the pass becomes the bucket's, and OK is returned; *failed keeps the first one. fill: the static inputs
 * hold no batch. */
static bg_status warm_up_and_capture(bg_runner *runner, bg__bucket *bucket, bool fill, bool *replanned,
                                     bg_status *failed)
{
    bg_status status = BG_OK, pass = BG_OK;
    char name[80];

    *replanned = false;
    bg__bucket_name(bucket, name, sizeof name);
    free(bucket->failure);
    bucket->failure = NULL;
    bg_graph_destroy(bucket->graph);
    bucket->graph = NULL;
    if (fill && !runner->ranks.there)
        BG__TRY(bg__inputs_fill_padding(runner, bucket->tokens));
    else if (fill)
        pass = bg__inputs_fill_padding(runner, bucket->tokens); /* all ranks must go on to the next bucket */
    if (pass == BG_OK)
        pass = warm_up_bucket(runner, bucket);
    pass = share_failure(runner, pass, "the warm-up", name);
    BG__TRY(check_ranks_in_step(runner));
    if (pass == BG_OK && !runner->resolved && runner->config.warmups > 0) {
        BG__TRY(bg__pass_ops_resolve(runner, replanned));
        if (*replanned)
            goto done;
    }
    if (pass == BG_OK)
        pass = capture_graph(runner, bucket, name);
    BG__TRY(check_ranks_in_step(runner));
    if (!runner->resolved && (pass == BG_OK || runner->config.warmups == 0)) {
        char *text = pass == BG_OK ? NULL : strdup(bg_last_error());
        status = bg__pass_ops_resolve(runner, replanned);
        if (status == BG_OK && text != NULL)
            bg__fail(pass, "%s", text);
        free(text);
        if (status != BG_OK || *replanned)
            goto done;
    }
    bg__count_capture(bucket->graph, bucket->captured_before);
    bucket->captured_before |= bucket->graph != NULL;
    if (pass != BG_OK)
        record_failure(bucket, name);
    if (pass != BG_OK && *failed == BG_OK)
        *failed = pass;
done:
    return status;
}

/* Restores after a failure, too, and returns the first one. */
static bg_status restore_state_keeping_error(const bg__state *state, bg_status status, cudaStream_t stream)
{
    char text[1024];
    bg_status restored;

    snprintf(text, sizeof text, "%s", bg_last_error());
    restored = bg__state_restore(state, stream);
    if (status == BG_OK)
        return restored;
    bg__error_set_text(text);
    return status;
}

/* Saves the first rows of the buffers. */
static bg_status save_buffers(const bg_runner *runner, const bg__buffers *buffers, int rows, bg__state *state)
{
    const char *what = buffers == &runner->inputs ? "input" : "output";
    bg_tensor *tensors = calloc(buffers->count + 1, sizeof *tensors);
    bg_status status;

    if (tensors == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu %ss", buffers->count, what);
    for (size_t i = 0; i < buffers->count; i++) {
        tensors[i] = buffers->list[i].tensor;
        tensors[i].dim[0] = rows;
    }
    status = bg__state_save(state, tensors, buffers->count, what, runner->stream);
    free(tensors);
    return status;
}

/* Inputs are saved, since a batch's source may be a view of an output, which the pass writes. Outputs are saved, since
 * they may still be views of the last batch. */
bg_status bg__capture_bucket(bg_runner *runner, bg__bucket *bucket, bool batch, bool *replanned)
{
    const bg_runner_config *config = &runner->config;
    bg__state state = {NULL, 0}, inputs = {NULL, 0}, outputs = {NULL, 0};
    bg_status failed = BG_OK, status;

    *replanned = false;
    status = bg__state_save(&state, config->state, config->state_count, "config.state", runner->stream);
    if (status == BG_OK)
        status = save_buffers(runner, &runner->inputs, bucket->tokens, &inputs);
    if (status == BG_OK && !batch)
        status = save_buffers(runner, &runner->outputs, bucket->tokens, &outputs);
    BG__TRY(share_failure(runner, status, "before the capture", "a lazy bucket"));
    status = warm_up_and_capture(runner, bucket, !batch, replanned, &failed);
    status = restore_state_keeping_error(&state, status, runner->stream);
    status = restore_state_keeping_error(&inputs, status, runner->stream);
    status = restore_state_keeping_error(&outputs, status, runner->stream);
done:
    bg__state_free(&state);
    bg__state_free(&inputs);
    bg__state_free(&outputs);
    return status;
}

/* ---- all of them ---- */

static bool is_chosen_bucket(const bg_runner *runner, const bg__bucket *bucket, bool only_largest)
{
    return !only_largest || bg__bucket_is_largest(runner, bucket);
}

static int count_chosen_buckets(const bg_runner *runner, bool only_largest)
{
    int count = 0;
    for (int i = 0; i < runner->plan.bucket_count; i++)
        count += is_chosen_bucket(runner, runner->plan.order[i], only_largest);
    return count;
}

/* only_largest: the largest bucket of each group. */
static bg_status capture_buckets(bg_runner *runner, bool only_largest, bg_status *failed, char **why)
{
    bool expects = true;
    bg__progress progress = bg__progress_begin("capture", 0, count_chosen_buckets(runner, only_largest));
    bg_status status = BG_OK;
    bool replanned;

    progress.shown = progress.shown && (!runner->ranks.there || runner->ranks.table.rank == 0);
    for (int i = 0; i < runner->plan.bucket_count; i++) {
        bool first = *failed == BG_OK;
        if (!is_chosen_bucket(runner, runner->plan.order[i], only_largest))
            continue;
        bg__capture_timer_start(runner);
        BG__TRY(warm_up_and_capture(runner, runner->plan.order[i], true, &replanned, failed));
        if (first && *failed != BG_OK)
            *why = strdup(bg_last_error());
        if (replanned) {
            progress.total = count_chosen_buckets(runner, only_largest);
            progress.done = 0;
            i = -1;
            continue;
        }
        if (expects && runner->plan.order[i]->graph != NULL) {
            bg__runner_estimate_memory(runner, runner->plan.order[i]);
            expects = false;
        }
        if (runner->config.lazy == BG_LAZY_BACKGROUND)
            BG__TRY(bg__capture_timer_stop(runner, runner->plan.order[i]));
        bg__capture_progress_step(&progress, runner, runner->plan.order[i]);
    }
done:
    bg__capture_progress_end(&progress, runner);
    return status;
}

static void clear_failures(bg_runner *runner)
{
    for (int i = 0; i < runner->plan.bucket_count; i++) {
        free(runner->plan.order[i]->failure);
        runner->plan.order[i]->failure = NULL;
    }
}

static bool has_captured_bucket(const bg_runner *runner)
{
    for (int i = 0; i < runner->plan.bucket_count; i++)
        if (runner->plan.order[i]->graph != NULL)
            return true;
    return runner->plan.bucket_count == 0;
}

bg_status bg_runner_capture(bg_runner *runner)
{
    bg_status status, failed = BG_OK;
    bg__state state = {NULL, 0};
    bool only_largest;
    char *why = NULL;

    BG__NEED(runner);
    bg__foreign_error_note();
    status = bg__runner_check_not_running(runner, __func__);
    if (status != BG_OK)
        return status; /* the call that is going on has the pool */
    status = bg__runner_check_thread_device(runner, __func__);
    if (status == BG_OK)
        status = bg__runner_check_can_capture(__func__);
    if (status == BG_OK)
        status = bg__runner_lock_pool(runner, __func__);
    BG__TRY(bg__runner_agree(runner, status));
    runner->frozen = runner->started = true;
    only_largest = runner->config.lazy == BG_LAZY_BACKGROUND && !has_captured_bucket(runner);
    if (runner->config.lazy == BG_LAZY_ON_DEMAND && runner->plan.bucket_count > 0 && !has_captured_bucket(runner)) {
        clear_failures(runner); /* the next batches try again */
        goto done;
    }
    runner->running = true;
    status = bg__state_save(&state, runner->config.state, runner->config.state_count, "config.state", runner->stream);
    status = bg__ranks_share_failure(&runner->ranks, "before the first capture of the runner", status);
    runner->before = bg__device_free_bytes();
    runner->expected = 0;
    if (status == BG_OK)
        status =
            restore_state_keeping_error(&state, capture_buckets(runner, only_largest, &failed, &why), runner->stream);
    runner->after = bg__device_free_bytes();
    runner->running = false;
    if (status == BG_OK && failed != BG_OK && !has_captured_bucket(runner))
        status = bg__fail(failed, "bg_runner_capture: no bucket could be captured; the first failed with: %s",
                          why ? why : "");
done:
    bg__runner_unlock_pool(runner);
    bg__state_free(&state);
    free(why);
    return status;
}
