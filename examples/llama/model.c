#include "model.h"
#include "ops.h"
#include <breakgraph/cublas.h>
#include <kernels.h>
#include <stdlib.h>

typedef struct layer {
    bg_tensor attention_norm, query, key, value, attention_out, mlp_norm, gate, up, down;
    bg_tensor keys, values; /* the cache: context x kv_heads x head_dim */
} layer;

struct llama_model {
    llama_config config;
    int context;
    cudaStream_t stream;
    cublasHandle_t blas;
    bg_tensor embedding, final_norm, output;
    layer *layers;
    /* one step's intermediate results, a row each */
    bg_tensor x, normed, projected, heads_out, gate, up, gated;
    bg_tensor q, k, v; /* 1 x heads x head_dim */
    bg_tensor logits, token, position;
    int host_position; /* the position as the host counts it; only the planted mistake uses it */
    bool frozen_scalar;
    void **owned;
    int owned_count;
};

enum { DEVICE_TENSORS_PER_LAYER = 11, DEVICE_TENSORS_BESIDE = 16 };

/* ---- device memory ------------------------------------------------------------------------------ */

static bg_tensor shaped(bg_dtype dtype, int64_t d0, int64_t d1, int64_t d2)
{
    bg_tensor tensor = bg_tensor_2d(NULL, dtype, d0, d1);
    if (d2) {
        tensor.rank = 3;
        tensor.dim[2] = d2;
    }
    return tensor;
}

/* Makes a tensor of zeros. */
static bg_status make(llama_model *m, bg_tensor *tensor, bg_tensor shape)
{
    cudaError_t result = cudaMalloc(&shape.data, bg_tensor_bytes(&shape));
    *tensor = shape;
    if (result != cudaSuccess)
        return bg_report_failure(BG_ERROR_CUDA, "cudaMalloc", cudaGetErrorName(result),
                                 "free device memory, or lower --context");
    m->owned[m->owned_count++] = tensor->data;
    return llama_check_cuda(cudaMemsetAsync(tensor->data, 0, bg_tensor_bytes(&shape), m->stream), "cudaMemsetAsync");
}

static bg_status make_matrix(llama_model *m, bg_tensor *tensor, const float *values, int rows, int columns)
{
    TRY(make(m, tensor, shaped(BG_F32, rows, columns, 0)));
    return llama_check_cuda(
        cudaMemcpyAsync(tensor->data, values, bg_tensor_bytes(tensor), cudaMemcpyHostToDevice, m->stream),
        "cudaMemcpyAsync");
}

static bg_status make_vector(llama_model *m, bg_tensor *tensor, const float *values, int length)
{
    TRY(make_matrix(m, tensor, values, 1, length));
    *tensor = bg_tensor_1d(tensor->data, BG_F32, length);
    return BG_OK;
}

static bg_status make_layer(llama_model *m, layer *l, const llama_layer_weights *w)
{
    const llama_config *c = &m->config;
    int query = c->heads * c->head_dim, kv = c->kv_heads * c->head_dim;
    TRY(make_vector(m, &l->attention_norm, w->attention_norm, c->width));
    TRY(make_matrix(m, &l->query, w->query, query, c->width));
    TRY(make_matrix(m, &l->key, w->key, kv, c->width));
    TRY(make_matrix(m, &l->value, w->value, kv, c->width));
    TRY(make_matrix(m, &l->attention_out, w->attention_out, c->width, query));
    TRY(make_vector(m, &l->mlp_norm, w->mlp_norm, c->width));
    TRY(make_matrix(m, &l->gate, w->gate, c->hidden, c->width));
    TRY(make_matrix(m, &l->up, w->up, c->hidden, c->width));
    TRY(make_matrix(m, &l->down, w->down, c->width, c->hidden));
    TRY(make(m, &l->keys, shaped(BG_F32, m->context, c->kv_heads, c->head_dim)));
    return make(m, &l->values, shaped(BG_F32, m->context, c->kv_heads, c->head_dim));
}

