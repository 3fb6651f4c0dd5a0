/* Batches of several texts with the piecewise runner: one captured graph for each batch size. */
#ifndef LLAMA_ENGINE_H
#define LLAMA_ENGINE_H
#include "batch.h"
#include "serve.h"

typedef struct llama_engine {
    llama_batch *batch;
    bg_runner *runner;
    llama_batch_io io; /* the runner's static buffers */
    cudaStream_t stream;
    bg_forward_context last; /* of the last pass, including warm-ups and captures */
} llama_engine;

/* Creates caches for `slots` texts of `capacity` positions, and a runner as config says, except for config.prepare and
 * config.callback_user, which the engine sets. Padding rows have slot -1, so they change no cache, and an invalid
 * token, so all their values are NaN. It captures nothing: call bg_runner_capture. The weights and the stream must
 * outlive the engine, and the engine must not move. Free it also after an error. */
bg_status llama_engine_create(llama_engine *engine, const llama_device_weights *weights, int slots, int capacity,
                              const bg_runner_config *config, cudaStream_t stream);
void llama_engine_free(llama_engine *engine);

/* A llama_serve_run whose user is a llama_engine. */
bg_status llama_engine_run(void *engine, const llama_serve_batch *batch, const int *token, const int *position,
                           const int *slot, int rows, float *logits, int *next);
#endif
