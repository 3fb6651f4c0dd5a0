/* A runner's settings and counts as JSON, for reports. */
#include "runner/runner_json.h"

#include "runner/runner.h"

#include <stdlib.h>

/* The settings that decide which bucket a batch gets. sizes: those of the schedule, for any query length. */
static bool add_settings(const bg_runner *runner, cJSON *root)
{
    const bg_runner_config *config = &runner->config;
    int *sizes = NULL, count = 0;
    cJSON *list = bg__schedule_make(config->schedule, config->max_tokens, &sizes, &count) == BG_OK
                      ? cJSON_CreateIntArray(sizes, count)
                      : NULL;
    bool good = list != NULL && cJSON_AddItemToObject(root, "sizes", list);

    free(sizes);
    return good && cJSON_AddStringToObject(root, "mode", bg__mode_name(runner->mode)) &&
           cJSON_AddStringToObject(root, "schedule", config->schedule) &&
           cJSON_AddNumberToObject(root, "max_tokens", config->max_tokens) &&
           cJSON_AddNumberToObject(root, "max_padding", config->max_padding) &&
           cJSON_AddNumberToObject(root, "variants", config->variants) &&
           cJSON_AddBoolToObject(root, "lazy", config->lazy != BG_LAZY_NO);
}

static bool add_counts(const bg__mix *mix, cJSON *root)
{
    cJSON *eager = cJSON_AddObjectToObject(root, "eager");
    uint64_t replayed = mix->count;
    bool good = eager != NULL;

    for (int i = BG_REASON_NONE + 1; i <= BG_REASON_UNSUPPORTED && good; i++) {
        uint64_t count = mix->eager[i];
        replayed -= count;
        good = count == 0 || cJSON_AddNumberToObject(eager, bg__reason_name((bg_reason)i), (double)count) != NULL;
    }
    return good && cJSON_AddNumberToObject(root, "batches", (double)mix->count) &&
           cJSON_AddNumberToObject(root, "replayed", (double)replayed) &&
           cJSON_AddNumberToObject(root, "rows", (double)mix->rows) &&
           cJSON_AddNumberToObject(root, "padding_rows", (double)mix->padding_rows) &&
           cJSON_AddNumberToObject(root, "rank_rows", (double)mix->rank_rows) &&
           cJSON_AddNumberToObject(root, "largest", mix->largest);
}

static bool add_to_list(cJSON *list, cJSON *item)
{
    if (item != NULL && cJSON_AddItemToArray(list, item))
        return true;
    cJSON_Delete(item);
    return false;
}

static bool add_misses(const bg__misses *misses, cJSON *root)
{
    cJSON *list = misses->count > 0 ? cJSON_AddArrayToObject(root, "missed") : NULL;
    bool good = misses->count == 0 || list != NULL;

    for (int i = 0; i < misses->count && good; i++) {
        const bg__miss *miss = &misses->list[i];
        cJSON *item = cJSON_CreateObject();
        good = add_to_list(list, item) && cJSON_AddNumberToObject(item, "query_len", miss->query_len) &&
               cJSON_AddNumberToObject(item, "variant", miss->variant) &&
               cJSON_AddNumberToObject(item, "batches", (double)miss->batches);
    }
    return good;
}

/* Adds up the families that share one group of buckets; runs: by family, whether it does. */
static bool add_sizes(const bg_runner *runner, const bool *runs, cJSON *list)
{
    const bg__mix *mix = &runner->mix;
    bool good = true;
    for (int tokens = bg__mix_next_size(mix, 0); tokens <= mix->max_tokens && good;
         tokens = bg__mix_next_size(mix, tokens + 1)) {
        bg__mix_size sum = {0};
        for (int f = 0; f <= runner->query_len_count; f++)
            if (runs[f]) {
                bg__mix_size size = bg__mix_read_size(mix, f, tokens);
                sum.batches += size.batches;
                sum.unsized += size.unsized;
            }
        if (sum.batches > 0)
            good = add_to_list(
                list, cJSON_CreateDoubleArray((double[]){tokens, (double)sum.batches, (double)sum.unsized}, 3));
    }
    return good;
}

