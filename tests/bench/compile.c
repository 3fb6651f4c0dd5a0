/* Compile levels: decode steps of a model of SmolLM2-135M's shape with random weights (on the host device, of the small
 * model's) at level 3, with the example's rules, beside the same at level 0; what captures and proofs cost. */
#include "examples/llama/buffers.h"

#include <stdio.h>
#include <stdlib.h>

#include "decoder.h"

enum { CAPACITY = 256, POSITION = 64, MOST_ROWS = 128, WAYS = 4 };

/* One way to run a step: its graph. */
typedef struct way {
    struct step *step;
    bg_graph *graph;
    bg_capture_options options;
} way;

typedef struct step {
    llama_batch *batch;
    llama_buffers buffers;
    int rows;
    const char *weights; /* their dtype */
    cudaStream_t stream;
} step;

static bg_status forward(void *user, cudaStream_t stream)
{
    const step *s = user;
    return llama_batch_run(s->batch, s->rows, stream);
}

static bg_status replay(void *state)
{
    way *w = state;
    return bg_replay(w->graph, w->step->stream);
}

static bg_status run_eagerly(void *state)
{
    way *w = state;
    return forward(w->step, w->step->stream);
}

static bg_status capture(void *state)
{
    way *w = state;
    return bg_capture_forward(&w->graph, forward, w->step, w->step->stream, &w->options);
}

static bg_status destroy(void *state)
{
    way *w = state;
    bg_graph_destroy(w->graph);
    w->graph = NULL;
    return BG_OK;
}

/* Row r is a text of its own, in the middle of its cache. */
static bg_status fill(step *s, const llama_config *config)
{
    int token[MOST_ROWS], position[MOST_ROWS], slot[MOST_ROWS];

    for (int r = 0; r < MOST_ROWS; r++) {
        token[r] = (7 + r) % config->vocabulary;
        position[r] = POSITION + r % 8;
        slot[r] = r;
    }
    BENCH_TRY(llama_buffers_create(&s->buffers, s->batch, s->stream));
    BENCH_TRY(llama_buffers_copy_in(&s->buffers, token, position, slot, MOST_ROWS));
    BENCH_TRY_CUDA(cudaStreamSynchronize(s->stream));
    return BG_OK;
}

/* ---- what the rules have done ---- */

static bg_status print_rules(const bg_graph *graph, const step *s)
{
    bg_compile_info info = BG_COMPILE_INFO_INIT;
    bg_fusion fusion = BG_FUSION_INIT;

    BENCH_TRY(bg_graph_get_compile_info(graph, &info));
    printf("%d rows, %s: %zu nodes become %zu; %d runs of %d applied, %d dropped; %d proofs in %.1f ms\n", s->rows,
           s->weights, info.nodes_before, info.nodes_after, info.applied, info.fusions, info.dropped, info.proofs,
           info.proof_ms);
    for (int i = 0; bg_graph_get_fusion(graph, i, &fusion) == BG_OK; i++)
        if (fusion.number <= 1 && fusion.state != BG_FUSION_COVERED)
            printf("  %s#%d: %s%s%s, calls %.2f us, op %.2f us\n", fusion.op, fusion.number,
                   fusion.state == BG_FUSION_APPLIED ? "applied" : "not applied", fusion.why[0] != '\0' ? ": " : "",
                   fusion.why, fusion.calls_us, fusion.op_us);
    return BG_OK;
}

/* ---- replays ---- */

enum { FULL_PLAIN, FULL_COMPILED, SEGMENTS_PLAIN, SEGMENTS_COMPILED, GLUE, REPLAYS };

static way way_of(step *s, bg_level level, bool segments)
{
    way w = {.step = s, .options = BG_CAPTURE_OPTIONS_INIT};
    w.options.level = (int)level;
    w.options.inline_eager = !segments;
    return w;
}

