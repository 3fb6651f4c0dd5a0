/* The demo passes on a right model, and fails on what it is there to find. */
#include "tests/support/test.h"
#include "examples/llama/demo.h"
#include <string.h>
static char error[GGUF_ERROR_SIZE];

static bool run_demo(uint64_t seed, void (*spoil)(llama_weights *), bool plant)
{
    const int prompt[] = {1, 2, 3, 4};
    llama_weights weights;
    llama_model *model;
    cudaStream_t stream;
    bool passed;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(llama_weights_random(&weights, &llama_small, seed, error), 0);
    if (spoil)
        spoil(&weights);
    if (llama_create(&model, &weights, 64, stream) != BG_OK)
        fail_msg("%s", bg_last_error());
    llama_weights_free(&weights);
    if (plant)
        llama_plant_frozen_scalar(model);
    printf("seed %llu\n", (unsigned long long)seed);
    passed = llama_demo(model, NULL, prompt, 4, 32);
    llama_destroy(model);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
    return passed;
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
