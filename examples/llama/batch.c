#include "batch.h"
#include "ops.h"
#include "rules.h"
#include <breakgraph/workspace.h>
#include <stdlib.h>

enum { BLOCKS = 5, MAX_ROWS = 65535 }; /* the most intermediate results at once; the most rows of a kernel */

/* Memory for an intermediate result of max_tokens rows. */
typedef struct block {
    void *ptr;
    bool in_use;
} block;

struct llama_batch {
    const llama_device_weights *weights;
    int slots, capacity, max_tokens;
    cudaStream_t stream;
    cublasHandle_t blas;
    llama_memory memory;
    bg_pool *pool;     /* NULL: blocks are used instead */
    bg_tensor *caches; /* of layer i: keys at 2i, values at 2i + 1 */
    block blocks[BLOCKS];
    size_t block_bytes;
    llama_batch_io io;
};

/* ---- memory of intermediate results ------------------------------------------------------------- */

/* Acquires the lowest free block, so that the same order of calls gets the same memory for any number of rows. */
static bg_status alloc_intermediate(llama_batch *b, size_t bytes, void **ptr)
{
    if (b->pool)
        return bg_pool_alloc(b->pool, bytes, ptr);
    for (int i = 0; i < BLOCKS && bytes <= b->block_bytes; i++)
        if (!b->blocks[i].in_use) {
            b->blocks[i].in_use = true;
            *ptr = b->blocks[i].ptr;
            return BG_OK;
        }
    return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "llama_batch_run", "no block for an intermediate result",
                             "raise BLOCKS in batch.c");
}

static void give(llama_batch *b, void *ptr)
{
    if (b->pool)
        bg_pool_release(b->pool, ptr);
    for (int i = 0; i < BLOCKS && !b->pool; i++)
        if (b->blocks[i].ptr == ptr)
            b->blocks[i].in_use = false;
}

/* ---- creation ----------------------------------------------------------------------------------- */

static int max_row_width(const llama_config *c)
{
    int heads = c->heads * c->head_dim, most = c->width > c->hidden ? c->width : c->hidden;
    return heads > most ? heads : most;
}

static bg_status make_blocks(llama_batch *b)
{
    if (b->pool)
        return BG_OK;
    b->block_bytes = (size_t)b->max_tokens * (size_t)max_row_width(&b->weights->config) * sizeof(float);
    for (int i = 0; i < BLOCKS; i++)
        TRY(llama_memory_alloc(&b->memory, b->block_bytes, &b->blocks[i].ptr));
    return BG_OK;
}

static bg_status make_caches(llama_batch *b)
{
    const llama_config *c = &b->weights->config;
    const bg_tensor shape = {.dtype = BG_F32, .rank = 4, .dim = {b->slots, b->capacity, c->kv_heads, c->head_dim}};
    b->caches = calloc(2 * (size_t)c->layers, sizeof *b->caches);
    if (!b->caches)
        return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "llama_batch_create", "out of host memory",
                                 "free some memory");
    for (int i = 0; i < 2 * c->layers; i++)
        TRY(llama_memory_alloc_tensor(&b->memory, &b->caches[i], shape));
    return BG_OK;
}

static bg_status init_batch(llama_batch *b)
{
    TRY(llama_set_rules());
    TRY(llama_blas_create(&b->blas, b->stream));
    TRY(make_blocks(b));
    TRY(make_caches(b));
    return llama_check_cuda(cudaStreamSynchronize(b->stream), "cudaStreamSynchronize");
}

bg_status llama_batch_create(llama_batch **made, const llama_device_weights *weights, int slots, int capacity,
                             int max_tokens, bg_pool *pool, cudaStream_t stream)
{
    llama_batch *b;
    bg_status status;
    *made = NULL;
    if (slots < 1 || capacity < 1 || max_tokens < 1 || max_tokens > MAX_ROWS)
        return bg_report_failure(BG_ERROR_INVALID_ARGUMENT, "llama_batch_create",
                                 "slots, capacity or max_tokens is out of range",
                                 "give at least 1 of each, and at most 65535 tokens");
    b = calloc(1, sizeof *b);
    if (!b)
        return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "llama_batch_create", "out of host memory",
                                 "free some memory");
    b->weights = weights;
    b->slots = slots;
    b->capacity = capacity;
    b->max_tokens = max_tokens;
    b->pool = pool;
    b->stream = stream;
    b->memory.stream = stream;
    status = init_batch(b);
    if (status != BG_OK) {
        llama_batch_destroy(b);
        return status;
    }
    *made = b;
    return BG_OK;
}

void llama_batch_destroy(llama_batch *b)
{
    if (!b)
        return;
    llama_memory_free(&b->memory);
    llama_blas_destroy(b->blas);
    free(b->caches);
    free(b);
}

