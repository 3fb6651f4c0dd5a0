/* The mix of batches that a runner has run: how many of each size. Only the runner's own thread changes the counts,
 * without a lock; other threads may read them meanwhile. */
#include "runner/batch_mix.h"

#include <stdlib.h>

#include "base/base.h"

typedef _Atomic uint64_t counter;

enum { PAGE = 512 }; /* sizes whose counts fill a page of memory */

static void increase_counter(counter *to, uint64_t count)
{
    uint64_t before = atomic_load_explicit(to, memory_order_relaxed);
    atomic_store_explicit(to, before + count, memory_order_relaxed);
}

static uint64_t read_counter(const counter *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

bg_status bg__mix_create(bg__mix *mix, int query_len_count, int max_tokens)
{
    size_t sizes = (size_t)max_tokens + 1, families = (size_t)query_len_count + 1;

    mix->max_tokens = max_tokens;
    /* The OS allocates a page when it is first written: sizes that do not occur take no memory. */
    mix->batches = calloc(2 * families * sizes, sizeof *mix->batches);
    mix->seen = calloc(sizes / PAGE + 1, sizeof *mix->seen);
    if (mix->batches == NULL || mix->seen == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory to count batches of up to %d tokens", max_tokens);
    mix->unsized = mix->batches + families * sizes;
    return BG_OK;
}

void bg__mix_free(bg__mix *mix)
{
    free(mix->batches);
    free(mix->seen);
    *mix = (bg__mix){.batches = NULL};
}

/* Batches above max_tokens are counted at size 0, which no batch has. */
static int counted_size(const bg__mix *mix, int tokens)
{
    return tokens <= mix->max_tokens ? tokens : 0;
}

static size_t counter_index(const bg__mix *mix, int family, int tokens)
{
    return (size_t)family * ((size_t)mix->max_tokens + 1) + (size_t)counted_size(mix, tokens);
}

static bool is_size_reason(bg_reason reason)
{
    return reason == BG_REASON_NONE || reason == BG_REASON_TOO_LARGE || reason == BG_REASON_PADDING;
}

bool bg__mix_add_batch(bg__mix *mix, int family, const bg_batch *batch, const bg__mix_run *run)
{
    size_t place = counter_index(mix, family, run->tokens);
    uint64_t count;

    increase_counter(&mix->batches[place], 1);
    atomic_store_explicit(&mix->seen[counted_size(mix, run->tokens) / PAGE], true, memory_order_relaxed);
    if (!is_size_reason(run->reason))
        increase_counter(&mix->unsized[place], 1);
    if (run->tokens > mix->max_tokens && run->tokens > atomic_load_explicit(&mix->largest, memory_order_relaxed))
        atomic_store_explicit(&mix->largest, run->tokens, memory_order_relaxed);
    if (run->reason == BG_REASON_NONE) {
        increase_counter(&mix->rows, (uint64_t)batch->tokens);
        increase_counter(&mix->padding_rows, (uint64_t)(run->padded_tokens - batch->tokens));
        increase_counter(
            &mix->rank_rows,
            (uint64_t)((run->tokens < run->padded_tokens ? run->tokens : run->padded_tokens) - batch->tokens));
    } else {
        increase_counter(&mix->eager[run->reason], 1);
    }
    count = read_counter(&mix->count) + 1;
    atomic_store_explicit(&mix->count, count, memory_order_relaxed);
    return (count & (count - 1)) == 0 || count % BG__MIX_REPORT_INTERVAL == 0;
}

bg__mix_size bg__mix_read_size(const bg__mix *mix, int family, int tokens)
{
    size_t place = counter_index(mix, family, tokens);
    return (bg__mix_size){.batches = read_counter(&mix->batches[place]), .unsized = read_counter(&mix->unsized[place])};
}

int bg__mix_next_size(const bg__mix *mix, int tokens)
{
    while (tokens <= mix->max_tokens && !atomic_load_explicit(&mix->seen[tokens / PAGE], memory_order_relaxed))
        tokens = (tokens / PAGE + 1) * PAGE;
    return tokens <= mix->max_tokens ? tokens : mix->max_tokens + 1;
}
