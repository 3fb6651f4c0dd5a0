/* `llama --serve`: serves the same random traffic in each mode, and prints latencies and a histogram of them. */
#ifndef LLAMA_SERVING_H
#define LLAMA_SERVING_H
#include "examples/llama/device.h"
#include "examples/llama/generate.h"
#include <stdio.h>

typedef struct llama_serving_benchmark_options {
    bool all_modes;
    llama_mode mode; /* without all_modes */
    int requests;
    double rate; /* requests per second */
    uint64_t seed;
    int tokens;   /* of a request: 1 to this number */
    int capacity; /* positions of a text; at least tokens */
} llama_serving_benchmark_options;

/* Prints to out. With all modes, it also prints how many texts equal those of the first mode. Texts may differ: batches
 * of other sizes may round differently, which can change which of two close logits is larger. */
bg_status llama_serving_benchmark(const llama_device_weights *weights, const llama_serving_benchmark_options *options,
                                  cudaStream_t stream, FILE *out);
#endif
