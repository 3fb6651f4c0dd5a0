/* A decode step of one text by the runner, from a place in the middle of its cache. */
#ifndef BG_BENCH_DECODER_H
#define BG_BENCH_DECODER_H

#include "examples/llama/batch.h"

#include "bench.h"

/* Begins the section `what` about a model of SmolLM2-135M's shape, on the host device the small one. */
void begin_model_section(const bench *b, const char *what, const char *more);
/* Its random weights (seed 1). */
bg_status open_model(llama_device_weights *device, const bench *b, bool bf16);

typedef struct decoder {
    llama_batch *batch;
    bg_runner *runner;
    bg_tensor logits;  /* of the last step */
    uint64_t launches; /* by the host in its last step, beside graphs */
} decoder;

/* What is not at its default; to be zeroed. */
typedef struct decoder_options {
    bg_mode mode;
    const char *eager_ops;
    const bg_ranks *ranks;
} decoder_options;

/* Captured. Close it after an error too; it stays where it is. */
bg_status decoder_open(decoder *d, const llama_device_weights *weights, const decoder_options *options,
                       cudaStream_t stream);
void decoder_close(decoder *d);
bg_status decoder_step(void *d);
/* The graph of the step; none in BG_MODE_NONE. */
const bg_graph *decoder_graph(const decoder *d);

#endif
