#include "serving.h"
#include "examples/llama/engine.h"
#include "examples/llama/ops.h"
#include "server.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 16, ROWS = 64, LONGEST_PROMPT = 48, MODES = 3, BINS = 10, BAR_WIDTH = 40 };

/* The results of one mode. */
typedef struct mode_result {
    llama_mode mode;
    llama_server_result result;
    double *first, *whole; /* seconds from the arrival to the first token, to the last; ascending */
    uint64_t graphs, padding;
} mode_result;

static const char *current_mode; /* for the progress line */

static void show_progress(int done, int requests)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%s: %d of %d requests%s", current_mode, done, requests, done == requests ? "\r\033[K" : "");
}

static bg_mode runner_mode(llama_mode mode)
{
    return mode == LLAMA_EAGER ? BG_MODE_NONE : mode == LLAMA_FULL ? BG_MODE_FULL : BG_MODE_PIECEWISE;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Runs one pass, so that kernels are loaded before the measurement. */
static bg_status warm_up(llama_engine *engine)
{
    const llama_serve_batch batch = {.tokens = 1, .requests = 1, .max_query_len = 1, .uniform_decode = true};
    const int token = 0, position = 0, slot = 0;
    int next;
    return llama_engine_run(engine, &batch, &token, &position, &slot, 1, NULL, &next);
}

static bg_status sort_times(mode_result *s, const llama_traffic *traffic)
{
    s->first = calloc((size_t)traffic->count, sizeof *s->first);
    s->whole = calloc((size_t)traffic->count, sizeof *s->whole);
    if (!s->first || !s->whole)
        return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "llama_serving_benchmark", "out of host memory",
                                 "ask for fewer requests");
    for (int i = 0; i < traffic->count; i++) {
        s->first[i] = s->result.list[i].first - traffic->list[i].at;
        s->whole[i] = s->result.list[i].last - traffic->list[i].at;
    }
    qsort(s->first, (size_t)traffic->count, sizeof *s->first, compare_doubles);
    qsort(s->whole, (size_t)traffic->count, sizeof *s->whole, compare_doubles);
    qsort(s->result.gaps, (size_t)s->result.gap_count, sizeof *s->result.gaps, compare_doubles);
    return BG_OK;
}

static bg_status measure_engine(llama_engine *engine, mode_result *s, const llama_traffic *traffic)
{
    const llama_server_limits limits = {.slots = SLOTS, .rows = ROWS, .progress = show_progress};
    bg_counters before = BG_COUNTERS_INIT, after = BG_COUNTERS_INIT;
    TRY(bg_runner_capture(engine->runner));
    TRY(warm_up(engine));
    bg_counters_get(&before);
    current_mode = llama_mode_name(s->mode);
    TRY(llama_server_run(traffic, &limits, llama_engine_run, engine, &s->result));
    bg_counters_get(&after);
    s->padding = after.padded_tokens - before.padded_tokens;
    for (int mode = BG_MODE_NONE; mode <= BG_MODE_FULL; mode++)
        s->graphs += after.replays[mode] - before.replays[mode];
    return sort_times(s, traffic);
}

static bg_status measure_mode(mode_result *s, const llama_device_weights *weights, const llama_traffic *traffic,
                              int capacity, cudaStream_t stream)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    llama_engine engine;
    bg_status status;
    config.mode = runner_mode(s->mode);
    config.max_tokens = ROWS;
    status = llama_engine_create(&engine, weights, SLOTS, capacity, &config, stream);
    if (status == BG_OK)
        status = measure_engine(&engine, s, traffic);
    llama_engine_free(&engine);
    return status;
}

/* ---- output ------------------------------------------------------------------------------------- */

static double percentile_ms(const double *ascending, int count, double part)
{
    return count > 0 ? 1000 * ascending[(int)(part * (count - 1) + 0.5)] : 0;
}

static void print_times(const char *what, const double *ascending, int count, FILE *out)
{
    fprintf(out, "  %-20s %9.2f %9.2f %9.2f\n", what, percentile_ms(ascending, count, 0.5),
            percentile_ms(ascending, count, 0.9), percentile_ms(ascending, count, 0.99));
}

static int count_equal(const llama_server_result *a, const llama_server_result *b)
{
    int equal = 0;
    for (int i = 0; i < a->count; i++)
        equal += memcmp(a->list[i].tokens, b->list[i].tokens, (size_t)a->list[i].count * sizeof(int)) == 0;
    return equal;
}

