#include "bucket_sizes.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* Rounds as the runner does for decode batches (src/runner/buckets.c). */
int bg__size_round(int size, int query_len, int max_tokens)
{
    int rounded = (size + query_len - 1) / query_len * query_len;
    return rounded <= max_tokens ? rounded : max_tokens / query_len * query_len;
}

/* ---- what a schedule costs ---- */

/* A schedule that is searched from small to large buckets. */
typedef struct schedule {
    const int *sizes;
    size_t count;
} schedule;

/* Finds the bucket that holds the tokens; 0: none holds them, or the bucket pads them too much. Drops the sizes that
 * are too small. */
static int find_bucket(const bg__size_mix *mix, int query_len, schedule *s, int tokens)
{
    for (; s->count > 0; s->sizes++, s->count--) {
        int bucket = bg__size_round(s->sizes[0], query_len, mix->max_tokens);
        if (bucket >= tokens)
            return mix->max_padding > 0 && bucket > mix->max_padding * tokens ? 0 : bucket;
    }
    return 0;
}

/* Chooses buckets as the runner does (bg__dispatch_batch in src/runner/buckets.c). */
static void judge_family(const bg__size_mix *mix, const bg__size_family *family, const int *sizes, size_t count,
                         bg__size_cost *cost)
{
    schedule own = {sizes, count}, mixed = own;
    for (size_t i = 0; i < family->count; i++) {
        const bg__size_count *one = &family->list[i];
        int bucket = find_bucket(mix, family->query_len, &own, one->tokens);
        if (bucket == 0 && mix->has_mixed)
            bucket = find_bucket(mix, 1, &mixed, one->tokens);
        if (bucket == 0)
            continue;
        cost->batches += one->batches;
        cost->rows += one->batches * (uint64_t)one->tokens;
        cost->padding_rows += one->batches * (uint64_t)(bucket - one->tokens);
    }
}

bg__size_cost bg__sizes_cost(const bg__size_mix *mix, const int *sizes, size_t count)
{
    bg__size_cost cost = {0};
    for (size_t f = 0; f < mix->count; f++)
        judge_family(mix, &mix->families[f], sizes, count, &cost);
    return cost;
}

/* ---- candidates ---- */

static int compare_sizes(const void *a, const void *b)
{
    int one = *(const int *)a, other = *(const int *)b;
    return (one > other) - (one < other);
}

/* The smallest size whose bucket holds the tokens. */
static int smallest_size_for(int tokens, int query_len)
{
    return (tokens - 1) / query_len * query_len + 1;
}

/* Lists all sizes that a best schedule can have. For each batch this is the smallest size whose bucket holds the batch.
 * A size between two of these sizes holds no more batches than the lower size, and pads them more. */
