/* The example's rules: how many nodes a step has with them, and that its logits stay what they are. */
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#include "examples/llama/buffers.h"
#include "examples/llama/model.h"
#include "examples/llama/ops.h"
#include "tests/support/llama/llama_support.h"

enum { SEED = 3, CONTEXT = 16, STEPS = 4 };

/* How far logits may differ, as a part of the largest. */
#define FP32_TOLERANCE 1e-4
#define BF16_TOLERANCE 0.03

typedef struct step {
    llama_weights weights;
    llama_model *model;
    cudaStream_t stream;
} step;

static step open_step(const llama_config *config, bool bf16)
{
    step s = {.weights = random_weights(config, SEED)};
    EXPECT_CUDA(cudaStreamCreate(&s.stream));
    s.weights.bf16 = bf16;
    EXPECT_OK(llama_create(&s.model, &s.weights, CONTEXT, s.stream));
    EXPECT_OK(llama_reset(s.model));
    EXPECT_OK(llama_set_token(s.model, 1));
    return s;
}

static void close_step(step *s)
{
    llama_destroy(s->model);
    llama_weights_free(&s->weights);
    EXPECT_CUDA(cudaStreamDestroy(s->stream));
}

static bg_graph *capture(bg_forward forward, void *user, cudaStream_t stream, bg_level level, bool segments,
                         bool launch)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *graph;
    options.level = (int)level;
    options.inline_eager = !segments;
    options.launch_segments = launch;
    EXPECT_OK(bg_capture_forward(&graph, forward, user, stream, &options));
    return graph;
}

/* ---- nodes ---- */

static int count_eager(const bg_graph *graph)
{
    bg_call_info call = BG_CALL_INFO_INIT;
    int count = 0;
    for (int i = 0; bg_graph_get_call(graph, i, &call) == BG_OK; i++)
        count += call.eager;
    return count;
}

/* A pass over one row of a batch: the step that the benchmarks measure. */
typedef struct row_pass {
    llama_batch *batch;
    llama_buffers buffers;
    cudaStream_t stream;
} row_pass;

static bg_status forward_row(void *user, cudaStream_t stream)
{
    const row_pass *p = user;
    return llama_batch_run(p->batch, 1, stream);
}

static row_pass open_row(const step *s)
{
    row_pass p = {.stream = s->stream};
    EXPECT_OK(llama_batch_create(&p.batch, llama_get_weights(s->model), 1, CONTEXT, 1, NULL, s->stream));
    EXPECT_OK(llama_buffers_create(&p.buffers, p.batch, s->stream));
    return p;
}

static void close_row(row_pass *p)
{
    llama_buffers_free(&p->buffers);
    llama_batch_destroy(p->batch);
}

static void expect_nodes(row_pass *p, bg_level level, bool segments, size_t nodes)
{
    OWNED_GRAPH(graph);

    assert_int_equal(setenv("BG_COMPILE_PROVE", "off", 1), 0);
    graph = capture(forward_row, p, p->stream, level, segments, false);
    assert_int_equal(unsetenv("BG_COMPILE_PROVE"), 0);
    assert_int_equal(info_of(graph).nodes, nodes);
    assert_int_equal(count_eager(graph), segments ? 31 : 0);
}

/* Of SmolLM2-135M's 30 layers; the widths are the small model's, which changes no number. Eager calls are besides. */
TEST(test_nodes)
{
    llama_config config = llama_small;
    config.layers = llama_smollm2.layers;
    FREED_BY(close_step) step s = open_step(&config, false);
    FREED_BY(close_row) row_pass p = open_row(&s);
    if (strcmp(bg_device_kind(), "host") == 0) { /* cuBLAS on a GPU may split a product into several kernels */
        expect_nodes(&p, BG_LEVEL_NONE, false, 514);
        expect_nodes(&p, BG_LEVEL_NONE, true, 483);
        expect_nodes(&p, BG_LEVEL_ONCE, false, 363);
        expect_nodes(&p, BG_LEVEL_ONCE, true, 332);
    }
    expect_nodes(&p, BG_LEVEL_PIECEWISE, false, 184);
    expect_nodes(&p, BG_LEVEL_PIECEWISE, true, 153);
}

/* ---- logits ---- */

/* Of STEPS steps, the first one at capture. */
static float *run_steps(const step *s, bg_level level, bool segments)
{
    size_t vocabulary = (size_t)llama_get_config(s->model)->vocabulary;
    float *logits = calloc(STEPS * vocabulary, sizeof *logits);
    OWNED_GRAPH(graph);

    assert_non_null(logits);
    EXPECT_OK(llama_reset(s->model));
    EXPECT_OK(llama_set_token(s->model, 1));
    for (int i = 0; i < STEPS; i++) {
        if (graph == NULL)
            graph = capture(llama_forward, s->model, s->stream, level, segments, true);
        else
            EXPECT_OK(bg_replay(graph, s->stream));
        EXPECT_OK(llama_read_logits(s->model, logits + (size_t)i * vocabulary));
    }
    return logits;
}

/* Returns the logits of plain calls; those of the rules are the same, or differ by less than `allowed` of the largest.
 */
static float *expect_same_logits(bool bf16, bool segments, double allowed)
{
    const size_t count = STEPS * (size_t)llama_small.vocabulary;
    FREED_BY(close_step) step s = open_step(&llama_small, bf16);
    float *plain = run_steps(&s, BG_LEVEL_NONE, segments);
    FREED_BY(free_block)
    float *glue = run_steps(&s, BG_LEVEL_ONCE, segments), *all = run_steps(&s, BG_LEVEL_PIECEWISE, segments);
    assert_memory_equal(plain, glue, count * sizeof *plain);
    assert_true(relative_difference(all, plain, count) < allowed);
    return plain;
}

TEST(test_logits)
{
    for (int segments = 0; segments <= 1; segments++)
        free(expect_same_logits(false, segments, FP32_TOLERANCE));
}

/* bf16 keeps 8 bits of a factor. A difference of one bit in fp32 can round to the other neighbour, so that the rules
 * differ from plain calls by as much as bf16 from fp32. */
TEST(test_bf16_weights)
{
    FREED_BY(free_block)
    float *exact = expect_same_logits(false, false, FP32_TOLERANCE),
          *rounded = expect_same_logits(true, false, BF16_TOLERANCE);
    double apart = relative_difference(rounded, exact, STEPS * (size_t)llama_small.vocabulary);
    assert_true(apart > 0 && apart < BF16_TOLERANCE);
}
