/* The command line. */
#ifndef LLAMA_OPTIONS_H
#define LLAMA_OPTIONS_H
#include "generate.h"

typedef struct llama_options {
    llama_mode mode;
    bool debug_cuda_graph, demo, plant_frozen_scalar, help, bf16;
    const char *model;  /* NULL: a random model */
    const char *prompt; /* NULL: a default */
    int tokens, context;
    uint64_t seed;
    int serve; /* requests; 0: none */
    int rate;  /* requests a second */
    bool mode_given;
} llama_options;

/* Returns 0, or -1 with a message in error (GGUF_ERROR_SIZE bytes) that lists what is allowed. */
int llama_options_read(llama_options *options, int argc, char **argv, char *error);
extern const char llama_help[];
#endif
