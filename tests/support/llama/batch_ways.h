/* For the tests of examples/llama/batch.h: texts to continue, and ways of running their batches, each padded to a power
 * of two. */
#ifndef BATCH_WAYS_H
#define BATCH_WAYS_H
#include "examples/llama/buffers.h"
#include "tests/support/llama/llama_support.h"

typedef enum batch_way {
    WAY_EAGER,     /* plain calls */
    WAY_BREAKABLE, /* segments with eager attention and sampling */
    WAY_FULL,      /* one graph */
    WAY_OPS,       /* every op is a break */
    WAY_UNLAUNCHED /* as BREAKABLE; the capture launches nothing, the first replay is the first pass */
} batch_way;

enum { BATCH_MAX_ROWS = 64, BATCH_CAPACITY = 64, BATCH_LONGEST_PROMPT = 9 };

const char *batch_way_name(batch_way way);

/* A batch of a model's weights with buffers and caches of its own, and a graph for each padded size that it has met. */
typedef struct batch_runner {
    batch_way way;
    bool garbage; /* padding rows hold what must not be read: tokens and positions out of range, so that they are NaN */
    llama_batch *batch;
    llama_buffers buffers;
    cudaStream_t stream;
    bg_graph *graph[BATCH_MAX_ROWS + 1];
    int captures, replays, padding;
} batch_runner;

void batch_runner_open(batch_runner *runner, llama_model *model, int slots, batch_way way, bool garbage);
void batch_runner_close(batch_runner *runner);

/* A llama_serve_run whose user is a batch_runner. */
bg_status batch_runner_run(void *runner, const llama_serve_batch *batch, const int *token, const int *position,
                           const int *slot, int rows, float *logits, int *next);

typedef struct batch_work {
    llama_serve_request request[LLAMA_SERVE_MAX_TEXTS];
    int count, prompt[LLAMA_SERVE_MAX_TEXTS][BATCH_LONGEST_PROMPT];
    llama_serve_limits limits;
} batch_work;

/* `count` prompts of 1 to 9 tokens, whose texts end at different times. Another variant has other prompts, and its
 * texts change places: batches of the same sizes with other contents. */
void make_work(batch_work *work, int count, int vocabulary, int variant, bool small);
/* Serves it, and expects as many tokens as were asked for. */
llama_serve_result serve_work(const batch_work *work, llama_serve_run run, void *user);

/* The caches of both hold the same bits. */
void expect_same_caches(const batch_runner *a, const batch_runner *b);
#endif
