/* Runners: create and destroy. */
#include "runner/runner.h"

#include <stdlib.h>
#include <string.h>

static bg_status copy_state(bg_runner *runner)
{
    bg_runner_config *config = &runner->config;
    size_t count = config->state_count;

    if (count > 0) {
        runner->state = calloc(count, sizeof *runner->state);
        if (runner->state == NULL)
            return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu state tensors", count);
        memcpy(runner->state, config->state, count * sizeof *runner->state);
    }
    config->state = runner->state;
    return BG_OK;
}

static bg_status load_config(bg_runner *runner, const bg_runner_config *config)
{
    bg_runner_config checked;
    bg_status status;

    BG__TRY(bg__config_copy_checked(config, &runner->config));
    if (config->schedule != NULL)
        BG__TRY(bg_runner_config_set(&runner->config, "schedule", config->schedule));
    if (runner->config.query_lens != NULL) /* an older program's config has none */
        BG__TRY(bg_runner_config_set(&runner->config, "max_query_len", runner->config.query_lens));
    if (config->eager_ops != NULL)
        BG__TRY(bg_runner_config_set(&runner->config, "eager_ops", config->eager_ops));
    if (runner->config.compile_sizes != NULL)
        BG__TRY(bg_runner_config_set(&runner->config, "compile_sizes", runner->config.compile_sizes));
    BG__TRY(bg_runner_config_from_env(&runner->config));
    BG__TRY(bg__config_copy_checked(&runner->config, &checked));
    runner->config.variants = checked.variants; /* the environment's 0 means 1, too */
    BG__TRY(bg__query_lens_make(&checked, &runner->query_lens, &runner->query_len_count));
    BG__TRY(bg__mix_create(&runner->mix, runner->query_len_count, checked.max_tokens));
    BG__TRY(copy_state(runner));
    BG__TRY(bg__ranks_copy_table(&runner->ranks, runner->config.ranks, "config.ranks"));
    runner->compares = bg__runner_compares_choices(runner);
done:
    return status;
}

/* The lower of config.memory_limit and config.memory_fraction, in bytes; 0: no limit. */
static bg_status find_memory_limit(const bg_runner_config *config, size_t *limit)
{
    size_t free_bytes, total;
    bg_status status = BG_OK;

    *limit = config->memory_limit;
    if (config->memory_fraction == 0)
        return BG_OK;
    BG__TRY_CUDA(cudaMemGetInfo(&free_bytes, &total));
    total = (size_t)(config->memory_fraction * (double)total);
    if (*limit == 0 || total < *limit)
        *limit = total > 0 ? total : 1;
done:
    return status;
}

/* On a device without support for pools, every batch runs eagerly. */
static bg_status make_pool(bg_runner *runner)
{
    bg_pool_options options = BG_POOL_OPTIONS_INIT;
    bg_pool *shared = runner->config.pool;
    bg_status status;

    if (shared != NULL) {
        BG__TRY(bg__pool_check_device(shared, "bg_runner_create: config.pool"));
        bg__pool_retain(shared);
        runner->pool = shared;
        goto done;
    }
    BG__TRY(find_memory_limit(&runner->config, &options.limit_bytes));
    status = bg_pool_create(&runner->pool, &options);
    if (status != BG_ERROR_UNSUPPORTED)
        return status;
    bg__warn("a runner runs all batches eagerly: %s", bg_last_error());
    status = BG_OK;
done:
    return status;
}

static bg_status make_plan(bg_runner *runner)
{
    bg__scope scope = {.mode = runner->pool != NULL ? runner->config.mode : BG_MODE_NONE,
                       .query_lens = runner->query_lens,
                       .query_len_count = runner->query_len_count};
    return bg__plan_make(runner, &scope);
}

bg_status bg_runner_create(bg_runner **result, const bg_runner_config *config, bg_runner_forward forward, void *user,
                           cudaStream_t stream)
{
    bg_runner *runner = NULL;
    bg_status status;

    BG__NEED(result);
    *result = NULL;
    BG__NEED(config);
    BG__NEED(forward);
    BG__NEED(stream);
    bg__foreign_error_note();
    BG__TRY(bg__stream_check_device(stream, "bg_runner_create", "stream"));
    runner = calloc(1, sizeof *runner);
    if (runner == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "bg_runner_create: out of host memory for a runner");
    BG__TRY(load_config(runner, config));
    runner->forward = forward;
    runner->user = user;
    runner->stream = stream;
    runner->thread = bg__thread_id();
    runner->rows = runner->config.max_tokens;
    BG__TRY_CUDA(cudaGetDevice(&runner->device));
    BG__TRY(bg__driver_find_capture_info(&runner->capture_info));
    BG__TRY(make_pool(runner));
    BG__TRY(bg__device_alloc(1, &runner->sentry));
    BG__TRY(bg__pass_create_eager_graph(runner));
    BG__TRY(make_plan(runner));
    bg__debug_hooks.runner_ran(runner);
    *result = runner;
    runner = NULL;
done:
    bg_runner_destroy(runner);
    return status;
}

void bg_runner_destroy(bg_runner *runner)
{
    if (runner == NULL)
        return;
    bg__foreign_error_note();
    if (runner->running) {
        bg__warn("bg_runner_destroy was called inside a run of the runner and did nothing; call it after the run "
                 "has returned");
        return;
    }
    bg__debug_hooks.runner_destroyed(runner);
    bg__plan_free(&runner->plan);
    bg_graph_destroy(runner->eager);
    bg_pool_destroy(runner->pool);
    bg__device_free(runner->sentry); /* waits for work that may use the buffers */
    bg__buffers_free(&runner->inputs);
    bg__buffers_free(&runner->outputs);
    bg__buffers_free(&runner->extra);
    bg__mix_free(&runner->mix);
    bg_runner_config_clear(&runner->config);
    bg__owned_free(&runner->owned);
    free(runner->state);
    free(runner->query_lens);
    free(runner->row_limits);
    free(runner->ops);
    free(runner);
}

bg_status bg_runner_own(bg_runner *runner, void *object, void (*destroy)(void *object))
{
    BG__NEED(runner);
    BG__NEED(destroy);
    return bg__owned_add(&runner->owned, object, destroy);
}

bg_pool *bg_runner_pool(bg_runner *runner)
{
    return runner != NULL ? runner->pool : NULL;
}

bg_mode bg_runner_mode(const bg_runner *runner)
{
    return runner != NULL ? runner->mode : BG_MODE_NONE;
}

uint64_t bg_runner_batches(const bg_runner *runner, int query_len, int tokens)
{
    int family = 0;

    if (runner == NULL || tokens < 0 || tokens > runner->mix.max_tokens)
        return 0;
    while (query_len > 0 && family < runner->query_len_count && runner->query_lens[family] != query_len)
        family++;
    if (query_len < 0 || (query_len > 0 && family++ == runner->query_len_count))
        return 0;
    return bg__mix_read_size(&runner->mix, family, tokens).batches;
}

int bg__runner_family(const bg_runner *runner, const bg_batch *batch)
{
    for (int i = 0; i < runner->query_len_count && batch->uniform_decode; i++)
        if (runner->query_lens[i] == batch->max_query_len)
            return i + 1;
    return 0;
}
