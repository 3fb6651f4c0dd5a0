/* A model for tests of the runner that adds up what an eager op and captured ones make of each row, so that every
 * result can be computed by hand. */
#ifndef BG_TESTS_SUM_MODEL_H
#define BG_TESTS_SUM_MODEL_H

#include "tests/support/runner/runner_support.h"

enum { WIDTH = 4, TOKENS_MAX = 64 };

BG_DECLARE_OP(double_rows, BG_IN(x), BG_OUT(y), BG_VALUE(int, rows))

typedef struct sum_model {
    bg_runner *runner;
    bg_tensor x, y, scale_of_rows;
    bg_tensor hidden;
    const bg_tensor *counted; /* doubled in each pass; NULL: none */
    int passes, eager_bodies, fail_above, fail_status;
    bg_forward_context last, in_body;
    bool body_had_context, nested_was_busy;
} sum_model;

/* y = 2 x + 1 + variant, in a buffer between. */
bg_status sum_model_forward(void *user, const bg_forward_context *context, cudaStream_t stream);

/* A model that goes with its scope, and its runner with it. */
#define OWNED_SUM_MODEL(name) __attribute__((cleanup(close_sum_model), unused)) sum_model name = {0}
void close_sum_model(sum_model *m);

/* Makes the runner on the fixture's stream, in place of the one that the model had. What the model adds up takes
 * batches of that many rows; the buffer between grows with them. */
void sum_model_open_for(fixture *f, sum_model *m, const bg_runner_config *config, bg_padding padding, double value,
                        int rows);
/* Of TOKENS_MAX rows, padded with zeros. */
void sum_model_open(fixture *f, sum_model *m, const bg_runner_config *config);
/* And captures. */
void sum_model_start(fixture *f, sum_model *m, const bg_runner_config *config);
#define OPENED_SUM_MODEL(name, f, config)                                                                              \
    OWNED_SUM_MODEL(name);                                                                                             \
    sum_model_open(f, &(name), config)
#define STARTED_SUM_MODEL(name, f, config)                                                                             \
    OWNED_SUM_MODEL(name);                                                                                             \
    sum_model_start(f, &(name), config)

/* Runs a batch of rows that begin with `first`, and checks them. */
void expect_run(fixture *f, sum_model *m, bg_batch batch, float first);
/* The same, eagerly for that reason. */
void expect_eager(fixture *f, sum_model *m, bg_batch batch, bg_reason why);

#endif
