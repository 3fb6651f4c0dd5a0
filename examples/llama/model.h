/* A Llama-architecture decoder on the device, one token a step.
 *
 * All buffers are static, and what changes from step to step, the token and its position, lies in device memory: so one
 * captured graph serves every step, of the prompt and of the text after it. Functions return a bg_status, and a
 * sentence in bg_last_error(). A model serves one thread at a time. */
#ifndef LLAMA_MODEL_H
#define LLAMA_MODEL_H
#include "device.h"

typedef struct llama_model llama_model;

/* Copies the weights to the device and makes a cache for `context` positions. The weights may be freed afterwards; the
 * stream outlives the model. */
bg_status llama_create(llama_model **model, const llama_weights *weights, int context, cudaStream_t stream);
/* The same of a rank's part (split.h): every one of ranks runs the same steps, which give the same logits and tokens.
 * See llama_device_weights_create_part. */
bg_status llama_create_part(llama_model **model, const llama_weights *weights, const llama_part *part,
                            const struct llama_ranks *ranks, int context, cudaStream_t stream);
void llama_destroy(llama_model *model); /* NULL is fine; graphs of the model go first */

/* Of the rank's part, where there are several ranks. */
const llama_config *llama_get_config(const llama_model *model);
/* Lent: they live as long as the model. */
const llama_device_weights *llama_get_weights(const llama_model *model);
int llama_context(const llama_model *model);
cudaStream_t llama_stream(const llama_model *model);
/* The ranks that capture the model's passes in step; NULL: one rank. They must live as long as its graphs. */
void llama_set_ranks(llama_model *model, const bg_ranks *ranks);
const bg_ranks *llama_get_ranks(const llama_model *model);
/* Lent: what the last step left on the device, 1 x vocabulary. */
bg_tensor llama_logits(const llama_model *model);

/* From now on the position goes to the device by value, as a mistake to be found. */
void llama_plant_frozen_scalar(llama_model *model);

/* Starts a new text: the next token stands at position 0. */
bg_status llama_reset(llama_model *model);
/* Puts a token, 0 <= token < vocabulary, in place of the one that the last step sampled. */
bg_status llama_set_token(llama_model *model, int token);
/* One step, a bg_forward whose user is the model: takes the token at the position through the layers, moves the
 * position on, and leaves the logits and the sampled token on the device. */
bg_status llama_forward(void *model, cudaStream_t stream);
/* Waits, and reads the token or the logits (vocabulary floats) of the last step. */
bg_status llama_read_token(llama_model *model, int *token);
bg_status llama_read_logits(llama_model *model, float *logits);
#endif
