/* The demo passes on a right model, and fails on what it is there to find. */
#include "examples/llama/demo.h"
#include "tests/support/llama/llama_support.h"
#include "tests/support/support.h"
#include <string.h>

static bool run_demo(uint64_t seed, void (*spoil)(llama_weights *), bool plant)
{
    const int prompt[] = {1, 2, 3, 4};
    FREED_BY(llama_weights_free) llama_weights weights = random_weights(&llama_small, seed);
    OWNED_STREAM(stream);
    FREED_BY(free_model) llama_model *model = NULL;
    EXPECT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (spoil)
        spoil(&weights);
    EXPECT_OK(llama_create(&model, &weights, 64, stream));
    if (plant)
        llama_plant_frozen_scalar(model);
    printf("seed %llu\n", (unsigned long long)seed);
    return llama_demo(model, NULL, prompt, 4, 32);
}

TEST(test_passes)
{
    assert_true(run_demo(1, NULL, false));
    assert_true(run_demo(2, NULL, false));
}

TEST(test_finds_a_frozen_scalar)
{
    assert_false(run_demo(1, NULL, true));
}

/* All logits are 0: the first token, always. */
static void make_constant(llama_weights *w)
{
    memset(w->output, 0, (size_t)w->config.vocabulary * (size_t)w->config.width * sizeof *w->output);
}

TEST(test_finds_a_text_that_repeats_itself)
{
    assert_false(run_demo(1, make_constant, false));
}

static void make_nan(llama_weights *w)
{
    memset(w->layer[0].query, 0xFF, sizeof *w->layer[0].query);
}

TEST(test_finds_nan)
{
    assert_false(run_demo(1, make_nan, false));
}