static bool has_group(const bg_runner *runner, int query_len)
{
    for (int g = 1; g < runner->plan.group_count; g++)
        if (runner->plan.groups[g].query_len == query_len)
            return true;
    return false;
}

static bool add_family(const bg_runner *runner, const bg__group *group, bool *runs, cJSON *list)
{
    cJSON *item = cJSON_CreateObject(), *sizes;

    for (int f = 0; f <= runner->query_len_count; f++) {
        int query_len = f > 0 ? runner->query_lens[f - 1] : 0;
        runs[f] = query_len == group->query_len || (group->query_len == 0 && !has_group(runner, query_len));
    }
    if (!add_to_list(list, item))
        return false;
    sizes = cJSON_AddNumberToObject(item, "query_len", group->query_len) &&
                    cJSON_AddStringToObject(item, "mode", bg__mode_name(group->mode))
                ? cJSON_AddArrayToObject(item, "batches")
                : NULL;
    return sizes != NULL && add_sizes(runner, runs, sizes);
}

static bool add_families(const bg_runner *runner, cJSON *root)
{
    cJSON *list = cJSON_AddArrayToObject(root, "families");
    bool *runs = calloc((size_t)runner->query_len_count + 1, sizeof *runs), good = list != NULL && runs != NULL;

    for (int g = 0; g < runner->plan.group_count && good; g++)
        good = add_family(runner, &runner->plan.groups[g], runs, list);
    free(runs);
    return good;
}

static bool add_bucket(const bg_runner *runner, int index, cJSON *list)
{
    bg_bucket_info info = BG_BUCKET_INFO_INIT;
    cJSON *item = cJSON_CreateObject();

    return add_to_list(list, item) && bg_runner_get_bucket(runner, index, &info) == BG_OK &&
           cJSON_AddStringToObject(item, "mode", bg__mode_name(info.mode)) &&
           cJSON_AddNumberToObject(item, "query_len", info.decode ? info.max_query_len : 0) &&
           cJSON_AddNumberToObject(item, "tokens", info.tokens) &&
           cJSON_AddNumberToObject(item, "variant", info.variant) &&
           cJSON_AddBoolToObject(item, "captured", info.captured) &&
           cJSON_AddNumberToObject(item, "replays", (double)info.replays) &&
           cJSON_AddNumberToObject(item, "pool_bytes", (double)info.pool_bytes) &&
           cJSON_AddNumberToObject(item, "graph_bytes", (double)info.graph_bytes) &&
           cJSON_AddNumberToObject(item, "capture_ms", info.capture_ms);
}

static bool add_buckets(const bg_runner *runner, cJSON *root)
{
    cJSON *list = cJSON_AddArrayToObject(root, "buckets");
    bool good = list != NULL;

    for (int i = 0; i < runner->plan.bucket_count && good; i++)
        good = add_bucket(runner, i, list);
    return good;
}

cJSON *bg__runner_json(const bg_runner *runner)
{
    cJSON *root = cJSON_CreateObject();

    if (root != NULL && add_settings(runner, root) && add_counts(&runner->mix, root) &&
        add_misses(&runner->misses, root) && add_families(runner, root) && add_buckets(runner, root))
        return root;
    cJSON_Delete(root);
    return NULL;
}

void bg_runner_print_json(const bg_runner *runner, FILE *out)
{
    cJSON *root = runner != NULL && out != NULL ? bg__runner_json(runner) : NULL;
    char *text = root != NULL ? cJSON_PrintUnformatted(root) : NULL;

    if (text != NULL)
        fprintf(out, "%s\n", text);
    cJSON_free(text);
    cJSON_Delete(root);
}

bool bg__runner_is_running(const bg_runner *runner)
{
    return runner->running;
}
