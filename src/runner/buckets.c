/* Which sizes there are, and which one a batch runs by. */
#include "runner/runner.h"

#include <stdlib.h>

void bg__plan_free(bg__plan *plan)
{
    for (int i = 0; plan->order != NULL && i < plan->bucket_count; i++) {
        bg_graph_destroy(plan->order[i]->graph);
        free(plan->order[i]->failure);
    }
    for (int h = 0; h < BG__HALVES; h++) {
        free(plan->halves[h].sizes);
        free(plan->halves[h].buckets);
    }
    free(plan->order);
    *plan = (bg__plan){.order = NULL};
}

/* A decode bucket holds whole requests: sizes are rounded up to them, each kept once. */
static void round_up(bg__half *half, int request, int max_tokens)
{
    int count = 0;
    for (int i = 0; i < half->size_count; i++) {
        int size = (half->sizes[i] + request - 1) / request * request;
        if (size > max_tokens)
            size = max_tokens / request * request;
        if (size > 0 && (count == 0 || size > half->sizes[count - 1]))
            half->sizes[count++] = size;
    }
    half->size_count = count;
}

static bg_status plan_half(bg_runner *runner, bg__half *half, bg_mode mode, bool decode)
{
    const bg_runner_config *config = &runner->config;
    bg_status status = BG_OK;
    int count;

    half->mode = mode;
    half->decode = decode;
    if (mode == BG_MODE_NONE)
        return BG_OK;
    BG__TRY(bg__schedule_make(config->schedule, config->max_tokens, &half->sizes, &half->size_count));
    if (decode)
        round_up(half, config->max_query_len, config->max_tokens);
    count = half->size_count * config->variants;
    half->buckets = calloc((size_t)count + 1, sizeof *half->buckets);
    if (half->buckets == NULL) {
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for %d buckets", count);
        goto done;
    }
    for (int v = 0; v < config->variants; v++)
        for (int i = 0; i < half->size_count; i++)
            half->buckets[v * half->size_count + i] =
                (bg__bucket){.runner = runner, .mode = mode, .decode = decode, .tokens = half->sizes[i], .variant = v};
done:
    return status;
}

/* From large to small; of one size the full graph, which needs least memory beside the segments', last. */
static int by_order(const void *a, const void *b)
{
    const bg__bucket *x = *(bg__bucket *const *)a, *y = *(bg__bucket *const *)b;
    if (x->tokens != y->tokens)
        return x->tokens > y->tokens ? -1 : 1;
    if (x->decode != y->decode)
        return x->decode ? 1 : -1;
    return x->variant - y->variant;
}

bg_status bg__plan_make(bg_runner *runner, bg_mode mode)
{
    bg__plan plan = {.order = NULL};
    bg__half *mixed = &plan.halves[BG__MIXED], *decode = &plan.halves[BG__DECODE];
    int variants = runner->config.variants, count = 0;
    bg_status status;

    BG__TRY(plan_half(runner, mixed, bg_mode_mixed(mode), false));
    if (bg_mode_separate(mode))
        BG__TRY(plan_half(runner, decode, bg_mode_decode(mode), true));
    count = (mixed->size_count + decode->size_count) * variants;
    plan.order = calloc((size_t)count + 1, sizeof *plan.order);
    if (plan.order == NULL) {
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for %d buckets", count);
        goto done;
    }
    for (int h = 0; h < BG__HALVES; h++)
        for (int i = 0; i < plan.halves[h].size_count * variants; i++)
            plan.order[plan.bucket_count++] = &plan.halves[h].buckets[i];
    qsort(plan.order, (size_t)plan.bucket_count, sizeof *plan.order, by_order);
    bg__plan_free(&runner->plan);
    runner->plan = plan;
    runner->mode = mode;
    plan = (bg__plan){.order = NULL};
done:
    bg__plan_free(&plan);
    return status;
}

/* ---- dispatch ---- */

/* The first size that holds `tokens`; size_count: none does. */
static int find_size(const bg__half *half, int tokens)
{
    int low = 0, high = half->size_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (half->sizes[middle] < tokens)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bg__bucket *find(const bg_runner *runner, const bg__half *half, const bg_batch *batch, int tokens,
                        bg_reason *reason)
{
    bg__bucket *bucket;
    int size;

    *reason = BG_REASON_MODE_NONE;
    if (half->mode == BG_MODE_NONE)
        return NULL;
    *reason = BG_REASON_TOO_LARGE;
    size = find_size(half, tokens);
    if (size == half->size_count)
        return NULL;
    *reason = BG_REASON_PADDING;
    if (runner->config.max_padding > 0 && half->sizes[size] > runner->config.max_padding * tokens)
        return NULL;
    *reason = BG_REASON_NOT_CAPTURED;
    if (batch->variant >= runner->config.variants)
        return NULL;
    bucket = &half->buckets[batch->variant * half->size_count + size];
    if (bucket->graph == NULL && bucket->failure != NULL)
        *reason = BG_REASON_CAPTURE_FAILED;
    if (bucket->graph == NULL && (bucket->failure != NULL || !runner->config.lazy))
        return NULL;
    *reason = BG_REASON_NONE;
    return bucket;
}

bg__bucket *bg__dispatch(bg_runner *runner, const bg_batch *batch, int tokens, bg_reason *reason)
{
    const bg__half *decode = &runner->plan.halves[BG__DECODE], *mixed = &runner->plan.halves[BG__MIXED];
    bg_reason why = BG_REASON_MODE_NONE;
    bg__bucket *bucket = NULL;

    if (runner->pool == NULL && runner->config.mode != BG_MODE_NONE) {
        *reason = BG_REASON_UNSUPPORTED;
        return NULL;
    }
    if (batch->uniform_decode && batch->max_query_len == runner->config.max_query_len && decode->mode != BG_MODE_NONE)
        bucket = find(runner, decode, batch, tokens, &why);
    if (bucket == NULL && (mixed->mode != BG_MODE_NONE || why == BG_REASON_MODE_NONE))
        bucket = find(runner, mixed, batch, tokens, &why);
    *reason = why;
    return bucket;
}
