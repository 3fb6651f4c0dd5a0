#include "model.h"
#include "ops.h"
#include "rules.h"
#include <breakgraph/workspace.h>
#include "kernels/model/kernels.h"
#include <stdlib.h>

typedef struct cache {
    bg_tensor keys, values; /* context x kv_heads x head_dim */
} cache;

struct llama_model {
    llama_device_weights weights;
    int context;
    cudaStream_t stream;
    cublasHandle_t blas;
    llama_memory memory;
    cache *caches; /* one per layer */
    /* one step's intermediate results, one row each */
    bg_tensor x, normed, projected, heads_out, gate, up, gated;
    bg_tensor q, k, v; /* 1 x heads x head_dim */
    bg_tensor logits, token, position;
    int host_position; /* the position as the host counts it; only the planted mistake uses it */
    bool frozen_scalar;
    const bg_ranks *ranks;
};

/* ---- creation ----------------------------------------------------------------------------------- */

static bg_status alloc_tensor(llama_model *m, bg_tensor *tensor, bg_tensor shape)
{
    return llama_memory_alloc_tensor(&m->memory, tensor, shape);
}

static bg_status make_caches(llama_model *m)
{
    const llama_config *c = &m->weights.config;
    m->caches = calloc((size_t)c->layers, sizeof *m->caches);
    if (!m->caches)
        return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "llama_create", "out of host memory", "free some memory");
    for (int i = 0; i < c->layers; i++) {
        TRY(alloc_tensor(m, &m->caches[i].keys, llama_shape(BG_F32, m->context, c->kv_heads, c->head_dim)));
        TRY(alloc_tensor(m, &m->caches[i].values, llama_shape(BG_F32, m->context, c->kv_heads, c->head_dim)));
    }
    return BG_OK;
}

static bg_status make_step_buffers(llama_model *m)
{
    const llama_config *c = &m->weights.config;
    TRY(alloc_tensor(m, &m->x, llama_shape(BG_F32, 1, c->width, 0)));
    TRY(alloc_tensor(m, &m->normed, llama_shape(BG_F32, 1, c->width, 0)));
    TRY(alloc_tensor(m, &m->projected, llama_shape(BG_F32, 1, c->width, 0)));
    TRY(alloc_tensor(m, &m->q, llama_shape(BG_F32, 1, c->heads, c->head_dim)));
    TRY(alloc_tensor(m, &m->k, llama_shape(BG_F32, 1, c->kv_heads, c->head_dim)));
    TRY(alloc_tensor(m, &m->v, llama_shape(BG_F32, 1, c->kv_heads, c->head_dim)));
    TRY(alloc_tensor(m, &m->heads_out, llama_shape(BG_F32, 1, c->heads, c->head_dim)));
    TRY(alloc_tensor(m, &m->gate, llama_shape(BG_F32, 1, c->hidden, 0)));
    TRY(alloc_tensor(m, &m->up, llama_shape(BG_F32, 1, c->hidden, 0)));
    TRY(alloc_tensor(m, &m->gated, llama_shape(BG_F32, 1, c->hidden, 0)));
    TRY(alloc_tensor(m, &m->logits, llama_shape(BG_F32, 1, c->vocabulary, 0)));
    TRY(alloc_tensor(m, &m->token, bg_tensor_1d(NULL, BG_I32, 1)));
    return alloc_tensor(m, &m->position, bg_tensor_1d(NULL, BG_I32, 1));
}

static bg_status init_model(llama_model *m, const llama_weights *w, const llama_part *part,
                            const struct llama_ranks *ranks)
{
    TRY(llama_set_rules());
    TRY(llama_blas_create(&m->blas, m->stream));
    TRY(llama_device_weights_create_part(&m->weights, w, part, ranks, m->stream));
    TRY(make_caches(m));
    TRY(make_step_buffers(m));
    return llama_check_cuda(cudaStreamSynchronize(m->stream), "cudaStreamSynchronize");
}

bg_status llama_create(llama_model **made, const llama_weights *weights, int context, cudaStream_t stream)
{
    llama_part whole;
    *made = NULL;
    TRY(llama_split(&whole, &weights->config, 0, 1));
    return llama_create_part(made, weights, &whole, NULL, context, stream);
}

bg_status llama_create_part(llama_model **made, const llama_weights *weights, const llama_part *part,
                            const struct llama_ranks *ranks, int context, cudaStream_t stream)
{
    llama_model *m = calloc(1, sizeof *m);
    bg_status status;
    *made = NULL;
    if (!m)
        return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "llama_create", "out of host memory", "free some memory");
    m->context = context;
    m->stream = stream;
    m->memory.stream = stream;
    status = init_model(m, weights, part, ranks);
    if (status != BG_OK) {
        llama_destroy(m);
        return status;
    }
    *made = m;
    return BG_OK;
}

void llama_destroy(llama_model *m)
{
    if (!m)
        return;
    llama_memory_free(&m->memory);
    llama_device_weights_free(&m->weights);
    llama_blas_destroy(m->blas);
    free(m->caches);
    free(m);
}

const llama_config *llama_get_config(const llama_model *m)
{
    return &m->weights.config;
}

const llama_device_weights *llama_get_weights(const llama_model *m)
{
    return &m->weights;
}

int llama_get_context(const llama_model *m)
{
    return m->context;
}

cudaStream_t llama_get_stream(const llama_model *m)
{
    return m->stream;
}

bg_tensor llama_get_logits(const llama_model *m)
{
    return m->logits;
}

/* ---- a step ------------------------------------------------------------------------------------- */

