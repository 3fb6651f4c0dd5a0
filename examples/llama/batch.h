/* A Llama-architecture decoder on the device for several texts at once: each row of a pass is a token with a position
 * of its own, in a text of its own (its slot). Prompts and single tokens mix freely in one pass.
 *
 * A pass over a number of rows is always the same work: what changes, the tokens and their places, is read from static
 * buffers in device memory, so that one captured graph serves every batch of that many rows. A batch that has fewer is
 * padded with rows of slot -1: they change no text, and no bit of the other rows' results.
 *
 * With a rank's part of the weights all ranks run the same passes.
 *
 * Functions return a bg_status, and a sentence in bg_last_error(). A batch serves one thread at a time. */
#ifndef LLAMA_BATCH_H
#define LLAMA_BATCH_H
#include "device.h"

typedef struct llama_batch llama_batch;

/* The static buffers, in device memory: a pass over n rows uses the first n of each. */
typedef struct llama_batch_io {
    /* In, BG_I32, rows: 0 <= token < vocabulary, 0 <= position < capacity, 0 <= slot < slots; a row outside these gets
     * logits of NaN. A padding row has a slot < 0, and any token and position. No two others may have the same place.
     */
    bg_tensor token, position, slot;
    bg_tensor logits; /* out, BG_F32, rows x vocabulary; of padding rows anything */
    bg_tensor next;   /* out, BG_I32, rows: each row's token with the largest logit */
} llama_batch_io;

/* Makes caches for `slots` texts of `capacity` positions each, for passes of up to max_tokens rows, 65535 at most.
 * Their intermediate results lie in pool, where graphs of several sizes share them; NULL: in memory of the batch's own.
 * The weights (llama_get_weights, llama_device_weights_create), the pool and the stream outlive the batch. */
bg_status llama_batch_create(llama_batch **batch, const llama_device_weights *weights, int slots, int capacity,
                             int max_tokens, bg_pool *pool, cudaStream_t stream);
void llama_batch_destroy(llama_batch *batch); /* NULL is fine; graphs of the batch go first */

const llama_config *llama_batch_config(const llama_batch *batch);
int llama_batch_slots(const llama_batch *batch);
int llama_batch_capacity(const llama_batch *batch);
int llama_batch_max_tokens(const llama_batch *batch);

/* Sets the static buffers, which the caller owns; graphs that were captured before keep the old ones. */
bg_status llama_batch_set_io(llama_batch *batch, const llama_batch_io *io);

/* One pass over the first `rows` rows, 1 to max_tokens and no more than the static buffers have. Rows of one text see
 * each other in the order of their positions; what a text holds beyond a row's position is not seen, so that a text
 * begins anew at position 0 without more ado. Attention and sampling are eager; nothing waits, so that all of it may
 * also be captured inline. For a capture, call it from a bg_forward that knows the rows. */
bg_status llama_batch_run(llama_batch *batch, int rows, cudaStream_t stream);

/* The *count tensors that passes change beside the static buffers: each layer's keys and values, slots x capacity x
 * kv_heads x head_dim. For bg_capture_options.state. */
const bg_tensor *llama_batch_caches(const llama_batch *batch, int *count);
#endif
