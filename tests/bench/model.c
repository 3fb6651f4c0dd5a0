/* A decode step of one text by a model of SmolLM2-135M's shape with random weights (on the host device, of the small
 * model's): by the runner in segments, as one graph, and eagerly. */
#include "examples/llama/engine.h"
#include "examples/llama/ops.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "decoder.h"
#include "runner/runner.h"

/* CHECKED: addresses, before each replay; SHADOWED: each replay beside the pass run eagerly. */
enum { SEGMENTS, FULL, EAGER, CHECKED, CHECKED_SEGMENTS, SHADOWED, SHADOWED_SEGMENTS, WAYS };

static bg_status report_steps(bench *b, const decoder *decoders, const timing *timings)
{
    const timing *segments = &timings[SEGMENTS], *full = &timings[FULL], *eager = &timings[EAGER];
    const bg_graph *graph = decoder_graph(&decoders[SEGMENTS]);
    bg_graph_info info = BG_GRAPH_INFO_INIT;
    row row = {.section = "model", .what = "decode step in segments", .unit = MICROSECONDS, .measure = "total"};

    row.ours = segments->total;
    row.hand = full->total;
    row.against = "one graph";
    row.breaks = graph->breaks;
    row.apart = 5 * graph->breaks;
    BENCH_TRY(report_add(&b->report, &row));
    row.hand = eager->total;
    row.against = "eager";
    row.apart = 0;
    /* No way of launching makes the device faster than the one graph keeps it busy. */
    row.target = 2 * full->total.median <= eager->total.median ? 0.5 : 0;
    BENCH_TRY(report_add(&b->report, &row));
    row = (struct row){.section = "model", .what = "one graph, BG_CHECK=replay", .against = "unchecked"};
    BENCH_TRY(report_timings(&b->report, row, &timings[CHECKED], full, 0, 1.05));
    snprintf(row.what, sizeof row.what, "in segments, BG_CHECK=replay");
    BENCH_TRY(report_timings(&b->report, row, &timings[CHECKED_SEGMENTS], segments, 0, 1.05));
    row = (struct row){.section = "model", .what = "one graph, BG_SHADOW=1", .against = "eager"};
    BENCH_TRY(report_timings(&b->report, row, &timings[SHADOWED], eager, 0, 4));
    snprintf(row.what, sizeof row.what, "in segments, BG_SHADOW=1");
    BENCH_TRY(report_timings(&b->report, row, &timings[SHADOWED_SEGMENTS], eager, 0, 4));
    BENCH_TRY(bg_graph_get_info(decoder_graph(&decoders[FULL]), &info));
    printf("\ntokens a second: %.0f in segments, %.0f as one graph, %.0f eagerly\n", 1e6 / segments->total.median,
           1e6 / full->total.median, 1e6 / eager->total.median);
    printf("the one graph holds %zu kernels; the eager step makes %llu launches and cuBLAS calls\n", info.kernel_nodes,
           (unsigned long long)decoders[EAGER].launches);
    if (row.target == 0)
        printf("the device itself needs %.0f us a step (the one graph): twice the eager rate would be %.0f us\n",
               full->total.median, eager->total.median / 2);
    return BG_OK;
}

/* The pool after captures of all sizes of a schedule. */
static bg_status measure_pool(const llama_device_weights *weights, const char *schedule, cudaStream_t stream,
                              double *kib)
{
    enum { LARGEST = 8192, SHORT = 8 /* positions: of the caches, which no capture changes, a few do */ };
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    CLOSED_BY(llama_engine_free) llama_engine engine = {.batch = NULL};

    config.schedule = schedule;
    config.max_tokens = LARGEST;
    config.warmups = 0;
    BENCH_TRY(llama_engine_create(&engine, weights, 1, SHORT, &config, stream));
    BENCH_TRY(bg_runner_capture(engine.runner));
    BENCH_TRY(bg_pool_get_stats(bg_runner_pool(engine.runner), &stats));
    *kib = (double)stats.mapped / 1024;
    return BG_OK;
}

static bg_status report_pool(bench *b, const llama_device_weights *weights)
{
    row row = {.section = "model",
               .what = "pool of 58 buckets to 8192 tokens",
               .unit = KIBIBYTES,
               .measure = "device memory",
               .against = "the largest one",
               .target = 1.02};
    double all, alone;

    BENCH_TRY(measure_pool(weights, "sglang", b->stream, &all));
    BENCH_TRY(measure_pool(weights, "8192", b->stream, &alone));
    row.ours = bench_exactly(all);
    row.hand = bench_exactly(alone);
    return report_add(&b->report, &row);
}