static void print_mode_result(const mode_result *s, const mode_result *than, FILE *out)
{
    const llama_server_result *r = &s->result;
    fprintf(out, "\nmode %s: %d tokens in %.2f s, %.0f tokens a second\n", llama_mode_name(s->mode), r->tokens,
            r->seconds, r->tokens / r->seconds);
    fprintf(out, "  %d batches of %.1f rows on average, %llu by a graph with %llu padding rows\n", r->batches,
            (double)r->rows / r->batches, (unsigned long long)s->graphs, (unsigned long long)s->padding);
    if (than != s)
        fprintf(out, "  texts equal to mode %s: %d of %d\n", llama_mode_name(than->mode), count_equal(r, &than->result),
                r->count);
    fprintf(out, "  milliseconds               p50       p90       p99\n");
    print_times("to the first token", s->first, r->count, out);
    print_times("from token to token", r->gaps, r->gap_count, out);
    print_times("the whole request", s->whole, r->count, out);
}

static void print_histogram(const mode_result *s, double most, FILE *out)
{
    static const char bar[BAR_WIDTH + 1] = "########################################";
    int bins[BINS] = {0}, highest = 1;
    for (int i = 0; i < s->result.count; i++) {
        const int bin = (int)(BINS * s->whole[i] / most);
        bins[bin < BINS ? bin : BINS - 1]++;
    }
    for (int i = 0; i < BINS; i++)
        highest = bins[i] > highest ? bins[i] : highest;
    fprintf(out, "\n  %s\n", llama_mode_name(s->mode));
    for (int i = 0; i < BINS; i++)
        fprintf(out, "  %9.2f ms  %-*.*s %d\n", 1000 * most * (i + 1) / BINS, BAR_WIDTH,
                (bins[i] * BAR_WIDTH + highest - 1) / highest, bar, bins[i]);
}

static void print_results(const mode_result *list, int count, FILE *out)
{
    double most = 0;
    for (int i = 0; i < count; i++) {
        const double slowest = list[i].whole[list[i].result.count - 1];
        print_mode_result(&list[i], &list[0], out);
        most = slowest > most ? slowest : most;
    }
    fprintf(out, "\nrequests by latency, up to\n");
    for (int i = 0; i < count; i++)
        print_histogram(&list[i], most > 0 ? most : 1, out);
}

static int longest_prompt(const llama_serving_benchmark_options *o)
{
    const int longest = o->capacity - o->tokens + 1;
    return longest < LONGEST_PROMPT ? longest : LONGEST_PROMPT;
}

static bg_status measure_all_modes(mode_result *list, int count, const llama_traffic *traffic,
                                   const llama_device_weights *weights, const llama_serving_benchmark_options *o,
                                   cudaStream_t stream)
{
    static const llama_mode modes[MODES] = {LLAMA_EAGER, LLAMA_BREAKABLE, LLAMA_FULL};
    for (int i = 0; i < count; i++) {
        list[i].mode = o->all_modes ? modes[i] : o->mode;
        TRY(measure_mode(&list[i], weights, traffic, o->capacity, stream));
    }
    return BG_OK;
}

bg_status llama_serving_benchmark(const llama_device_weights *weights, const llama_serving_benchmark_options *o,
                                  cudaStream_t stream, FILE *out)
{
    const llama_traffic_options wanted = {.count = o->requests,
                                          .rate = o->rate,
                                          .seed = o->seed,
                                          .vocabulary = weights->config.vocabulary,
                                          .longest_prompt = longest_prompt(o),
                                          .most_tokens = o->tokens};
    const int count = o->all_modes ? MODES : 1;
    mode_result list[MODES] = {{.first = NULL}};
    llama_traffic traffic;
    bg_status status = llama_traffic_create(&traffic, &wanted);
    fprintf(
        out,
        "%d requests, %g a second on average (seed %llu): prompts of 1 to %d tokens, continued by 1 to %d; up to %d "
        "texts at once, batches of up to %d rows\n",
        o->requests, o->rate, (unsigned long long)o->seed, wanted.longest_prompt, o->tokens, SLOTS, ROWS);
    if (status == BG_OK)
        status = measure_all_modes(list, count, &traffic, weights, o, stream);
    if (status == BG_OK)
        print_results(list, count, out);
    for (int i = 0; i < count; i++) {
        llama_server_result_free(&list[i].result);
        free(list[i].first);
        free(list[i].whole);
    }
    llama_traffic_free(&traffic);
    return status;
}
