#include "llama_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/support.h"

const struct text_way_kind text_ways[TEXT_WAYS] = {{"eager", LLAMA_EAGER, BG_DEBUG_OFF},
                                                   {"full", LLAMA_FULL, BG_DEBUG_OFF},
                                                   {"breakable", LLAMA_BREAKABLE, BG_DEBUG_OFF},
                                                   {"debug", LLAMA_BREAKABLE, BG_DEBUG_FORWARD},
                                                   {"every op eager", LLAMA_BREAKABLE, BG_DEBUG_OPS}};

void free_model(llama_model **model)
{
    llama_destroy(*model);
}

void free_block(void *block)
{
    free(*(void **)block);
}

void close_file(gguf **file)
{
    gguf_close(*file);
}

void expect_says(const char *text, const char *words, const char *file, int line)
{
    if (strstr(text, words))
        return;
    print_error("expected \"%s\" in \"%s\"\n", words, text);
    _fail(file, line);
}

llama_weights random_weights(const llama_config *config, uint64_t seed)
{
    char error[GGUF_ERROR_SIZE];
    llama_weights weights;
    if (llama_weights_random(&weights, config, seed, error))
        fail_msg("%s", error);
    return weights;
}

llama_model *random_model(const llama_config *config, uint64_t seed, int context, cudaStream_t stream)
{
    FREED_BY(llama_weights_free) llama_weights weights = random_weights(config, seed);
    llama_model *model;
    EXPECT_OK(llama_create(&model, &weights, context, stream));
    return model;
}

int open_small_model(void **state)
{
    cudaStream_t stream;
    EXPECT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    *state = random_model(&llama_small, 1, 64, stream);
    return 0;
}

int close_small_model(void **state)
{
    cudaStream_t stream = llama_get_stream(*state);
    llama_destroy(*state);
    EXPECT_CUDA(cudaStreamDestroy(stream));
    return 0;
}

double largest(const float *values, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)values[i]));
    return most;
}

int argmax(const float *values, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        if (values[i] > values[best])
            best = i;
    return best;
}

double margin(const float *values, int count)
{
    int best = argmax(values, count);
    double second = -INFINITY;
    for (int i = 0; i < count; i++)
        if (i != best)
            second = fmax(second, values[i]);
    return values[best] - second;
}

double relative_difference(const float *a, const float *b, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        double apart = fabs((double)a[i] - b[i]);
        most = isnan(apart) ? INFINITY : fmax(most, apart);
    }
    return most / largest(b, count);
}

bool small_workload(void)
{
    return by_size(1, 0, 0);
}

void skip_if_small(const char *what)
{
    if (!small_workload())
        return;
    printf("skipped: BREAKGRAPH_TEST_SIZE is small, and %s is large\n", what);
    skip();
}

const char *need_real_model(bool runs)
{
    const char *path = getenv("BREAKGRAPH_MODEL");
    if (!path || !*path)
        path = "model/SmolLM2-135M-Instruct.Q4_1.gguf";
    if (access(path, R_OK) != 0) {
        printf("skipped: %s cannot be read; `make model` fetches it, or set BREAKGRAPH_MODEL to the file\n", path);
        skip();
    }
    if (runs)
        skip_if_small("the real model");
    return path;
}
