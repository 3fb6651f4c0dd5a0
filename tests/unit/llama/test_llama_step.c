/* A whole forward pass as one graph, gone through node by node: what it leaves is what a replay leaves, bit for bit. */
#include "examples/llama/model.h"
#include "tests/support/llama/llama_support.h"
#include "tests/support/tools/finding_support.h"

#include <breakgraph/step.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 64, STEPS = 3 };

typedef struct text {
    float *logits; /* of each step */
    int tokens[STEPS];
} text;

typedef struct seen {
    int nodes, faults, library; /* library: kernels that no file of this tree has */
} seen;

static bool count(void *user, const bg_step_info *info)
{
    seen *s = user;
    s->nodes++;
    s->faults += info->error != cudaSuccess;
    s->library +=
        info->kernel[0] != '\0' && strstr(info->kernel, "bgk") == NULL && strstr(info->kernel, "_GLOBAL__N") == NULL;
    return true;
}

static bg_graph *capture(llama_model *model)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *graph = NULL;
    options.eager_ops = "!*";
    options.launch_segments = false;
    EXPECT_OK(llama_reset(model));
    EXPECT_OK(llama_set_token(model, 3));
    EXPECT_OK(llama_forward(model, llama_get_stream(model))); /* libraries load their kernels at first use */
    EXPECT_OK(bg_capture_forward(&graph, llama_forward, model, llama_get_stream(model), &options));
    return graph;
}

static void free_text(text *t)
{
    free(t->logits);
}

static text generate(llama_model *model, bg_graph *graph, seen *stepped)
{
    size_t vocabulary = (size_t)llama_get_config(model)->vocabulary;
    text t = {.logits = calloc(STEPS * vocabulary, sizeof(float))};
    assert_non_null(t.logits);
    EXPECT_OK(llama_reset(model));
    EXPECT_OK(llama_set_token(model, 3));
    for (int i = 0; i < STEPS; i++) {
        bg_report *report = NULL;
        if (stepped == NULL)
            EXPECT_OK(bg_replay(graph, llama_get_stream(model)));
        else
            EXPECT_OK(bg_step(graph, llama_get_stream(model), count, stepped, &report));
        if (report != NULL)
            EXPECT_NO_FINDING(report);
        EXPECT_OK(llama_read_logits(model, t.logits + (size_t)i * vocabulary));
        EXPECT_OK(llama_read_token(model, &t.tokens[i]));
    }
    return t;
}

static void compare(const llama_config *config)
{
    OWNED_STREAM(stream);
    FREED_BY(free_model) llama_model *model = NULL;
    OWNED_GRAPH(graph);
    bg_graph_info info;
    seen seen = {0};

    EXPECT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    model = random_model(config, 1, CONTEXT, stream);
    graph = capture(model);
    info = info_of(graph);
    assert_int_equal(info.segments, 1);
    FREED_BY(free_text) text replayed = generate(model, graph, NULL), stepped = generate(model, graph, &seen);
    assert_memory_equal(replayed.logits, stepped.logits,
                        STEPS * (size_t)llama_get_config(model)->vocabulary * sizeof(float));
    assert_memory_equal(replayed.tokens, stepped.tokens, sizeof replayed.tokens);
    assert_int_equal(seen.nodes, STEPS * (int)info.nodes);
    assert_int_equal(seen.faults, 0);
    printf("%d layers, seed 1: one graph of %d nodes, %d steps of them; %d kernels a step are a library's\n",
           config->layers, (int)info.nodes, seen.nodes, seen.library / STEPS);
}

TEST(test_small)
{
    compare(&llama_small);
}

DEEP_TEST(test_smollm2);
TEST(test_smollm2)
{
    skip_if_small("SmolLM2's shape");
    compare(&llama_smollm2);
}
