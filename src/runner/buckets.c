/* The sizes of the buckets, and the choice of a bucket for a batch. */
#include "runner/runner.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void bg__plan_free(bg__plan *plan)
{
    for (int i = 0; plan->order != NULL && i < plan->bucket_count; i++) {
        bg_graph_destroy(plan->order[i]->graph);
        free(plan->order[i]->failure);
    }
    for (int g = 0; g < plan->group_count; g++) {
        free(plan->groups[g].sizes);
        free(plan->groups[g].buckets);
    }
    free(plan->groups);
    free(plan->order);
    *plan = (bg__plan){.order = NULL};
}

/* A decode bucket holds whole requests: rounds sizes up to them, and drops duplicates. */
static void round_up_sizes_to_requests(bg__group *group, int request, int max_tokens)
{
    int count = 0;
    for (int i = 0; i < group->size_count; i++) {
        int size = (group->sizes[i] + request - 1) / request * request;
        if (size > max_tokens)
            size = max_tokens / request * request;
        if (size > 0 && (count == 0 || size > group->sizes[count - 1]))
            group->sizes[count++] = size;
    }
    group->size_count = count;
}

/* Returns the largest size of whole requests up to the limit; 0: none, or the schedule ends below it. */
static int size_within_limit(const bg__group *group, int limit)
{
    const int request = group->query_len > 0 ? group->query_len : 1, size = limit / request * request;
    return group->size_count > 0 && size < group->sizes[group->size_count - 1] ? size : 0;
}

