/* Batches of several texts through the piecewise runner: one captured graph for each size that batches may have. */
#ifndef LLAMA_ENGINE_H
#define LLAMA_ENGINE_H
#include "batch.h"
#include "serve.h"

typedef struct llama_engine {
    llama_batch *batch;
    bg_runner *runner;
    llama_batch_io io; /* the runner's static buffers */
    cudaStream_t stream;
    bg_forward_context last; /* of the last pass, whatever it was for */
} llama_engine;

/* Caches for `slots` texts of `capacity` positions; the runner does as config says, but for config.prepare, which is
 * the engine's. Padding rows have the slot -1, so that they change no cache, and no valid token, so that they are NaN
 * throughout. Nothing is captured yet: see bg_runner_capture. The weights and the stream outlive the engine, which must
 * stay where it is. Free it after an error too. */
bg_status llama_engine_create(llama_engine *engine, const llama_device_weights *weights, int slots, int capacity,
                              const bg_runner_config *config, cudaStream_t stream);
void llama_engine_free(llama_engine *engine);

/* A llama_serve_run whose user is a llama_engine. */
bg_status llama_engine_run(void *engine, const llama_serve_batch *batch, const int *token, const int *position,
                           const int *slot, int rows, float *logits, int *next);
#endif
