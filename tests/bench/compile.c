/* Compile levels: decode steps of a model of SmolLM2-135M's shape with random weights (on the host device, of the small
 * model's) at level 3, with the example's rules, beside the same at level 0; what captures and proofs cost. */
#include "examples/llama/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { CAPACITY = 256, POSITION = 64, MOST_ROWS = 128, WAYS = 4 };

/* One way to run a step: its graph. */
typedef struct way {
    struct step *step;
    bg_graph *graph;
    bg_capture_options options;
} way;

typedef struct step {
    llama_batch *batch;
    llama_batch_io io;
    int rows;
    const char *weights; /* their dtype */
    cudaStream_t stream;
    void *memory;
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
    int places[3][MOST_ROWS];
    bg_tensor *ints[] = {&s->io.token, &s->io.position, &s->io.slot, &s->io.next};
    size_t logits = (size_t)MOST_ROWS * (size_t)config->vocabulary * sizeof(float);

    BENCH_TRY(bg__device_alloc(logits + sizeof(int[4][MOST_ROWS]), &s->memory));
    s->io.logits = bg_tensor_2d(s->memory, BG_F32, MOST_ROWS, config->vocabulary);
    for (int i = 0; i < 4; i++)
        *ints[i] = bg_tensor_1d((char *)s->memory + logits + (size_t)i * sizeof *places, BG_I32, MOST_ROWS);
    for (int r = 0; r < MOST_ROWS; r++) {
        places[0][r] = (7 + r) % config->vocabulary;
        places[1][r] = POSITION + r % 8;
        places[2][r] = r;
    }
    for (int i = 0; i < 3; i++)
        BENCH_TRY_CUDA(cudaMemcpyAsync(ints[i]->data, places[i], sizeof *places, cudaMemcpyHostToDevice, s->stream));
    BENCH_TRY_CUDA(cudaStreamSynchronize(s->stream));
    return llama_batch_set_io(s->batch, &s->io);
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

static void open_way(way *w, step *s, bg_level level, bool segments)
{
    *w = (way){.step = s, .options = BG_CAPTURE_OPTIONS_INIT};
    w->options.level = (int)level;
    w->options.inline_eager = !segments;
}

static bg_status report_replays(bench *b, step *s, double full_target, double segments_target)
{
    plan plan = {.stream = b->stream, .samples = (b->report.samples + 4) / 5, .warm_up = 5, .batch = 1};
    row row = {.section = "compile", .against = "level 0"};
    way ways[REPLAYS];
    contender contenders[REPLAYS];
    timing timings[REPLAYS];
    bg_status status;

    open_way(&ways[FULL_PLAIN], s, BG_LEVEL_NONE, false);
    open_way(&ways[FULL_COMPILED], s, BG_LEVEL_PIECEWISE, false);
    open_way(&ways[SEGMENTS_PLAIN], s, BG_LEVEL_NONE, true);
    open_way(&ways[SEGMENTS_COMPILED], s, BG_LEVEL_PIECEWISE, true);
    open_way(&ways[GLUE], s, BG_LEVEL_ONCE, false);
    for (int i = 0; i < REPLAYS; i++) {
        contenders[i] = (contender){replay, NULL, &ways[i]};
        BG__TRY(capture(&ways[i]));
    }
    BG__TRY(print_rules(ways[FULL_COMPILED].graph, s));
    BG__TRY(print_rules(ways[SEGMENTS_COMPILED].graph, s));
    BG__TRY(print_rules(ways[GLUE].graph, s));
    BG__TRY(bench_measure(contenders, REPLAYS, &plan, timings));
    snprintf(row.what, sizeof row.what, "%d rows, %s, one graph, level 3", s->rows, s->weights);
    BG__TRY(report_timings(&b->report, row, &timings[FULL_COMPILED], &timings[FULL_PLAIN], 1.05, full_target));
    snprintf(row.what, sizeof row.what, "%d rows, %s, segments, level 3", s->rows, s->weights);
    BG__TRY(
        report_timings(&b->report, row, &timings[SEGMENTS_COMPILED], &timings[SEGMENTS_PLAIN], 1.05, segments_target));
    snprintf(row.what, sizeof row.what, "%d rows, %s, one graph, level 2", s->rows, s->weights);
    BG__TRY(report_timings(&b->report, row, &timings[GLUE], &timings[FULL_PLAIN], 1.05, 1.0));
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
        open_way(&ways[i], s, i == PLAIN || i == EAGER ? BG_LEVEL_NONE : BG_LEVEL_PIECEWISE, false);
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

static bg_status report_steps(bench *b, const llama_weights *weights, const int *rows, int count)
{
    llama_device_weights device = {.layer = NULL};
    step s = {.stream = b->stream, .weights = weights->bf16 ? "bf16" : "fp32"};
    bg_status status;

    BG__TRY(llama_device_weights_create(&device, weights, b->stream));
    BG__TRY(llama_batch_create(&s.batch, &device, MOST_ROWS, CAPACITY, MOST_ROWS, NULL, b->stream));
    BG__TRY(fill(&s, &weights->config));
    for (int i = 0; i < count; i++) {
        s.rows = rows[i];
        BG__TRY(run_eagerly(&(way){.step = &s})); /* libraries load their kernels */
        BG__TRY(report_replays(b, &s, i == 0 ? 0.5 : 1.0, i == 0 ? 0.55 : 1.0));
    }
    s.rows = 1;
    if (!weights->bf16)
        BG__TRY(report_captures(b, &s));
done:
    bg__device_free(s.memory);
    llama_batch_destroy(s.batch);
    llama_device_weights_free(&device);
    return status;
}

bg_status bench_compile(bench *b)
{
    static const int rows[] = {1, 8, 32, MOST_ROWS};
    enum { SEED = 1, COUNT = sizeof rows / sizeof *rows };
    const llama_config *config = b->report.on_gpu ? &llama_smollm2 : &llama_small;
    llama_weights weights = {.layer = NULL};
    char error[GGUF_ERROR_SIZE];
    bg_status status;

    report_section(b->report.on_gpu ? "Compile levels, a model of SmolLM2-135M's shape, random weights (seed 1)"
                                    : "Compile levels, the small model, random weights (seed 1)");
    if (llama_weights_random(&weights, config, SEED, error) != 0)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "%s", error);
    BG__TRY(report_steps(b, &weights, rows, b->report.on_gpu ? COUNT : 1));
    weights.bf16 = true;
    BG__TRY(report_steps(b, &weights, rows, b->report.on_gpu ? 2 : 1));
done:
    llama_weights_free(&weights);
    return status;
}