/* Returns the index of the first size that holds `tokens`; size_count: none does. */
static int find_size(const bg__group *group, int tokens)
{
    int low = 0, high = group->size_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (group->sizes[middle] < tokens)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bg_status add_row_limit_sizes(const bg_runner *runner, bg__group *group)
{
    const int count = runner->row_limit_count;
    int *sizes = realloc(group->sizes, ((size_t)group->size_count + (size_t)count) * sizeof *sizes);

    if (sizes == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the sizes of %d row limits", count);
    group->sizes = sizes;
    for (int i = 0; i < count; i++) {
        const int size = size_within_limit(group, runner->row_limits[i]), at = find_size(group, size);
        if (size == 0 || sizes[at] == size)
            continue;
        memmove(sizes + at + 1, sizes + at, (size_t)(group->size_count - at) * sizeof *sizes);
        sizes[at] = size;
        group->size_count++;
    }
    return BG_OK;
}

bool bg__plan_lacks_row_limits(const bg_runner *runner)
{
    for (int g = 0; g < runner->plan.group_count; g++)
        for (int i = 0; i < runner->row_limit_count; i++) {
            const bg__group *group = &runner->plan.groups[g];
            const int size = size_within_limit(group, runner->row_limits[i]);
            if (size > 0 && group->sizes[find_size(group, size)] != size)
                return true;
        }
    return false;
}

static bg_status plan_group(bg_runner *runner, bg__group *group, bg_mode mode, int query_len)
{
    const bg_runner_config *config = &runner->config;
    bg_status status = BG_OK;
    size_t count;

    group->mode = mode;
    group->query_len = query_len;
    if (mode == BG_MODE_NONE)
        return BG_OK;
    BG__TRY(bg__schedule_make(config->schedule, config->max_tokens, &group->sizes, &group->size_count));
    if (query_len > 0)
        round_up_sizes_to_requests(group, query_len, config->max_tokens);
    if (runner->row_limit_count > 0)
        BG__TRY(add_row_limit_sizes(runner, group));
    count = (size_t)group->size_count * (size_t)config->variants;
    group->buckets = calloc(count + 1, sizeof *group->buckets);
    if (group->buckets == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu buckets", count);
    for (int v = 0; v < config->variants; v++)
        for (int i = 0; i < group->size_count; i++)
            group->buckets[v * group->size_count + i] = (bg__bucket){
                .runner = runner, .mode = mode, .query_len = query_len, .tokens = group->sizes[i], .variant = v};
done:
    return status;
}

static bg_status plan_groups(bg_runner *runner, const bg__scope *scope, bg__plan *plan)
{
    int decode = bg_mode_separate(scope->mode) ? scope->query_len_count : 0;
    bg_status status;

    plan->groups = calloc((size_t)decode + 1, sizeof *plan->groups);
    if (plan->groups == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the buckets of %d query lengths", decode);
    plan->group_count = decode + 1;
    BG__TRY(plan_group(runner, &plan->groups[0], bg_mode_mixed(scope->mode), 0));
    for (int g = 1; g <= decode; g++)
        BG__TRY(plan_group(runner, &plan->groups[g], bg_mode_decode(scope->mode), scope->query_lens[g - 1]));
done:
    return status;
}

/* Orders buckets from large to small. Of buckets of one size, full graphs come last: they need the least memory beyond
 * that of the piecewise graphs. */
static int compare_capture_order(const void *a, const void *b)
{
    const bg__bucket *x = *(bg__bucket *const *)a, *y = *(bg__bucket *const *)b;
    if (x->tokens != y->tokens)
        return x->tokens > y->tokens ? -1 : 1;
    if ((x->query_len == 0) != (y->query_len == 0))
        return x->query_len == 0 ? -1 : 1;
    if (x->query_len != y->query_len)
        return x->query_len > y->query_len ? -1 : 1;
    return x->variant - y->variant;
}

static bg_status sort_buckets(const bg_runner *runner, bg__plan *plan)
{
    const int variants = runner->config.variants;
    size_t count = 0;

    for (int g = 0; g < plan->group_count; g++)
        count += (size_t)plan->groups[g].size_count * (size_t)variants;
    plan->order = count < INT_MAX ? calloc(count + 1, sizeof *plan->order) : NULL;
    if (plan->order == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu buckets", count);
    for (int g = 0; g < plan->group_count; g++)
        for (int i = 0; i < plan->groups[g].size_count * variants; i++)
            plan->order[plan->bucket_count++] = &plan->groups[g].buckets[i];
    qsort(plan->order, (size_t)plan->bucket_count, sizeof *plan->order, compare_capture_order);
    return BG_OK;
}

bg_status bg__plan_make(bg_runner *runner, const bg__scope *scope)
{
    bg__plan plan = {.order = NULL};
    bg_status status;

    BG__TRY(plan_groups(runner, scope, &plan));
    BG__TRY(sort_buckets(runner, &plan));
    bg__plan_free(&runner->plan);
    runner->plan = plan;
    runner->mode = scope->mode;
    plan = (bg__plan){.order = NULL};
done:
    bg__plan_free(&plan);
    return status;
}

/* ---- dispatch ---- */

/* Whether some op uses another kernel above this size. */
static bool is_row_limit_size(const bg_runner *runner, const bg__group *group, int size)
{
    for (int i = 0; i < runner->row_limit_count; i++)
        if (size_within_limit(group, runner->row_limits[i]) == size)
            return true;
    return false;
}

/* BG_LAZY_BACKGROUND: finds the next larger bucket that is captured. */
static bg__bucket *find_larger_captured(const bg_runner *runner, const bg__group *group, bg__bucket *missing,
                                        int tokens)
{
    const double most = runner->config.max_padding > 0 ? runner->config.max_padding * tokens : INT_MAX;
    bg__bucket *end = &group->buckets[(missing->variant + 1) * group->size_count];

    for (bg__bucket *larger = missing + 1; larger < end && larger->tokens <= most; larger++) {
        if (is_row_limit_size(runner, group, larger[-1].tokens))
            break;
        if (larger->graph != NULL)
            return larger;
    }
    return NULL;
}

static bg__bucket *find_bucket(const bg_runner *runner, const bg__group *group, const bg_batch *batch, int tokens,
                               bg__dispatch_result *found)
{
    bg_reason *reason = &found->reason;
    bg__bucket *bucket;
    int size;

    *reason = BG_REASON_MODE_NONE;
    if (group->mode == BG_MODE_NONE)
        return NULL;
    *reason = BG_REASON_TOO_LARGE;
    size = find_size(group, tokens);
    if (size == group->size_count)
        return NULL;
    *reason = BG_REASON_PADDING;
    if (runner->config.max_padding > 0 && group->sizes[size] > runner->config.max_padding * tokens)
        return NULL;
    *reason = BG_REASON_NOT_CAPTURED;
    if (batch->variant >= runner->config.variants)
        return NULL;
    bucket = &group->buckets[batch->variant * group->size_count + size];
    if (bucket->graph == NULL && bucket->failure != NULL)
        *reason = BG_REASON_CAPTURE_FAILED;
    if (bucket->graph == NULL && (bucket->failure != NULL || runner->config.lazy == BG_LAZY_NO))
        return NULL;
    if (bucket->graph == NULL && runner->config.lazy == BG_LAZY_BACKGROUND) {
        found->missing = found->missing != NULL ? found->missing : bucket;
        bucket = find_larger_captured(runner, group, bucket, tokens);
    }
    if (bucket != NULL)
        *reason = BG_REASON_NONE;
    return bucket;
}

const bg__group *bg__find_decode_group(const bg_runner *runner, const bg_batch *batch)
{
    const bg__plan *plan = &runner->plan;
    for (int g = 1; g < plan->group_count && batch->uniform_decode; g++)
        if (plan->groups[g].query_len == batch->max_query_len)
            return &plan->groups[g];
    return NULL;
}

bg__dispatch_result bg__dispatch_batch(bg_runner *runner, const bg_batch *batch, int tokens)
{
    const bg__group *decode = bg__find_decode_group(runner, batch), *mixed = &runner->plan.groups[0];
    bg__dispatch_result found = {.reason = BG_REASON_MODE_NONE};

    if (runner->pool == NULL && runner->config.mode != BG_MODE_NONE) {
        found.reason = BG_REASON_UNSUPPORTED;
        return found;
    }
    if (decode != NULL)
        found.bucket = find_bucket(runner, decode, batch, tokens, &found);
    if (found.bucket == NULL && (mixed->mode != BG_MODE_NONE || found.reason == BG_REASON_MODE_NONE))
        found.bucket = find_bucket(runner, mixed, batch, tokens, &found);
    return found;
}

static const bg__group *find_group(const bg_runner *runner, const bg__bucket *bucket)
{
    const bg__group *group = runner->plan.groups;
    while (group->query_len != bucket->query_len)
        group++;
    return group;
}

bool bg__bucket_is_largest(const bg_runner *runner, const bg__bucket *bucket)
{
    const bg__group *group = find_group(runner, bucket);
    return bucket->tokens == group->sizes[group->size_count - 1];
}

double bg__bucket_estimate_ms(const bg_runner *runner, const bg__bucket *bucket)
{
    const bg__group *group = find_group(runner, bucket);
    const bg__bucket *nearest = NULL;

    for (int i = 0; i < group->size_count * runner->config.variants; i++) {
        const bg__bucket *other = &group->buckets[i];
        if (other->took_ms > 0 && other->tokens >= bucket->tokens &&
            (nearest == NULL || other->tokens < nearest->tokens))
            nearest = other;
    }
    return nearest != NULL ? nearest->took_ms : 0;
}
