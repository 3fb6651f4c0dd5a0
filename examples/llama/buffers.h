/* A batch's static buffers where no one else owns them, and a plain pass through them: what a step is without graphs.
 */
#ifndef LLAMA_BUFFERS_H
#define LLAMA_BUFFERS_H
#include "batch.h"
#include "serve.h"

typedef struct llama_buffers {
    llama_batch *batch;
    llama_batch_io io;
    llama_memory memory;
} llama_buffers;

/* Makes buffers of the batch's max_tokens rows, all 0, and sets them as its own. They outlive the batch's passes. Free
 * them after an error too. */
bg_status llama_buffers_create(llama_buffers *buffers, llama_batch *batch, cudaStream_t stream);
void llama_buffers_free(llama_buffers *buffers);

/* Copies `rows` rows to the device, 1 to max_tokens; the arrays may be changed when it returns. */
bg_status llama_buffers_put(llama_buffers *buffers, const int *token, const int *position, const int *slot, int rows);
/* Waits, and copies the first `rows` rows of the results: logits (rows x vocabulary) and next (rows). */
bg_status llama_buffers_get(llama_buffers *buffers, int rows, float *logits, int *next);

/* Put, llama_batch_run, get: a llama_serve_run whose user is a llama_buffers. */
bg_status llama_buffers_run(void *buffers, const llama_serve_batch *batch, const int *token, const int *position,
                            const int *slot, int rows, float *logits, int *next);
#endif
