/* A Llama-architecture decoder on the device for several texts at once: each row of a pass is one token with its own
 * position and text (its slot). Prompts and single tokens mix freely in one pass.
 *
 * A pass over n rows always does the same work: it reads the tokens and their places from static buffers in device
 * memory, so one captured graph serves every batch of n rows. A smaller batch is padded with rows of slot -1, which
 * change no text and no bit of the other rows' results.
 *
 * If the weights are a rank's part, all ranks must run the same passes.
 *
 * Functions return a bg_status; bg_last_error() describes a failure. A batch serves one thread at a time. */
#ifndef LLAMA_BATCH_H
#define LLAMA_BATCH_H
#include "device.h"

typedef struct llama_batch llama_batch;

/* The static buffers, in device memory: a pass over n rows uses the first n of each. */
typedef struct llama_batch_io {
    /* In, BG_I32, rows: 0 <= token < vocabulary, 0 <= position < capacity, 0 <= slot < slots; a row outside these gets
     * logits of NaN. A padding row has a slot < 0, and any token and position. No two other rows may have the same slot
     * and position. */
    bg_tensor token, position, slot;
    bg_tensor logits; /* out, BG_F32, rows x vocabulary; undefined in padding rows */
    bg_tensor next;   /* out, BG_I32, rows: each row's token with the largest logit */
} llama_batch_io;

/* Creates caches for `slots` texts of `capacity` positions each, for passes of up to max_tokens rows, 65535 at most.
 * Intermediate results are in pool, where graphs of several sizes share them, or in the batch's own memory if pool is
 * NULL. The weights (llama_get_weights, llama_device_weights_create), the pool and the stream must outlive the
 * batch. */
bg_status llama_batch_create(llama_batch **batch, const llama_device_weights *weights, int slots, int capacity,
                             int max_tokens, bg_pool *pool, cudaStream_t stream);
void llama_batch_destroy(llama_batch *batch); /* may be NULL; destroy graphs of the batch first */

const llama_config *llama_batch_config(const llama_batch *batch);
int llama_batch_slots(const llama_batch *batch);
int llama_batch_capacity(const llama_batch *batch);
int llama_batch_max_tokens(const llama_batch *batch);

/* Sets the static buffers, which the caller owns. Graphs that were captured earlier keep the old ones. */
bg_status llama_batch_set_io(llama_batch *batch, const llama_batch_io *io);

/* Runs one pass over the first `rows` rows, 1 to max_tokens and no more than the static buffers have. A row attends to
 * its text up to its own position, so a text starts again at position 0 without a reset. Attention and sampling are
 * eager ops; no op waits, so all of them may also be captured inline. For a capture, call this from a bg_forward that
 * knows the number of rows. */
bg_status llama_batch_run(llama_batch *batch, int rows, cudaStream_t stream);

/* Returns the *count tensors that passes change besides the static buffers: each layer's keys and values, slots x
 * capacity x kv_heads x head_dim. For bg_capture_options.state. */
const bg_tensor *llama_batch_caches(const llama_batch *batch, int *count);
#endif