static bg_status attention_block(llama_model *m, const llama_device_layer *l, const cache *cached, cudaStream_t stream)
{
    float base = m->weights.config.rope_base, epsilon = m->weights.config.norm_epsilon;
    TRY(BG_CALL(rms_norm, stream, .x = m->x, .weight = l->attention_norm, .y = m->normed, .epsilon = epsilon));
    TRY(BG_CALL(matmul, stream, .weight = l->query, .x = m->normed, .y = llama_flatten_heads(m->q), .blas = m->blas));
    TRY(BG_CALL(matmul, stream, .weight = l->key, .x = m->normed, .y = llama_flatten_heads(m->k), .blas = m->blas));
    TRY(BG_CALL(matmul, stream, .weight = l->value, .x = m->normed, .y = llama_flatten_heads(m->v), .blas = m->blas));
    TRY(BG_CALL(rope, stream, .x = m->q, .position = m->position, .base = base));
    TRY(BG_CALL(rope, stream, .x = m->k, .position = m->position, .base = base));
    TRY(BG_CALL(kv_append, stream, .k = m->k, .v = m->v, .position = m->position, .keys = cached->keys,
                .values = cached->values));
    TRY(BG_CALL(attention, stream, .q = m->q, .keys = cached->keys, .values = cached->values, .position = m->position,
                .y = m->heads_out, .group = m->weights.part.group, .first = llama_first_in_group(&m->weights.part)));
    TRY(BG_CALL(matmul, stream, .weight = l->attention_out, .x = llama_flatten_heads(m->heads_out), .y = m->projected,
                .blas = m->blas));
    if (m->weights.ranks)
        TRY(BG_CALL(all_reduce, stream, .x = m->projected, .ranks = m->weights.ranks));
    return BG_CALL(add, stream, .x = m->x, .y = m->projected);
}

static bg_status mlp_block(llama_model *m, const llama_device_layer *l, cudaStream_t stream)
{
    TRY(BG_CALL(rms_norm, stream, .x = m->x, .weight = l->mlp_norm, .y = m->normed,
                .epsilon = m->weights.config.norm_epsilon));
    TRY(BG_CALL(matmul, stream, .weight = l->gate, .x = m->normed, .y = m->gate, .blas = m->blas));
    TRY(BG_CALL(matmul, stream, .weight = l->up, .x = m->normed, .y = m->up, .blas = m->blas));
    TRY(BG_CALL(silu_gate, stream, .gate = m->gate, .up = m->up, .y = m->gated));
    TRY(BG_CALL(matmul, stream, .weight = l->down, .x = m->gated, .y = m->projected, .blas = m->blas));
    if (m->weights.ranks)
        TRY(BG_CALL(all_reduce, stream, .x = m->projected, .ranks = m->weights.ranks));
    return BG_CALL(add, stream, .x = m->x, .y = m->projected);
}

bg_status llama_forward(void *user, cudaStream_t stream)
{
    llama_model *m = user;
    m->host_position++;
    TRY(BG_CALL(embedding, stream, .table = m->weights.embedding, .token = m->token, .y = m->x));
    for (int i = 0; i < m->weights.config.layers; i++) {
        TRY(attention_block(m, &m->weights.layer[i], &m->caches[i], stream));
        TRY(mlp_block(m, &m->weights.layer[i], stream));
    }
    TRY(BG_CALL(rms_norm, stream, .x = m->x, .weight = m->weights.final_norm, .y = m->normed,
                .epsilon = m->weights.config.norm_epsilon));
    TRY(BG_CALL(matmul, stream, .weight = m->weights.output, .x = m->normed, .y = m->logits, .blas = m->blas));
    TRY(BG_CALL(advance, stream, .position = m->position, .frozen = m->frozen_scalar ? m->host_position : 0));
    return BG_CALL(sample, stream, .logits = m->logits, .token = m->token);
}

void llama_set_ranks(llama_model *m, const bg_ranks *ranks)
{
    m->ranks = ranks;
}

const bg_ranks *llama_get_ranks(const llama_model *m)
{
    return m->ranks;
}

/* ---- between steps ------------------------------------------------------------------------------ */

void llama_plant_frozen_scalar(llama_model *m)
{
    m->frozen_scalar = true;
}

bg_status llama_reset(llama_model *m)
{
    m->host_position = 0;
    return llama_check_cuda(bgk_set_counter(m->position.data, 0, m->stream), "bgk_set_counter");
}

bg_status llama_set_token(llama_model *m, int token)
{
    if (token < 0 || token >= m->weights.config.vocabulary)
        return bg_report_failure(BG_ERROR_INVALID_ARGUMENT, "llama_set_token", "the token is outside the vocabulary",
                                 "give tokens from 0 to the vocabulary's size - 1");
    return llama_check_cuda(bgk_set_counter(m->token.data, token, m->stream), "bgk_set_counter");
}

static bg_status read_tensor(llama_model *m, void *to, const bg_tensor *from)
{
    TRY(llama_check_cuda(cudaMemcpyAsync(to, from->data, bg_tensor_bytes(from), cudaMemcpyDeviceToHost, m->stream),
                         "cudaMemcpyAsync"));
    return llama_check_cuda(cudaStreamSynchronize(m->stream), "cudaStreamSynchronize");
}

bg_status llama_read_token(llama_model *m, int *token)
{
    return read_tensor(m, token, &m->token);
}

bg_status llama_read_logits(llama_model *m, float *logits)
{
    return read_tensor(m, logits, &m->logits);
}
