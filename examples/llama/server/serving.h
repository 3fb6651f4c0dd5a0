/* `llama --serve`: the same random traffic in each mode, with figures and a histogram of how long requests took. */
#ifndef LLAMA_SERVING_H
#define LLAMA_SERVING_H
#include "examples/llama/device.h"
#include "examples/llama/generate.h"
#include <stdio.h>

typedef struct llama_serving_options {
    bool all_modes;
    llama_mode mode; /* else */
    int requests;
    double rate; /* a second */
    uint64_t seed;
    int tokens;   /* of a request, 1 to so many */
    int capacity; /* positions of a text, tokens or more */
} llama_serving_options;

/* Prints to out. With all modes the texts are compared with those of the first one, and how many are equal is told:
 * batches of other sizes may round otherwise, and the larger of two near logits is then another one. */
bg_status llama_serving(const llama_device_weights *weights, const llama_serving_options *options, cudaStream_t stream,
                        FILE *out);
#endif