static bg_status list_candidates(const bg__size_mix *mix, bg__size_choices *choices)
{
    size_t count = 0, distinct = 0, step;
    int *list;

    for (size_t f = 0; f < mix->count; f++)
        count += mix->families[f].count;
    if (count == 0)
        return bg__fail(BG_ERROR_NOT_FOUND, "there are no batches to propose a schedule for");
    list = choices->candidates = malloc(count * sizeof *list);
    if (list == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu sizes", count);
    count = 0;
    for (size_t f = 0; f < mix->count; f++)
        for (size_t i = 0; i < mix->families[f].count; i++)
            list[count++] = smallest_size_for(mix->families[f].list[i].tokens, mix->families[f].query_len);
    qsort(list, count, sizeof *list, compare_sizes);
    for (size_t i = 0; i < count; i++)
        if (distinct == 0 || list[i] != list[distinct - 1])
            list[distinct++] = list[i];
    step = (distinct + BG__SIZE_CANDIDATES - 1) / BG__SIZE_CANDIDATES;
    for (size_t i = (distinct - 1) % step; i < distinct; i += step) /* keeps the last size */
        list[choices->count++] = list[i];
    return BG_OK;
}

/* ---- sums ---- */

/* Prefix sums of one family: for each candidate its bucket, and the batches and rows up to it. Index 0 is before the
 * first candidate. */
typedef struct family_sums {
    uint64_t *bucket, *batches, *rows;
} family_sums;

typedef struct size_problem {
    family_sums *families;
    size_t family_count, count; /* candidates */
    uint64_t *cost;             /* cost by candidate, for the current length */
    uint64_t *next;
} size_problem;

static bg_status sum_family(const bg__size_mix *mix, const bg__size_family *family, const bg__size_choices *choices,
                            family_sums *family_sums)
{
    size_t places = choices->count + 1, at = 0;
    uint64_t batches = 0, rows = 0;

    family_sums->bucket = calloc(3 * places, sizeof *family_sums->bucket);
    if (family_sums->bucket == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu sizes", choices->count);
    family_sums->batches = family_sums->bucket + places;
    family_sums->rows = family_sums->batches + places;
    for (size_t c = 0; c < choices->count; c++) {
        int bucket = bg__size_round(choices->candidates[c], family->query_len, mix->max_tokens);
        for (; at < family->count && family->list[at].tokens <= bucket; at++) {
            batches += family->list[at].batches;
            rows += family->list[at].batches * (uint64_t)family->list[at].tokens;
        }
        family_sums->bucket[c + 1] = (uint64_t)bucket;
        family_sums->batches[c + 1] = batches;
        family_sums->rows[c + 1] = rows;
    }
    return BG_OK;
}

static uint64_t count_covered_batches(const size_problem *p, size_t candidate)
{
    uint64_t batches = 0;
    for (size_t f = 0; f < p->family_count; f++)
        batches += p->families[f].batches[candidate];
    return batches;
}

/* Drops candidates that are larger than `cover` percent of the batches need. */
static void drop_large_candidates(size_problem *p, double cover, bg__size_choices *choices)
{
    double wanted = (double)count_covered_batches(p, p->count) * cover / 100;
    while (p->count > 1 && (double)count_covered_batches(p, p->count - 1) >= wanted)
        p->count--;
    choices->count = p->count;
}

/* Padding rows of the batches above candidate i and up to candidate j, if they run in the bucket of j. */
static uint64_t padding_between(const size_problem *p, size_t i, size_t j)
{
    uint64_t padding = 0;
    for (size_t f = 0; f < p->family_count; f++) {
        const family_sums *s = &p->families[f];
        padding += s->bucket[j] * (s->batches[j] - s->batches[i]) - (s->rows[j] - s->rows[i]);
    }
    return padding;
}

/* ---- the dynamic program ---- */

/* Finds the best previous size for each candidate from `low` to `high`; it is between `first` and `last`. It never
 * decreases as the candidate grows, since padding_between satisfies the quadrangle inequality (divide and conquer). */
static void find_previous_sizes(size_problem *p, int *before, size_t low, size_t high, size_t first, size_t last)
{
    while (low <= high) {
        size_t middle = low + (high - low) / 2, best = first;
        uint64_t least = UINT64_MAX;
        for (size_t i = first; i <= last && i < middle; i++) {
            uint64_t cost = p->cost[i] + padding_between(p, i, middle);
            if (cost < least) {
                least = cost;
                best = i;
            }
        }
        p->next[middle] = least;
        before[middle - 1] = (int)best;
        if (middle > low)
            find_previous_sizes(p, before, low, middle - 1, first, best);
        low = middle + 1;
        first = best;
    }
}

/* cost[j] is the fewest padding rows of a schedule whose last size is candidate j. Each iteration adds one size. */
static void solve_sizes(size_problem *p, bg__size_choices *choices)
{
    for (size_t j = 1; j <= p->count; j++)
        p->cost[j] = padding_between(p, 0, j);
    for (size_t length = 2; length <= choices->most; length++) {
        uint64_t *done = p->cost;
        find_previous_sizes(p, choices->before + (length - 2) * p->count, length, p->count, length - 1, p->count - 1);
        p->cost = p->next;
        p->next = done;
    }
}

static void free_problem(size_problem *p)
{
    for (size_t f = 0; p->families != NULL && f < p->family_count; f++)
        free(p->families[f].bucket);
    free(p->families);
    free(p->cost);
    free(p->next);
}

static bg_status make_problem(const bg__size_mix *mix, bg__size_choices *choices, size_problem *p)
{
    bg_status status = BG_OK;

    p->count = choices->count;
    p->family_count = mix->count;
    p->families = calloc(mix->count + 1, sizeof *p->families);
    p->cost = calloc(p->count + 1, sizeof *p->cost);
    p->next = calloc(p->count + 1, sizeof *p->next);
    if (p->families == NULL || p->cost == NULL || p->next == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu sizes", p->count);
    for (size_t f = 0; f < mix->count; f++)
        BG__TRY(sum_family(mix, &mix->families[f], choices, &p->families[f]));
done:
    return status;
}

bg_status bg__sizes_choose(const bg__size_mix *mix, double cover, size_t most, bg__size_choices *choices)
{
    size_problem p = {.families = NULL};
    bg_status status;

    *choices = (bg__size_choices){.candidates = NULL};
    BG__TRY(list_candidates(mix, choices));
    BG__TRY(make_problem(mix, choices, &p));
    drop_large_candidates(&p, cover, choices);
    choices->most = most < choices->count ? most : choices->count;
    choices->before = calloc(choices->most * choices->count + 1, sizeof *choices->before);
    if (choices->before == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for schedules of %zu sizes", choices->most);
    solve_sizes(&p, choices);
done:
    free_problem(&p);
    if (status != BG_OK)
        bg__sizes_free(choices);
    return status;
}

void bg__sizes_free(bg__size_choices *choices)
{
    free(choices->candidates);
    free(choices->before);
    *choices = (bg__size_choices){.candidates = NULL};
}

/* ---- a schedule ---- */

void bg__sizes_schedule(const bg__size_choices *choices, size_t length, int *sizes)
{
    size_t j = choices->count;

    for (size_t left = length; left > 0; left--) {
        sizes[left - 1] = choices->candidates[j - 1];
        if (left > 1)
            j = (size_t)choices->before[(left - 2) * choices->count + j - 1];
    }
}

void bg__sizes_round_up(const bg__size_mix *mix, int *sizes, size_t length)
{
    for (size_t f = 0; f < mix->count; f++)
        for (size_t i = length; i-- > 0 && mix->families[f].query_len > 1;) {
            const bg__size_cost before = bg__sizes_cost(mix, sizes, length);
            const int size = sizes[i];
            bg__size_cost raised;
            sizes[i] = bg__size_round(size, mix->families[f].query_len, mix->max_tokens);
            raised = bg__sizes_cost(mix, sizes, length);
            if (sizes[i] < size || (i + 1 < length && sizes[i] >= sizes[i + 1]) || raised.batches != before.batches ||
                raised.padding_rows != before.padding_rows)
                sizes[i] = size;
        }
}