static bg_status make_step_buffers(llama_model *m)
{
    const llama_config *c = &m->config;
    TRY(make(m, &m->x, shaped(BG_F32, 1, c->width, 0)));
    TRY(make(m, &m->normed, shaped(BG_F32, 1, c->width, 0)));
    TRY(make(m, &m->projected, shaped(BG_F32, 1, c->width, 0)));
    TRY(make(m, &m->q, shaped(BG_F32, 1, c->heads, c->head_dim)));
    TRY(make(m, &m->k, shaped(BG_F32, 1, c->kv_heads, c->head_dim)));
    TRY(make(m, &m->v, shaped(BG_F32, 1, c->kv_heads, c->head_dim)));
    TRY(make(m, &m->heads_out, shaped(BG_F32, 1, c->heads, c->head_dim)));
    TRY(make(m, &m->gate, shaped(BG_F32, 1, c->hidden, 0)));
    TRY(make(m, &m->up, shaped(BG_F32, 1, c->hidden, 0)));
    TRY(make(m, &m->gated, shaped(BG_F32, 1, c->hidden, 0)));
    TRY(make(m, &m->logits, shaped(BG_F32, 1, c->vocabulary, 0)));
    TRY(make(m, &m->token, bg_tensor_1d(NULL, BG_I32, 1)));
    return make(m, &m->position, bg_tensor_1d(NULL, BG_I32, 1));
}

static bg_status make_weights(llama_model *m, const llama_weights *w)
{
    const llama_config *c = &m->config;
    TRY(make_matrix(m, &m->embedding, w->embedding, c->vocabulary, c->width));
    TRY(make_vector(m, &m->final_norm, w->final_norm, c->width));
    m->output = m->embedding;
    if (w->output != w->embedding)
        TRY(make_matrix(m, &m->output, w->output, c->vocabulary, c->width));
    for (int i = 0; i < c->layers; i++)
        TRY(make_layer(m, &m->layers[i], &w->layer[i]));
    return make_step_buffers(m);
}

static bg_status make_blas(llama_model *m)
{
    TRY(llama_check_cublas(cublasCreate(&m->blas), "cublasCreate"));
    /* fp32 throughout: no TF32, no emulation */
    TRY(llama_check_cublas(cublasSetMathMode(m->blas, CUBLAS_PEDANTIC_MATH), "cublasSetMathMode"));
    return bg_cublas_bind(m->blas, m->stream, NULL);
}

static bg_status fill(llama_model *m, const llama_weights *w)
{
    m->layers = calloc((size_t)w->config.layers, sizeof *m->layers);
    m->owned = calloc((size_t)w->config.layers * DEVICE_TENSORS_PER_LAYER + DEVICE_TENSORS_BESIDE, sizeof *m->owned);
    if (!m->layers || !m->owned)
        return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "llama_create", "calloc", "free some memory");
    TRY(make_blas(m));
    TRY(make_weights(m, w));
    return llama_check_cuda(cudaStreamSynchronize(m->stream), "cudaStreamSynchronize");
}

bg_status llama_create(llama_model **made, const llama_weights *weights, int context, cudaStream_t stream)
{
    llama_model *m = calloc(1, sizeof *m);
    bg_status status;
    *made = NULL;
    if (!m)
        return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "llama_create", "calloc", "free some memory");
    m->config = weights->config;
    m->context = context;
    m->stream = stream;
    status = fill(m, weights);
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
    cudaStreamSynchronize(m->stream); /* nothing may still use what is freed; there is no one to tell of an error */
    for (int i = 0; i < m->owned_count; i++)
        cudaFree(m->owned[i]);
    if (m->blas) {
        bg_workspace_release(m->blas);
        cublasDestroy(m->blas);
    }
    free(m->owned);
    free(m->layers);
    free(m);
}

const llama_config *llama_get_config(const llama_model *m)
{
    return &m->config;
}

int llama_context(const llama_model *m)
{
    return m->context;
}

cudaStream_t llama_stream(const llama_model *m)
{
    return m->stream;
}

/* ---- a step ------------------------------------------------------------------------------------- */

/* The same memory as a row of a matrix. */
static bg_tensor flat(const bg_tensor *t)
{
    return bg_tensor_2d(t->data, t->dtype, t->dim[0], t->dim[1] * t->dim[2]);
}

