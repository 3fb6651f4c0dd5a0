#include "runner_mix.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "debug/files/json.h"

/* Limits that keep sums free of overflow: batches of a report, and tokens of a batch. */
enum { TOKENS_MOST = 1 << 24 };
static const double BATCHES_MOST = 1LL << 36;

/* ---- ranks ---- */

/* Whether the rows can be ranks of one runner: two jobs may have written into one directory. */
static bool are_ranks_of_runner(const cJSON *row, const cJSON *other)
{
    static const char *const texts[] = {"name", "mode"};
    static const char *const numbers[] = {"ranks", "max_tokens", "max_padding", "variants"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(bg__json_string(row, texts[i]), bg__json_string(other, texts[i])) != 0)
            return false;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (bg__json_number(row, numbers[i]) != bg__json_number(other, numbers[i]))
            return false;
    return cJSON_Compare(cJSON_GetObjectItemCaseSensitive(row, "sizes"),
                         cJSON_GetObjectItemCaseSensitive(other, "sizes"), true);
}

static bool has_rank(const bg__runner_group *group, double rank)
{
    for (size_t i = 0; i < group->count; i++)
        if (bg__json_number(group->rows[i], "rank") == rank)
            return true;
    return false;
}

/* Moves the rows that belong to the first row behind it. Returns their number, with the first row. */
static size_t gather_ranks(const cJSON **rows, size_t count)
{
    bg__runner_group group = {rows, 1};

    for (size_t i = 1; i < count && bg__json_number(rows[0], "ranks") > 1; i++)
        if (are_ranks_of_runner(rows[0], rows[i]) && !has_rank(&group, bg__json_number(rows[i], "rank"))) {
            const cJSON *row = rows[i];
            memmove(&rows[group.count + 1], &rows[group.count], (i - group.count) * sizeof *rows);
            rows[group.count++] = row;
        }
    return group.count;
}

bg_status bg__runner_groups_make(const cJSON *rows, bg__runner_group **groups, size_t *count)
{
    size_t all = (size_t)cJSON_GetArraySize(rows), at = 0;
    const cJSON **list, *row;

    *groups = malloc((all + 1) * (sizeof **groups + sizeof *list));
    if (*groups == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the rows of %zu runners", all);
    list = (const cJSON **)(*groups + all + 1);
    cJSON_ArrayForEach(row, rows)
    {
        list[at++] = row;
    }
    *count = 0;
    for (at = 0; at < all; at += (*groups)[(*count)++].count)
        (*groups)[*count] = (bg__runner_group){list + at, gather_ranks(list + at, all - at)};
    return BG_OK;
}

bool bg__runner_row_is_valid(const cJSON *row)
{
    const double most = 1LL << 53;
    const cJSON *item;

    if (cJSON_IsNumber(row))
        return row->valuedouble >= 0 && row->valuedouble <= most;
    cJSON_ArrayForEach(item, row)
    {
        if (!bg__runner_row_is_valid(item))
            return false;
    }
    return true;
}

/* ---- the mix ---- */

static bg_status refuse_row(const cJSON *row, const char *what)
{
    return bg__fail(BG_ERROR_IO, "the report's %.40s has %s that breakgraph does not write",
                    bg__json_string(row, "name"), what);
}

static int read_bounded_int(const cJSON *row, const char *name, int least)
{
    double number = bg__json_number(row, name);
    return number >= least && number <= TOKENS_MOST ? (int)number : least;
}

static bg_status find_family(bg__size_mix *mix, int query_len, bg__size_family **family)
{
    bg_status status = BG_OK;
    for (size_t f = 0; f < mix->count; f++)
        if (mix->families[f].query_len == query_len) {
            *family = &mix->families[f];
            return BG_OK;
        }
    BG__TRY(BG__ARRAY_GROW(mix->families, mix->count, mix->capacity, "families of batches"));
    *family = &mix->families[mix->count++];
    **family = (bg__size_family){.query_len = query_len};
done:
    return status;
}

/* Adds one item [tokens, batches, batches that ran eagerly for another reason than their size]. With pad_across_ranks
 * the tokens of decode batches may not be whole requests: if no bucket of their own can hold them, a mixed one may. */
static bg_status add_batch_size(bg__size_mix *mix, int query_len, const cJSON *row, const cJSON *item)
{
    const cJSON *of[3] = {cJSON_GetArrayItem(item, 0), cJSON_GetArrayItem(item, 1), cJSON_GetArrayItem(item, 2)};
    bg__size_family *family;
    bg_status status = BG_OK;
    double tokens, batches;

    if (!cJSON_IsNumber(of[0]) || !cJSON_IsNumber(of[1]) || !cJSON_IsNumber(of[2]))
        return refuse_row(row, "sizes of batches");
    tokens = of[0]->valuedouble;
    batches = of[1]->valuedouble - of[2]->valuedouble;
    if (!(tokens >= 0 && tokens <= mix->max_tokens && batches >= 0 && batches <= BATCHES_MOST))
        return refuse_row(row, "sizes of batches");
    if (tokens < 1 || batches < 1)
        return BG_OK; /* 0 tokens: batches above max_tokens */
    if (tokens > bg__size_round(mix->max_tokens, query_len, mix->max_tokens)) {
        if (!mix->has_mixed)
            return BG_OK;
        query_len = 1;
    }
    BG__TRY(find_family(mix, query_len, &family));
    BG__TRY(BG__ARRAY_GROW(family->list, family->count, family->capacity, "sizes of batches"));
    family->list[family->count++] = (bg__size_count){(int)tokens, (uint64_t)batches};
done:
    return status;
}

static bg_status add_runner_row(bg__size_mix *mix, const cJSON *row)
{
    const cJSON *family, *item;
    bg_status status = BG_OK;

    cJSON_ArrayForEach(family, cJSON_GetObjectItemCaseSensitive(row, "families"))
    {
        int query_len = read_bounded_int(family, "query_len", 0);
        if (strcmp(bg__json_string(family, "mode"), "none") == 0)
            continue;
        if (query_len > mix->max_tokens)
            return refuse_row(row, "a query length");
        mix->has_mixed = mix->has_mixed || query_len == 0;
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(family, "batches"))
        {
            BG__TRY(add_batch_size(mix, query_len > 0 ? query_len : 1, row, item));
        }
    }
done:
    return status;
}

