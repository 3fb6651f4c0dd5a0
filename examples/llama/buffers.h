/* Static buffers of a batch that has no runner, and a pass through them without a graph. */
#ifndef LLAMA_BUFFERS_H
#define LLAMA_BUFFERS_H
#include "batch.h"
#include "serve.h"

typedef struct llama_buffers {
    llama_batch *batch;
    llama_batch_io io;
    llama_memory memory;
} llama_buffers;

/* Creates buffers of the batch's max_tokens rows, filled with 0, and sets them with llama_batch_set_io. They must
 * outlive the batch's passes. Free them also after an error. */
bg_status llama_buffers_create(llama_buffers *buffers, llama_batch *batch, cudaStream_t stream);
void llama_buffers_free(llama_buffers *buffers);

/* Copies `rows` rows, 1 to max_tokens, to the device. The caller may change the arrays after the return. */
bg_status llama_buffers_copy_in(llama_buffers *buffers, const int *token, const int *position, const int *slot,
                                int rows);
/* Waits for the stream, and copies the first `rows` rows of the results to logits (rows x vocabulary) and next
 * (rows). */
bg_status llama_buffers_copy_out(llama_buffers *buffers, int rows, float *logits, int *next);

/* A llama_serve_run whose user is a llama_buffers: llama_buffers_copy_in, llama_batch_run, llama_buffers_copy_out. */
bg_status llama_buffers_run(void *buffers, const llama_serve_batch *batch, const int *token, const int *position,
                            const int *slot, int rows, float *logits, int *next);
#endif
