/* A model for tests of the runner whose results are plain: y = 2 x, and an eager op that needs the context. */
#ifndef BG_TESTS_RUNNER_MODEL_H
#define BG_TESTS_RUNNER_MODEL_H

#include "tests/support/support.h"

enum { WIDTH = 4, TOKENS_MAX = 32 };

typedef struct runner_model {
    bg_runner *runner;
    bg_tensor x, y;
    bg_forward_context last;  /* of the last pass or replay */
    const bg_tensor *counted; /* its first WIDTH elements are doubled in each pass; NULL: none */
    /* What the pass does beside its work; NULL: nothing. */
    bg_status (*also)(struct runner_model *m, const bg_forward_context *context, cudaStream_t stream);
    bg_status body_status; /* what the eager op returns */
    bg_capture *left;
} runner_model;

bg_status runner_model_forward(void *user, const bg_forward_context *context, cudaStream_t stream);

/* Buckets of 4 and 16 tokens, batches of up to TOKENS_MAX. */
bg_runner_config runner_model_config(runner_model *m);
/* Makes the runner on the fixture's stream, with its input and output. */
void runner_model_open(fixture *f, runner_model *m, const bg_runner_config *config);

bg_batch mixed_batch(int tokens);

/* Runs a batch from and to the heap, and checks what comes of it. */
void runner_model_run(fixture *f, const runner_model *m, int tokens);

#endif