static bg_status attention_block(llama_model *m, const layer *l, cudaStream_t stream)
{
    float base = m->config.rope_base, epsilon = m->config.norm_epsilon;
    TRY(BG_CALL(rms_norm, stream, .x = m->x, .weight = l->attention_norm, .y = m->normed, .epsilon = epsilon));
    TRY(BG_CALL(matmul, stream, .weight = l->query, .x = m->normed, .y = flat(&m->q), .blas = m->blas));
    TRY(BG_CALL(matmul, stream, .weight = l->key, .x = m->normed, .y = flat(&m->k), .blas = m->blas));
    TRY(BG_CALL(matmul, stream, .weight = l->value, .x = m->normed, .y = flat(&m->v), .blas = m->blas));
    TRY(BG_CALL(rope, stream, .x = m->q, .position = m->position, .base = base));
    TRY(BG_CALL(rope, stream, .x = m->k, .position = m->position, .base = base));
    TRY(BG_CALL(kv_append, stream, .k = m->k, .v = m->v, .position = m->position, .keys = l->keys,
                .values = l->values));
    TRY(BG_CALL(attention, stream, .q = m->q, .keys = l->keys, .values = l->values, .position = m->position,
                .y = m->heads_out));
    TRY(BG_CALL(matmul, stream, .weight = l->attention_out, .x = flat(&m->heads_out), .y = m->projected,
                .blas = m->blas));
    return BG_CALL(add, stream, .x = m->x, .y = m->projected);
}

static bg_status mlp_block(llama_model *m, const layer *l, cudaStream_t stream)
{
    TRY(BG_CALL(rms_norm, stream, .x = m->x, .weight = l->mlp_norm, .y = m->normed, .epsilon = m->config.norm_epsilon));
    TRY(BG_CALL(matmul, stream, .weight = l->gate, .x = m->normed, .y = m->gate, .blas = m->blas));
    TRY(BG_CALL(matmul, stream, .weight = l->up, .x = m->normed, .y = m->up, .blas = m->blas));
    TRY(BG_CALL(silu_gate, stream, .gate = m->gate, .up = m->up, .y = m->gated));
    TRY(BG_CALL(matmul, stream, .weight = l->down, .x = m->gated, .y = m->projected, .blas = m->blas));
    return BG_CALL(add, stream, .x = m->x, .y = m->projected);
}

bg_status llama_forward(void *user, cudaStream_t stream)
{
    llama_model *m = user;
    m->host_position++;
    TRY(BG_CALL(embedding, stream, .table = m->embedding, .token = m->token, .y = m->x));
    for (int i = 0; i < m->config.layers; i++) {
        TRY(attention_block(m, &m->layers[i], stream));
        TRY(mlp_block(m, &m->layers[i], stream));
    }
    TRY(BG_CALL(rms_norm, stream, .x = m->x, .weight = m->final_norm, .y = m->normed,
                .epsilon = m->config.norm_epsilon));
    TRY(BG_CALL(matmul, stream, .weight = m->output, .x = m->normed, .y = m->logits, .blas = m->blas));
    TRY(BG_CALL(advance, stream, .position = m->position, .frozen = m->frozen_scalar ? m->host_position : 0));
    return BG_CALL(sample, stream, .logits = m->logits, .token = m->token);
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
    if (token < 0 || token >= m->config.vocabulary)
        return bg_report_failure(BG_ERROR_INVALID_ARGUMENT, "llama_set_token", "the token is outside the vocabulary",
                                 "give tokens from 0 to the vocabulary's size - 1");
    return llama_check_cuda(bgk_set_counter(m->token.data, token, m->stream), "bgk_set_counter");
}

static bg_status read_back(llama_model *m, void *to, const bg_tensor *from)
{
    TRY(llama_check_cuda(cudaMemcpyAsync(to, from->data, bg_tensor_bytes(from), cudaMemcpyDeviceToHost, m->stream),
                         "cudaMemcpyAsync"));
    return llama_check_cuda(cudaStreamSynchronize(m->stream), "cudaStreamSynchronize");
}

bg_status llama_read_token(llama_model *m, int *token)
{
    return read_back(m, token, &m->token);
}

bg_status llama_read_logits(llama_model *m, float *logits)
{
    return read_back(m, logits, &m->logits);
}