const llama_config *llama_batch_config(const llama_batch *b)
{
    return &b->weights->config;
}

int llama_batch_slots(const llama_batch *b)
{
    return b->slots;
}

int llama_batch_capacity(const llama_batch *b)
{
    return b->capacity;
}

int llama_batch_max_tokens(const llama_batch *b)
{
    return b->max_tokens;
}

const bg_tensor *llama_batch_caches(const llama_batch *b, int *count)
{
    *count = 2 * b->weights->config.layers;
    return b->caches;
}

/* ---- the static buffers ------------------------------------------------------------------------- */

static bg_status fail_invalid(const char *function, const char *what, const char *advice)
{
    return bg_report_failure(BG_ERROR_INVALID_ARGUMENT, function, what, advice);
}

static bool is_int_vector(const bg_tensor *t)
{
    return t->data && t->dtype == BG_I32 && t->rank == 1;
}

bg_status llama_batch_set_io(llama_batch *b, const llama_batch_io *io)
{
    if (!is_int_vector(&io->token) || !is_int_vector(&io->position) || !is_int_vector(&io->slot) ||
        !is_int_vector(&io->next))
        return fail_invalid("llama_batch_set_io", "token, position, slot or next has no memory or is not i32 of rank 1",
                            "give device memory of BG_I32, rows");
    if (!io->logits.data || io->logits.dtype != BG_F32 || io->logits.rank != 2 ||
        io->logits.dim[1] != b->weights->config.vocabulary)
        return fail_invalid("llama_batch_set_io", "logits has no memory or is not f32, rows x vocabulary",
                            "give device memory of BG_F32, rows x the model's vocabulary");
    b->io = *io;
    return BG_OK;
}

static bg_status check_rows(const llama_batch *b, int rows)
{
    const bg_tensor *all[] = {&b->io.token, &b->io.position, &b->io.slot, &b->io.logits, &b->io.next};
    if (!b->io.token.data)
        return fail_invalid("llama_batch_run", "the batch has no static buffers", "set them with llama_batch_set_io");
    if (rows < 1 || rows > b->max_tokens)
        return fail_invalid("llama_batch_run", "rows is less than 1 or more than the batch was made for",
                            "split the batch, or give llama_batch_create a larger max_tokens");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i]->dim[0] < rows)
            return fail_invalid("llama_batch_run", "a static buffer has fewer rows than the pass",
                                "give llama_batch_set_io buffers of as many rows as the largest pass has");
    return BG_OK;
}

/* ---- a pass ------------------------------------------------------------------------------------- */

typedef struct pass {
    llama_batch *batch;
    cublasHandle_t blas;
    cudaStream_t stream;
    int rows;
    float epsilon;
    bg_tensor position, slot;
    /* intermediate results; data is NULL for a result without memory */
    bg_tensor x, normed, projected, gate, up, gated; /* rows x width or hidden */
    bg_tensor q, k, v, heads_out;                    /* rows x heads or kv_heads x head_dim */
} pass;

static bg_tensor first_rows(const bg_tensor *all, int rows)
{
    bg_tensor tensor = *all;
    tensor.dim[0] = rows;
    return tensor;
}

/* Allocates an intermediate result, rows x d1 (x d2). */
static bg_status begin_tensor(pass *p, bg_tensor *tensor, int d1, int d2)
{
    *tensor = llama_shape(BG_F32, p->rows, d1, d2);
    return alloc_intermediate(p->batch, bg_tensor_bytes(tensor), &tensor->data);
}

static void end_tensor(pass *p, bg_tensor *tensor)
{
    if (tensor->data)
        give(p->batch, tensor->data);
    tensor->data = NULL;
}

static void end_all_tensors(pass *p)
{
    bg_tensor *all[] = {&p->x,     &p->normed, &p->projected, &p->gate, &p->up,
                        &p->gated, &p->q,      &p->k,         &p->v,    &p->heads_out};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        end_tensor(p, all[i]);
}

/* Allocates y, rows x d1 (x d2), and computes y = x weight^T. */
static bg_status project(pass *p, const bg_tensor *x, const bg_tensor *weight, bg_tensor *y, int d1, int d2)
{
    TRY(begin_tensor(p, y, d1, d2));
    return BG_CALL(matmul, p->stream, .weight = *weight, .x = *x, .y = d2 ? llama_flatten_heads(*y) : *y,
                   .blas = p->blas);
}

static bg_status call_rms_norm(pass *p, const bg_tensor *weight)
{
    TRY(begin_tensor(p, &p->normed, p->batch->weights->config.width, 0));
    return BG_CALL(rms_norm, p->stream, .x = p->x, .weight = *weight, .y = p->normed, .epsilon = p->epsilon);
}

