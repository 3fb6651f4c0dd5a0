/* Counts batches whose query length or variant was never captured. Messages name the lengths and variants that were. */
#include "runner/runner.h"

#include <stdio.h>

/* Returns what no captured graph has for this batch, whatever its size. A query length counts only if decode batches
 * have graphs of their own, a variant only if such batches have graphs at all. */
static bg__miss find_miss(const bg_runner *runner, const bg_batch *batch)
{
    const bg__group *decode = bg__find_decode_group(runner, batch);
    const bg__group *group = decode != NULL ? decode : &runner->plan.groups[0];
    bg__miss miss = {0};

    if (group->mode != BG_MODE_NONE && batch->variant >= runner->config.variants)
        miss.variant = batch->variant;
    if (batch->uniform_decode && runner->plan.group_count > 1 && decode == NULL)
        miss.query_len = batch->max_query_len;
    return miss;
}

void bg__misses_add_batch(bg_runner *runner, const bg_batch *batch)
{
    bg__misses *misses = &runner->misses;
    const bg__miss miss = find_miss(runner, batch);
    int at = 0;

    if (miss.variant == 0 && miss.query_len == 0)
        return;
    bg__count_miss(miss.query_len > 0, miss.variant > 0);
    while (at < misses->count &&
           (misses->list[at].query_len != miss.query_len || misses->list[at].variant != miss.variant))
        at++;
    if (at == BG__MISSES) {
        misses->others++;
        return;
    }
    if (at == misses->count)
        misses->list[misses->count++] = miss;
    misses->list[at].batches++;
}

const char *bg__miss_text(const bg_runner *runner, const bg__miss *miss, char *text, size_t bytes)
{
    int used = 0;

    text[0] = '\0';
    if (miss->query_len > 0) {
        used = snprintf(text, bytes, "query length %d (captured:", miss->query_len);
        for (int g = 1; g < runner->plan.group_count && used < (int)bytes; g++)
            used += snprintf(text + used, bytes - (size_t)used, "%s %d", g > 1 ? "," : "",
                             runner->plan.groups[g].query_len);
        if (used < (int)bytes)
            used += snprintf(text + used, bytes - (size_t)used, "; config.max_query_len)");
    }
    if (miss->variant > 0 && used < (int)bytes)
        snprintf(text + used, bytes - (size_t)used, "%svariant %d (captured: 0 to %d; config.variants)",
                 used > 0 ? ", " : "", miss->variant, runner->config.variants - 1);
    return text;
}

const char *bg__batch_miss_text(const bg_runner *runner, const bg_batch *batch, char *text, size_t bytes)
{
    const bg__miss miss = find_miss(runner, batch);
    return bg__miss_text(runner, &miss, text, bytes);
}

void bg__misses_print(const bg_runner *runner, FILE *out)
{
    const bg__misses *misses = &runner->misses;
    char text[200];

    for (int i = 0; i < misses->count; i++)
        fprintf(out, "never captured: %llu batch%s of %s\n", (unsigned long long)misses->list[i].batches,
                misses->list[i].batches == 1 ? "" : "es", bg__miss_text(runner, &misses->list[i], text, sizeof text));
    if (misses->others > 0)
        fprintf(out, "never captured: %llu batch%s of others\n", (unsigned long long)misses->others,
                misses->others == 1 ? "" : "es");
}
