/* Counters of all runners of the process. */
#include "runner/runner.h"

#include <stdatomic.h>
#include <string.h>

static const char *const reason_names[] = {
    [BG_REASON_NONE] = "none",
    [BG_REASON_MODE_NONE] = "mode_none",
    [BG_REASON_TOO_LARGE] = "too_large",
    [BG_REASON_PADDING] = "padding",
    [BG_REASON_VETO] = "veto",
    [BG_REASON_CAPTURE_FAILED] = "capture_failed",
    [BG_REASON_NOT_CAPTURED] = "not_captured",
    [BG_REASON_UNSUPPORTED] = "unsupported",
};
enum { REASONS = sizeof reason_names / sizeof *reason_names };

const char *bg__reason_name(bg_reason reason)
{
    return reason_names[reason];
}

static struct {
    _Atomic uint64_t graphs, segments, captures, replays[5], eager[REASONS], padded_tokens, recaptures, larger_replays,
        larger_tokens, idle_captures, idle_overruns, missed_query_lens, missed_variants;
} process_counters;

/* The public array is as long as in the first version; later reasons have members of their own. */
static uint64_t *eager_counter(bg_counters *counters, int reason)
{
    return reason == BG_REASON_UNSUPPORTED ? &counters->eager_unsupported : &counters->eager[reason];
}

static void add_to_counter(_Atomic uint64_t *counter, uint64_t count)
{
    atomic_fetch_add_explicit(counter, count, memory_order_relaxed);
}

void bg__count_capture(const bg_graph *graph, bool again)
{
    add_to_counter(&process_counters.captures, 1);
    if (graph == NULL)
        return;
    add_to_counter(&process_counters.graphs, 1);
    add_to_counter(&process_counters.segments, (uint64_t)graph->segment_count);
    add_to_counter(&process_counters.recaptures, again);
}

void bg__count_replay(bg_mode mode, int padded_tokens, int larger)
{
    add_to_counter(&process_counters.replays[mode], 1);
    add_to_counter(&process_counters.padded_tokens, (uint64_t)padded_tokens);
    if (larger == 0)
        return;
    add_to_counter(&process_counters.larger_replays, 1);
    add_to_counter(&process_counters.larger_tokens, (uint64_t)larger);
}

void bg__count_idle(bool overran)
{
    add_to_counter(&process_counters.idle_captures, 1);
    add_to_counter(&process_counters.idle_overruns, overran);
}

void bg__count_miss(bool query_len, bool variant)
{
    add_to_counter(&process_counters.missed_query_lens, query_len);
    add_to_counter(&process_counters.missed_variants, variant);
}

void bg__count_eager(bg_reason reason)
{
    add_to_counter(&process_counters.eager[reason], 1);
}