static bg_status call_attention(pass *p, int layer)
{
    const llama_config *c = &p->batch->weights->config;
    const llama_part *part = &p->batch->weights->part;
    const bg_tensor *keys = &p->batch->caches[2 * layer], *values = keys + 1;
    TRY(BG_CALL(rope_rows, p->stream, .x = p->q, .position = p->position, .base = c->rope_base));
    TRY(BG_CALL(rope_rows, p->stream, .x = p->k, .position = p->position, .base = c->rope_base));
    TRY(BG_CALL(kv_append_rows, p->stream, .k = p->k, .v = p->v, .position = p->position, .slot = p->slot,
                .keys = *keys, .values = *values));
    end_tensor(p, &p->k);
    end_tensor(p, &p->v);
    TRY(begin_tensor(p, &p->heads_out, c->heads, c->head_dim));
    TRY(BG_CALL(attention_rows, p->stream, .q = p->q, .keys = *keys, .values = *values, .position = p->position,
                .slot = p->slot, .y = p->heads_out, .group = part->group, .first = llama_first_in_group(part)));
    end_tensor(p, &p->q);
    return BG_OK;
}

static bg_status add_projected(pass *p)
{
    const struct llama_ranks *ranks = p->batch->weights->ranks;
    if (ranks)
        TRY(BG_CALL(all_reduce, p->stream, .x = p->projected, .ranks = ranks));
    TRY(BG_CALL(add, p->stream, .x = p->x, .y = p->projected));
    end_tensor(p, &p->projected);
    return BG_OK;
}

static bg_status attention_block(pass *p, int layer)
{
    const llama_config *c = &p->batch->weights->config;
    const llama_device_layer *l = &p->batch->weights->layer[layer];
    bg_tensor heads_out;
    TRY(call_rms_norm(p, &l->attention_norm));
    TRY(project(p, &p->normed, &l->query, &p->q, c->heads, c->head_dim));
    TRY(project(p, &p->normed, &l->key, &p->k, c->kv_heads, c->head_dim));
    TRY(project(p, &p->normed, &l->value, &p->v, c->kv_heads, c->head_dim));
    end_tensor(p, &p->normed);
    TRY(call_attention(p, layer));
    heads_out = llama_flatten_heads(p->heads_out);
    TRY(project(p, &heads_out, &l->attention_out, &p->projected, c->width, 0));
    end_tensor(p, &p->heads_out);
    return add_projected(p);
}

static bg_status mlp_block(pass *p, int layer)
{
    const llama_config *c = &p->batch->weights->config;
    const llama_device_layer *l = &p->batch->weights->layer[layer];
    TRY(call_rms_norm(p, &l->mlp_norm));
    TRY(project(p, &p->normed, &l->gate, &p->gate, c->hidden, 0));
    TRY(project(p, &p->normed, &l->up, &p->up, c->hidden, 0));
    TRY(begin_tensor(p, &p->gated, c->hidden, 0));
    TRY(BG_CALL(silu_gate, p->stream, .gate = p->gate, .up = p->up, .y = p->gated));
    end_tensor(p, &p->normed); /* not earlier: norm_gate_up (rules.h) writes both normed and gated */
    end_tensor(p, &p->gate);
    end_tensor(p, &p->up);
    TRY(project(p, &p->gated, &l->down, &p->projected, c->width, 0));
    end_tensor(p, &p->gated);
    return add_projected(p);
}

static bg_status run_layers(pass *p)
{
    const llama_device_weights *w = p->batch->weights;
    const llama_batch_io *io = &p->batch->io;
    const bg_tensor logits = first_rows(&io->logits, p->rows);
    TRY(begin_tensor(p, &p->x, w->config.width, 0));
    TRY(BG_CALL(embedding, p->stream, .table = w->embedding, .token = first_rows(&io->token, p->rows), .y = p->x));
    for (int i = 0; i < w->config.layers; i++) {
        TRY(attention_block(p, i));
        TRY(mlp_block(p, i));
    }
    TRY(call_rms_norm(p, &w->final_norm));
    TRY(BG_CALL(matmul, p->stream, .weight = w->output, .x = p->normed, .y = logits, .blas = p->blas));
    return BG_CALL(sample, p->stream, .logits = logits, .token = first_rows(&io->next, p->rows));
}

bg_status llama_batch_run(llama_batch *b, int rows, cudaStream_t stream)
{
    pass p = {.batch = b, .blas = b->blas, .stream = stream, .rows = rows, .epsilon = b->weights->config.norm_epsilon};
    bg_status status;
    TRY(check_rows(b, rows));
    p.position = first_rows(&b->io.position, rows);
    p.slot = first_rows(&b->io.slot, rows);
    status = run_layers(&p);
    end_all_tensors(&p);
    return status;
}