static bg_status report_replays(bench *b, step *s, double full_target, double segments_target)
{
    const struct {
        int ours, hand;
        const char *what;
        double target;
    } compared[] = {{FULL_COMPILED, FULL_PLAIN, "one graph, level 3", full_target},
                    {SEGMENTS_COMPILED, SEGMENTS_PLAIN, "segments, level 3", segments_target},
                    {GLUE, FULL_PLAIN, "one graph, level 2", 1.0}};
    enum { COMPARED = sizeof compared / sizeof *compared };
    plan plan = {.stream = b->stream, .samples = (b->report.samples + 4) / 5, .warm_up = 5, .batch = 1};
    way ways[REPLAYS] = {[FULL_PLAIN] = way_of(s, BG_LEVEL_NONE, false),
                         [FULL_COMPILED] = way_of(s, BG_LEVEL_PIECEWISE, false),
                         [SEGMENTS_PLAIN] = way_of(s, BG_LEVEL_NONE, true),
                         [SEGMENTS_COMPILED] = way_of(s, BG_LEVEL_PIECEWISE, true),
                         [GLUE] = way_of(s, BG_LEVEL_ONCE, false)};
    contender contenders[REPLAYS];
    timing timings[REPLAYS];
    bg_status status;

    for (int i = 0; i < REPLAYS; i++) {
        contenders[i] = (contender){replay, NULL, &ways[i]};
        BG__TRY(capture(&ways[i]));
    }
    for (int i = 0; i < COMPARED; i++)
        BG__TRY(print_rules(ways[compared[i].ours].graph, s));
    BG__TRY(bench_measure(contenders, REPLAYS, &plan, timings));
    for (int i = 0; i < COMPARED; i++) {
        row row = {.section = "compile", .against = "level 0"};
        snprintf(row.what, sizeof row.what, "%d rows, %s, %s", s->rows, s->weights, compared[i].what);
        BG__TRY(report_timings(&b->report, row, &timings[compared[i].ours], &timings[compared[i].hand], 1.05,
                               compared[i].target));
    }
done:
    for (int i = 0; i < REPLAYS; i++)
        destroy(&ways[i]);
    return status;
}

/* ---- captures ---- */

/* Captures that launch, of the one graph: without proofs, and with a proof of each rule. */
static bg_status report_captures(bench *b, step *s)
{
    enum { PLAIN, UNPROVEN, PROVEN, EAGER, CAPTURES };
    plan plan = {.stream = b->stream, .samples = b->report.captures, .warm_up = 1, .batch = 1};
    row row = {.section = "compile", .unit = MICROSECONDS, .measure = "total"};
    way ways[CAPTURES];
    contender contenders[CAPTURES];
    timing timings[CAPTURES];
    bg_status status;

    for (int i = 0; i < CAPTURES; i++) {
        ways[i] = way_of(s, i == PLAIN || i == EAGER ? BG_LEVEL_NONE : BG_LEVEL_PIECEWISE, false);
        contenders[i] = (contender){i == EAGER ? run_eagerly : capture, i == EAGER ? NULL : destroy, &ways[i]};
    }
    (void)setenv("BG_COMPILE_PROVE", "off", 1);
    BG__TRY(bench_measure(contenders, 2, &plan, timings));
    snprintf(row.what, sizeof row.what, "a capture of %d rows without proofs", s->rows);
    row.ours = timings[UNPROVEN].total;
    row.hand = timings[PLAIN].total;
    row.against = "level 0";
    row.target = 1.25;
    BG__TRY(report_add(&b->report, &row));
    (void)setenv("BG_COMPILE_PROVE", "always", 1);
    BG__TRY(bench_measure(contenders + PROVEN, 2, &plan, timings + PROVEN));
    snprintf(row.what, sizeof row.what, "what proofs add to a capture of %d rows", s->rows);
    row.ours = timings[PROVEN].total;
    row.ours.p10 -= timings[UNPROVEN].total.median;
    row.ours.median -= timings[UNPROVEN].total.median;
    row.ours.p90 -= timings[UNPROVEN].total.median;
    row.hand = timings[EAGER].total;
    row.against = "an eager pass";
    row.target = 6;
    BG__TRY(report_add(&b->report, &row));
done:
    (void)unsetenv("BG_COMPILE_PROVE");
    for (int i = 0; i < CAPTURES; i++)
        destroy(&ways[i]);
    return status;
}

static bg_status report_steps(bench *b, bool bf16, int count)
{
    static const int rows[] = {1, 8, 32, MOST_ROWS};
    llama_device_weights device = {.layer = NULL};
    step s = {.stream = b->stream, .weights = bf16 ? "bf16" : "fp32"};
    bg_status status;

    BG__TRY(open_model(&device, b, bf16));
    BG__TRY(llama_batch_create(&s.batch, &device, MOST_ROWS, CAPACITY, MOST_ROWS, NULL, b->stream));
    BG__TRY(fill(&s, &device.config));
    for (int i = 0; i < count; i++) {
        s.rows = rows[i];
        BG__TRY(run_eagerly(&(way){.step = &s})); /* libraries load their kernels */
        BG__TRY(report_replays(b, &s, i == 0 ? 0.5 : 1.0, i == 0 ? 0.55 : 1.0));
    }
    s.rows = 1;
    if (!bf16)
        BG__TRY(report_captures(b, &s));
done:
    llama_buffers_free(&s.buffers);
    llama_batch_destroy(s.batch);
    llama_device_weights_free(&device);
    return status;
}

bg_status bench_compile(bench *b)
{
    begin_model_section(b, "Compile levels", "");
    BENCH_TRY(report_steps(b, false, b->report.on_gpu ? 4 : 1));
    return report_steps(b, true, b->report.on_gpu ? 2 : 1);
}