static int compare_counts(const void *a, const void *b)
{
    const bg__size_count *one = a, *other = b;
    return (one->tokens > other->tokens) - (one->tokens < other->tokens);
}

/* Merges several counts of one size, and sorts the counts. */
static bool merge_counts(bg__size_family *family)
{
    size_t count = 0;
    uint64_t all = 0;

    if (family->count > 0)
        qsort(family->list, family->count, sizeof *family->list, compare_counts);
    for (size_t i = 0; i < family->count; i++) {
        if (count > 0 && family->list[count - 1].tokens == family->list[i].tokens)
            family->list[count - 1].batches += family->list[i].batches;
        else
            family->list[count++] = family->list[i];
        all += family->list[i].batches;
        if (all > (uint64_t)BATCHES_MOST)
            return false;
    }
    family->count = count;
    return true;
}

bg_status bg__runner_mix_read(const bg__runner_group *group, bg__size_mix *mix)
{
    const cJSON *row = group->rows[0];
    bg_status status = BG_OK;

    *mix = (bg__size_mix){.max_tokens = read_bounded_int(row, "max_tokens", 1),
                          .max_padding = bg__json_number(row, "max_padding")};
    for (size_t i = 0; i < group->count; i++)
        BG__TRY(add_runner_row(mix, group->rows[i]));
    for (size_t f = 0; f < mix->count; f++)
        if (!merge_counts(&mix->families[f]))
            BG__TRY(refuse_row(row, "a number of batches"));
done:
    if (status != BG_OK)
        bg__runner_mix_free(mix);
    return status;
}

void bg__runner_mix_free(bg__size_mix *mix)
{
    for (size_t f = 0; f < mix->count; f++)
        free(mix->families[f].list);
    free(mix->families);
    *mix = (bg__size_mix){.families = NULL};
}

/* ---- what a schedule needs ---- */

/* The captured bucket of that query length that is nearest below or above tokens; NULL: none. */
static const cJSON *find_nearest_bucket(const cJSON *row, int query_len, int tokens, bool above)
{
    const cJSON *bucket, *near = NULL;
    cJSON_ArrayForEach(bucket, cJSON_GetObjectItemCaseSensitive(row, "buckets"))
    {
        double size = bg__json_number(bucket, "tokens"), best = bg__json_number(near, "tokens");
        if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(bucket, "captured")) ||
            read_bounded_int(bucket, "query_len", 0) != query_len || (above ? size < tokens : size > tokens))
            continue;
        if (near == NULL || (above ? size < best : size > best))
            near = bucket;
    }
    return near;
}

/* Interpolates between the two nearest buckets. Above the largest bucket, extrapolates in proportion to the rows if the
 * number grows with them. */
static double interpolate(const cJSON *below, const cJSON *above, const char *name, int tokens, bool grows)
{
    double from = bg__json_number(below, "tokens"), to = bg__json_number(above, "tokens");
    double low = bg__json_number(below, name), high = bg__json_number(above, name);

    if (below == NULL)
        return high;
    if (above == NULL)
        return grows && from >= 1 ? low * tokens / from : low;
    return to > from ? low + (high - low) * (tokens - from) / (to - from) : low;
}

static void add_bucket_need(const cJSON *row, int query_len, int tokens, int variants, bg__size_need *need)
{
    const cJSON *below = find_nearest_bucket(row, query_len, tokens, false),
                *above = find_nearest_bucket(row, query_len, tokens, true);
    double pool = interpolate(below, above, "pool_bytes", tokens, true);

    need->buckets += (size_t)variants;
    need->graph_bytes += variants * interpolate(below, above, "graph_bytes", tokens, false);
    need->capture_ms += variants * interpolate(below, above, "capture_ms", tokens, false);
    if (pool > need->pool_bytes)
        need->pool_bytes = pool;
}

bg__size_need bg__runner_estimate_need(const cJSON *row, const bg__size_mix *mix, const int *sizes, size_t count)
{
    const cJSON *family;
    bg__size_need need = {0};

    cJSON_ArrayForEach(family, cJSON_GetObjectItemCaseSensitive(row, "families"))
    {
        int query_len = read_bounded_int(family, "query_len", 0), last = 0;
        if (strcmp(bg__json_string(family, "mode"), "none") == 0)
            continue;
        for (size_t i = 0; i < count; i++) {
            int size = bg__size_round(sizes[i], query_len > 0 ? query_len : 1, mix->max_tokens);
            if (size > last)
                add_bucket_need(row, query_len, size, read_bounded_int(row, "variants", 1), &need);
            last = size > last ? size : last;
        }
    }
    return need;
}
