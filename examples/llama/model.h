/* A Llama-architecture decoder on the device, one token per step.
 *
 * All buffers are static, and the token and its position, which change from step to step, are in device memory. So one
 * captured graph serves every step of the prompt and of the generated text. Functions return a bg_status;
 * bg_last_error() describes a failure. A model serves one thread at a time. */
#ifndef LLAMA_MODEL_H
#define LLAMA_MODEL_H
#include "device.h"

typedef struct llama_model llama_model;

/* Copies the weights to the device, and creates a cache for `context` positions. The caller may free the weights
 * afterwards. The stream must outlive the model. */
bg_status llama_create(llama_model **model, const llama_weights *weights, int context, cudaStream_t stream);
/* The same for a rank's part (split.h). All ranks run the same steps, which give the same logits and tokens. See
 * llama_device_weights_create_part. */
bg_status llama_create_part(llama_model **model, const llama_weights *weights, const llama_part *part,
                            const struct llama_ranks *ranks, int context, cudaStream_t stream);
void llama_destroy(llama_model *model); /* may be NULL; destroy graphs of the model first */

/* With several ranks, the config of this rank's part. */
const llama_config *llama_get_config(const llama_model *model);
/* The model owns these weights. */
const llama_device_weights *llama_get_weights(const llama_model *model);
int llama_get_context(const llama_model *model);
cudaStream_t llama_get_stream(const llama_model *model);
/* Sets the ranks that capture the model's passes together; NULL: one rank. They must outlive the model's graphs. */
void llama_set_ranks(llama_model *model, const bg_ranks *ranks);
const bg_ranks *llama_get_ranks(const llama_model *model);
/* The last step's logits on the device, 1 x vocabulary; the model owns them. */
bg_tensor llama_get_logits(const llama_model *model);

/* Plants a mistake for tools to find: from now on, the position goes to the device by value. */
void llama_plant_frozen_scalar(llama_model *model);

/* Starts a new text: the next token is at position 0. */
bg_status llama_reset(llama_model *model);
/* Replaces the token that the last step sampled; 0 <= token < vocabulary. */
bg_status llama_set_token(llama_model *model, int token);
/* Runs one step; a bg_forward whose user is the model. Runs the layers for the token at the position, advances the
 * position, and leaves the logits and the sampled token on the device. */
bg_status llama_forward(void *model, cudaStream_t stream);
/* Wait for the last step, and read its token or its logits (vocabulary floats). */
bg_status llama_read_token(llama_model *model, int *token);
bg_status llama_read_logits(llama_model *model, float *logits);
#endif