static uint64_t read_counter(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void bg_counters_get(bg_counters *counters)
{
    bg_counters now = BG_COUNTERS_INIT;
    size_t size;

    if (counters == NULL)
        return;
    size = counters->struct_size < sizeof now ? counters->struct_size : sizeof now;
    now.struct_size = counters->struct_size;
    now.graphs = read_counter(&process_counters.graphs);
    now.segments = read_counter(&process_counters.segments);
    now.captures = read_counter(&process_counters.captures);
    for (int i = 0; i < 5; i++)
        now.replays[i] = read_counter(&process_counters.replays[i]);
    for (int i = 0; i < REASONS; i++)
        *eager_counter(&now, i) = read_counter(&process_counters.eager[i]);
    now.padded_tokens = read_counter(&process_counters.padded_tokens);
    now.recaptures = read_counter(&process_counters.recaptures);
    now.larger_replays = read_counter(&process_counters.larger_replays);
    now.larger_tokens = read_counter(&process_counters.larger_tokens);
    now.idle_captures = read_counter(&process_counters.idle_captures);
    now.idle_overruns = read_counter(&process_counters.idle_overruns);
    now.missed_query_lens = read_counter(&process_counters.missed_query_lens);
    now.missed_variants = read_counter(&process_counters.missed_variants);
    memcpy(counters, &now, size);
}

void bg_counters_reset(void)
{
    atomic_store(&process_counters.graphs, 0);
    atomic_store(&process_counters.segments, 0);
    atomic_store(&process_counters.captures, 0);
    for (int i = 0; i < 5; i++)
        atomic_store(&process_counters.replays[i], 0);
    for (int i = 0; i < REASONS; i++)
        atomic_store(&process_counters.eager[i], 0);
    atomic_store(&process_counters.padded_tokens, 0);
    atomic_store(&process_counters.recaptures, 0);
    atomic_store(&process_counters.larger_replays, 0);
    atomic_store(&process_counters.larger_tokens, 0);
    atomic_store(&process_counters.idle_captures, 0);
    atomic_store(&process_counters.idle_overruns, 0);
    atomic_store(&process_counters.missed_query_lens, 0);
    atomic_store(&process_counters.missed_variants, 0);
}

typedef unsigned long long ull;

void bg_counters_print(FILE *out)
{
    bg_counters c = BG_COUNTERS_INIT;

    if (out == NULL)
        return;
    bg_counters_get(&c);
    fprintf(out, "captures: %llu (recaptures of a bucket: %llu); graphs: %llu, segments: %llu\n", (ull)c.captures,
            (ull)c.recaptures, (ull)c.graphs, (ull)c.segments);
    fprintf(out, "replays: %llu piecewise, %llu full; padding rows: %llu\n", (ull)c.replays[BG_MODE_PIECEWISE],
            (ull)c.replays[BG_MODE_FULL], (ull)c.padded_tokens);
    if (c.larger_replays > 0 || c.idle_captures > 0)
        fprintf(out,
                "in the background: %llu captures, of which %llu overran; %llu replays of larger buckets, with %llu "
                "more padding rows\n",
                (ull)c.idle_captures, (ull)c.idle_overruns, (ull)c.larger_replays, (ull)c.larger_tokens);
    if (c.missed_query_lens > 0 || c.missed_variants > 0)
        fprintf(out, "never captured: the query length of %llu batches, the variant of %llu\n",
                (ull)c.missed_query_lens, (ull)c.missed_variants);
    fputs("eager runs:", out);
    for (int i = 1; i < REASONS; i++)
        fprintf(out, "%s %llu %s", i > 1 ? "," : "", (ull)*eager_counter(&c, i), reason_names[i]);
    fputc('\n', out);
}

void bg_counters_print_json(FILE *out)
{
    bg_counters c = BG_COUNTERS_INIT;

    if (out == NULL)
        return;
    bg_counters_get(&c);
    fprintf(out, "{\"graphs\": %llu, \"segments\": %llu, \"captures\": %llu, \"recaptures\": %llu, \"replays\": {",
            (ull)c.graphs, (ull)c.segments, (ull)c.captures, (ull)c.recaptures);
    for (int i = 0; i < 5; i++)
        fprintf(out, "%s\"%s\": %llu", i ? ", " : "", bg__mode_name((bg_mode)i), (ull)c.replays[i]);
    fputs("}, \"eager\": {", out);
    for (int i = 0; i < REASONS; i++)
        fprintf(out, "%s\"%s\": %llu", i ? ", " : "", reason_names[i], (ull)*eager_counter(&c, i));
    fprintf(out,
            "}, \"padded_tokens\": %llu, \"larger_replays\": %llu, \"larger_tokens\": %llu, \"idle_captures\": "
            "%llu, \"idle_overruns\": %llu, \"missed_query_lens\": %llu, \"missed_variants\": %llu}\n",
            (ull)c.padded_tokens, (ull)c.larger_replays, (ull)c.larger_tokens, (ull)c.idle_captures,
            (ull)c.idle_overruns, (ull)c.missed_query_lens, (ull)c.missed_variants);
}