/* ---- a look at all nodes ---- */

enum { SCANS = 11 };

static bg_status forward_twice(void *user, cudaStream_t stream)
{
    decoder *d = user;
    bg_status status = llama_batch_run(d->batch, 1, stream);
    return status != BG_OK ? status : llama_batch_run(d->batch, 1, stream);
}

static void close_report(bg_report **report)
{
    bg_report_destroy(*report);
}

static bg_status time_scan(bg_graph *graph, size_t expected, double *ours, double *hand)
{
    CLOSED_BY(bench_free) cudaGraphNode_t *nodes = calloc(expected + 1, sizeof(cudaGraphNode_t));
    CLOSED_BY(close_report) bg_report *report = NULL;
    size_t count = expected;
    double began;

    if (nodes == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu nodes", expected);
    began = bg__now_ms();
    BENCH_TRY(bg_check(graph, BG_CHECK_ALL, &report));
    *ours = 1e3 * (bg__now_ms() - began);
    if (bg_report_count(report) != 0) {
        bg_report_write(report, BG_TEXT, "-");
        return bg__fail(BG_ERROR_MISMATCH, "bg_check finds something in a clean model");
    }
    began = bg__now_ms();
    BENCH_TRY_CUDA(cudaGraphGetNodes(graph->segments[0].graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        enum cudaGraphNodeType type;
        BENCH_TRY_CUDA(cudaGraphNodeGetType(nodes[i], &type));
    }
    *hand = 1e3 * (bg__now_ms() - began);
    return BG_OK;
}

/* Of a graph of two decode steps, with its cuBLAS nodes; no finding, since the model is clean. */
static bg_status report_scan(bench *b, decoder *d)
{
    row row = {.section = "model", .unit = MICROSECONDS, .measure = "CPU", .against = "list, types", .apart = 20000};
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph_info info = BG_GRAPH_INFO_INIT;
    bg_graph *graph = NULL;
    double ours[SCANS], hand[SCANS];
    bg_status status;

    options.launch_segments = false;
    options.inline_eager = true;
    BG__TRY(bg_capture_forward(&graph, forward_twice, d, b->stream, &options));
    BG__TRY(bg_graph_get_info(graph, &info));
    for (int i = 0; i < SCANS; i++)
        BG__TRY(time_scan(graph, info.nodes, &ours[i], &hand[i]));
    snprintf(row.what, sizeof row.what, "bg_check of %zu nodes, %d calls", info.nodes, info.calls);
    row.ours = bench_spread(ours, SCANS);
    row.hand = bench_spread(hand, SCANS);
    BG__TRY(report_add(&b->report, &row));
done:
    bg_graph_destroy(graph);
    return status;
}

bg_status bench_model(bench *b)
{
    static const bg_mode modes[WAYS] = {BG_MODE_PIECEWISE, BG_MODE_FULL, BG_MODE_NONE,     BG_MODE_FULL,
                                        BG_MODE_PIECEWISE, BG_MODE_FULL, BG_MODE_PIECEWISE};
    decoder decoders[WAYS] = {{.batch = NULL}};
    contender contenders[WAYS];
    plan plan = {.stream = b->stream, .samples = (b->report.samples + 4) / 5, .warm_up = 5, .batch = 1};
    llama_device_weights device = {.layer = NULL};
    timing timings[WAYS];
    bg_status status;

    begin_model_section(b, "A decode step of one text", "");
    BG__TRY(open_model(&device, b, false));
    for (int i = 0; i < WAYS; i++) {
        if (i == CHECKED || i == CHECKED_SEGMENTS)
            (void)setenv("BG_CHECK", "replay", 1);
        if (i == SHADOWED || i == SHADOWED_SEGMENTS)
            (void)setenv("BG_SHADOW", "1", 1);
        status = decoder_open(&decoders[i], &device, &(decoder_options){.mode = modes[i]}, b->stream);
        (void)unsetenv("BG_CHECK");
        (void)unsetenv("BG_SHADOW");
        if (status != BG_OK)
            goto done;
        contenders[i] = (contender){decoder_step, NULL, &decoders[i]};
    }
    BG__TRY(report_pool(b, &device));
    BG__TRY(bench_measure(contenders, WAYS, &plan, timings));
    BG__TRY(report_scan(b, &decoders[FULL]));
    BG__TRY(report_steps(b, decoders, timings));
done:
    for (int i = 0; i < WAYS; i++)
        decoder_close(&decoders[i]);
    llama_device_weights_free(&device);
    return status;
}
