/* Batches of a model of SmolLM2-135M's shape with random weights, by size: one token of each of many texts, and the
 * prompt of one text; eagerly, in segments and as one graph. On the host device few batches of the small model. */
#include "examples/llama/engine.h"

#include <stdio.h>

#include "decoder.h"

enum { EAGER, SEGMENTS, FULL, WAYS };
enum { POSITION = 64 }; /* of the token of each text, behind as many in the cache */

typedef struct batch {
    bool prompt; /* rows of one text; else one row of each text */
    int rows;
} batch;

static const batch on_gpu[] = {{false, 1},  {false, 8},  {false, 32},  {false, 64},  {false, 128}, {true, 128},
                               {true, 256}, {true, 512}, {true, 1024}, {true, 2048}, {true, 4096}};
static const batch on_host[] = {{false, 1}, {false, 4}, {true, 8}};
enum { BATCHES_MAX = sizeof on_gpu / sizeof *on_gpu, ROWS_MAX = 4096 };

/* A runner of one size, and the batch that is in its static buffers. */
typedef struct way {
    llama_engine engine;
    bg_batch batch;
} way;

static bg_status run_way(void *state)
{
    way *w = state;
    return bg_runner_run(w->engine.runner, &w->batch, NULL, NULL, NULL);
}

/* Behind the captures, which fill the inputs with padding. */
static bg_status fill(way *w, const batch *of)
{
    const bg_tensor *inputs[] = {&w->engine.io.token, &w->engine.io.position, &w->engine.io.slot};
    int values[3][ROWS_MAX];

    for (int i = 0; i < of->rows; i++) {
        values[0][i] = 7 + i % 100;
        values[1][i] = of->prompt ? i : POSITION;
        values[2][i] = of->prompt ? 0 : i;
    }
    BENCH_TRY_CUDA(cudaStreamSynchronize(w->engine.stream));
    for (int k = 0; k < 3; k++)
        BENCH_TRY_CUDA(cudaMemcpy(inputs[k]->data, values[k], (size_t)of->rows * sizeof(int), cudaMemcpyHostToDevice));
    return BG_OK;
}

static bg_status open_way(way *w, const llama_device_weights *weights, const batch *of, bg_mode mode,
                          cudaStream_t stream)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    const int texts = of->prompt ? 1 : of->rows;
    char size[16];

    snprintf(size, sizeof size, "%d", of->rows);
    config.mode = mode;
    config.schedule = size;
    config.max_tokens = of->rows;
    config.copy_inputs = false;
    w->batch = (bg_batch){
        .tokens = of->rows, .requests = texts, .max_query_len = of->rows / texts, .uniform_decode = !of->prompt};
    BENCH_TRY(llama_engine_create(&w->engine, weights, texts, of->prompt ? of->rows : 2 * POSITION, &config, stream));
    BENCH_TRY(bg_runner_capture(w->engine.runner));
    return fill(w, of);
}

/* So many that the slowest way takes about a second. */
static bg_status count_samples(const bench *b, way *slowest, int *samples)
{
    double began, ms;
    const int most = (b->report.samples + 9) / 10, least = most < 5 ? most : 5;

    BENCH_TRY(run_way(slowest));
    BENCH_TRY_CUDA(cudaStreamSynchronize(b->stream));
    began = bg__now_ms();
    BENCH_TRY(run_way(slowest));
    BENCH_TRY_CUDA(cudaStreamSynchronize(b->stream));
    ms = bg__now_ms() - began;
    *samples = ms * most < 1000 ? most : (int)(1000 / ms);
    *samples = *samples < least ? least : *samples;
    return BG_OK;
}

static bg_status measure(bench *b, const llama_device_weights *weights, const batch *of, timing *timings)
{
    static const bg_mode modes[WAYS] = {BG_MODE_NONE, BG_MODE_PIECEWISE, BG_MODE_FULL};
    way ways[WAYS] = {{.engine = {.runner = NULL}}};
    contender contenders[WAYS];
    plan plan = {.stream = b->stream, .warm_up = 2, .batch = 1};
    bg_status status;

    for (int i = 0; i < WAYS; i++) {
        BG__TRY(open_way(&ways[i], weights, of, modes[i], b->stream));
        contenders[i] = (contender){run_way, NULL, &ways[i]};
    }
    BG__TRY(count_samples(b, &ways[EAGER], &plan.samples));
    BG__TRY(bench_measure(contenders, WAYS, &plan, timings));
done:
    for (int i = 0; i < WAYS; i++)
        llama_engine_free(&ways[i].engine);
    return status;
}

static bg_status report_batch(bench *b, const batch *of, const timing *timings)
{
    static const char *const names[WAYS] = {[SEGMENTS] = "in segments", [FULL] = "one graph"};

    for (int i = SEGMENTS; i < WAYS; i++) {
        row row = {.section = "batches", .against = "eager"};
        if (of->prompt)
            snprintf(row.what, sizeof row.what, "a prompt of %d tokens, %s", of->rows, names[i]);
        else
            snprintf(row.what, sizeof row.what, "a token of %d text%s, %s", of->rows, of->rows > 1 ? "s" : "",
                     names[i]);
        BENCH_TRY(report_timings(&b->report, row, &timings[i], &timings[EAGER], 0, 0));
    }
    return BG_OK;
}

static double best(const timing *timings)
{
    double us = timings[EAGER].total.median;
    for (int i = 0; i < WAYS; i++)
        us = timings[i].total.median < us ? timings[i].total.median : us;
    return us;
}

static void print_table(const batch *batches, const timing (*timings)[WAYS], int count)
{
    printf("\nMilliseconds until the device is done, and how many times as fast as eager that is; of the fastest way\n"
           "the tokens a second, and how much of the eager time the host takes to queue it.\n\n"
           "| batch | eager | in segments | one graph | eager / segments | eager / one graph | tokens a second | host, "
           "eager |\n|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int i = 0; i < count; i++) {
        const timing *t = timings[i];
        const double eager = t[EAGER].total.median, segments = t[SEGMENTS].total.median, full = t[FULL].total.median;
        printf("| %s %d | %.3f | %.3f | %.3f | %.2f | %.2f | %.0f | %.0f %% |\n",
               batches[i].prompt ? "prompt," : "texts,", batches[i].rows, eager / 1000, segments / 1000, full / 1000,
               eager / segments, eager / full, 1e6 * batches[i].rows / best(t), 100 * t[EAGER].cpu.median / eager);
    }
}

bg_status bench_batches(bench *b)
{
    const batch *batches = b->report.on_gpu ? on_gpu : on_host;
    const int count = b->report.on_gpu ? (int)BATCHES_MAX : (int)(sizeof on_host / sizeof *on_host);
    timing timings[BATCHES_MAX][WAYS];
    CLOSED_BY(llama_device_weights_free) llama_device_weights device = {.layer = NULL};

    begin_model_section(b, "Batches by size", ", fewer samples");
    BENCH_TRY(open_model(&device, b, false));
    for (int i = 0; i < count; i++) {
        BENCH_TRY(measure(b, &device, &batches[i], timings[i]));
        BENCH_TRY(report_batch(b, &batches[i], timings[i]));
    }
    print_table(batches, (const timing(*)[WAYS])timings, count);
    return BG_OK;
}
