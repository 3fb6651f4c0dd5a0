/* A model for tests of the runner whose results are plain: y = 2 x, and an eager op that needs the context. */
#ifndef BG_TESTS_RUNNER_MODEL_H
#define BG_TESTS_RUNNER_MODEL_H

#include "tests/support/runner/runner_support.h"

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

/* config.prepare: notes the context in replays, too. */
bg_status runner_model_note(void *user, const bg_forward_context *context, cudaStream_t stream);

/* A model that goes with its scope, and its runner with it. */
#define OWNED_RUNNER_MODEL(name) __attribute__((cleanup(close_runner_model), unused)) runner_model name = {0}
void close_runner_model(runner_model *m);

/* Makes the runner on the fixture's stream, with its input and output, in place of the one that the model had. The
 * model is the user of the callbacks, and prepare notes the context, where the configuration does not say otherwise. */
void runner_model_open(fixture *f, runner_model *m, const bg_runner_config *config);
/* And captures. */
void runner_model_start(fixture *f, runner_model *m, const bg_runner_config *config);
#define OPENED_RUNNER_MODEL(name, f, config)                                                                           \
    OWNED_RUNNER_MODEL(name);                                                                                          \
    runner_model_open(f, &(name), config)
#define STARTED_RUNNER_MODEL(name, f, config)                                                                          \
    OWNED_RUNNER_MODEL(name);                                                                                          \
    runner_model_start(f, &(name), config)

/* Runs a batch from and to the heap, and checks what comes of it. */
void runner_model_run(fixture *f, const runner_model *m, int tokens);
/* In that mode: of graphs, or none. */
#define EXPECT_RUN_IN(f, m, tokens, mode) expect_run_in(f, m, tokens, mode, __FILE__, __LINE__)
void expect_run_in(fixture *f, const runner_model *m, int tokens, bg_mode mode, const char *file, int line);

#endif
