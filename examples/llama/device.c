#include "device.h"
#include "ops.h"
#include <breakgraph/cublas.h>
#include "kernels/model/kernels.h"
#include <stdlib.h>
#include <string.h>

/* ---- memory ------------------------------------------------------------------------------------- */

static bg_status fail_out_of_memory(const char *call)
{
    return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, call, "out of host memory", "free some memory");
}

static bg_status reserve_owned_entry(llama_memory *m)
{
    int room = m->room ? 2 * m->room : 32;
    void **owned;
    if (m->count < m->room)
        return BG_OK;
    owned = realloc(m->owned, (size_t)room * sizeof *owned);
    if (!owned)
        return fail_out_of_memory("realloc");
    m->owned = owned;
    m->room = room;
    return BG_OK;
}

bg_status llama_memory_alloc(llama_memory *m, size_t bytes, void **ptr)
{
    cudaError_t result;
    *ptr = NULL;
    TRY(reserve_owned_entry(m));
    result = cudaMalloc(ptr, bytes);
    if (result != cudaSuccess)
        return bg_report_failure(BG_ERROR_CUDA, "cudaMalloc", cudaGetErrorName(result),
                                 "free device memory, or lower --context");
    m->owned[m->count++] = *ptr;
    m->bytes += bytes;
    return BG_OK;
}

bg_status llama_memory_alloc_tensor(llama_memory *m, bg_tensor *tensor, bg_tensor shape)
{
    TRY(llama_memory_alloc(m, bg_tensor_bytes(&shape), &shape.data));
    *tensor = shape;
    return llama_check_cuda(cudaMemsetAsync(shape.data, 0, bg_tensor_bytes(&shape), m->stream), "cudaMemsetAsync");
}

void llama_memory_free(llama_memory *m)
{
    if (m->count > 0)
        cudaStreamSynchronize(m->stream); /* work may still use the memory; no caller could receive an error */
    for (int i = 0; i < m->count; i++)
        cudaFree(m->owned[i]);
    free(m->owned);
    m->owned = NULL;
    m->count = m->room = 0;
    m->bytes = 0;
}

/* ---- weights ------------------------------------------------------------------------------------ */

/* The destination of matrices, and their dtype there. */
typedef struct upload_target {
    llama_memory *memory;
    bg_dtype dtype; /* BG_F32 or BG_BF16 */
} upload_target;

/* Copies some columns of a matrix of `all` columns, without gaps. */
static bg_status copy_columns(void *to, const float *values, int rows, int all, llama_range columns,
                              cudaStream_t stream)
{
    size_t width = (size_t)columns.count * sizeof *values;
    return llama_check_cuda(cudaMemcpy2DAsync(to, width, values + columns.first, (size_t)all * sizeof *values, width,
                                              (size_t)rows, cudaMemcpyHostToDevice, stream),
                            "cudaMemcpy2DAsync");
}

static bg_status copy_columns_as_bf16(void *to, const float *values, int rows, int all, llama_range columns,
                                      cudaStream_t stream)
{
    size_t count = (size_t)rows * (size_t)columns.count;
    void *exact = NULL;
    bg_status status, freed;
    TRY(llama_check_cuda(cudaMallocAsync(&exact, count * sizeof *values, stream), "cudaMallocAsync"));
    status = copy_columns(exact, values, rows, all, columns, stream);
    if (status == BG_OK)
        status = llama_check_cuda(bgk_to_bf16(to, exact, count, stream), "bgk_to_bf16");
    freed = llama_check_cuda(cudaFreeAsync(exact, stream), "cudaFreeAsync");
    return status != BG_OK ? status : freed;
}

/* Uploads some inputs (columns) of a matrix of `all` inputs. */
static bg_status upload_columns(const upload_target *u, bg_tensor *tensor, const float *values, int rows, int all,
                                llama_range columns)
{
    TRY(llama_memory_alloc_tensor(u->memory, tensor, bg_tensor_2d(NULL, u->dtype, rows, columns.count)));
    return (u->dtype == BG_BF16 ? copy_columns_as_bf16 : copy_columns)(tensor->data, values, rows, all, columns,
                                                                       u->memory->stream);
}

static bg_status upload_matrix(const upload_target *u, bg_tensor *tensor, const float *values, int rows, int columns)
{
    return upload_columns(u, tensor, values, rows, columns, (llama_range){0, columns});
}

/* Uploads some outputs (rows) of a matrix. */
static bg_status upload_rows(const upload_target *u, bg_tensor *tensor, const float *values, llama_range rows,
                             int columns)
{
    return upload_matrix(u, tensor, values + (size_t)rows.first * (size_t)columns, rows.count, columns);
}

static bg_status upload_vector(llama_memory *m, bg_tensor *tensor, const float *values, int length)
{
    TRY(upload_matrix(&(upload_target){m, BG_F32}, tensor, values, 1, length));
    *tensor = bg_tensor_1d(tensor->data, BG_F32, length);
    return BG_OK;
}

/* Converts a range of heads to a range of rows or columns. */
static llama_range head_elements(llama_range heads, int head_dim)
{
    return (llama_range){heads.first * head_dim, heads.count * head_dim};
}

/* A matrix that writes a part of the hidden activations keeps those outputs; a matrix that reads the part keeps those
 * inputs. */
static bg_status upload_layer(const upload_target *u, const llama_config *c, const llama_part *part,
                              llama_device_layer *l, const llama_layer_weights *w)
{
    llama_range query = head_elements(part->heads, c->head_dim), kv = head_elements(part->kv_heads, c->head_dim);
    TRY(upload_vector(u->memory, &l->attention_norm, w->attention_norm, c->width));
    TRY(upload_rows(u, &l->query, w->query, query, c->width));
    TRY(upload_rows(u, &l->key, w->key, kv, c->width));
    TRY(upload_rows(u, &l->value, w->value, kv, c->width));
    TRY(upload_columns(u, &l->attention_out, w->attention_out, c->width, c->heads * c->head_dim, query));
    TRY(upload_vector(u->memory, &l->mlp_norm, w->mlp_norm, c->width));
    TRY(upload_rows(u, &l->gate, w->gate, part->hidden, c->width));
    TRY(upload_rows(u, &l->up, w->up, part->hidden, c->width));
    return upload_columns(u, &l->down, w->down, c->width, c->hidden, part->hidden);
}

bg_status llama_device_weights_create(llama_device_weights *d, const llama_weights *w, cudaStream_t stream)
{
    llama_part whole;
    memset(d, 0, sizeof *d);
    TRY(llama_split(&whole, &w->config, 0, 1));
    return llama_device_weights_create_part(d, w, &whole, NULL, stream);
}

bg_status llama_device_weights_create_part(llama_device_weights *d, const llama_weights *w, const llama_part *part,
                                           const struct llama_ranks *ranks, cudaStream_t stream)
{
    const llama_config *c = &w->config;
    const upload_target matrices = {&d->memory, w->bf16 ? BG_BF16 : BG_F32}, table = {&d->memory, BG_F32};
    memset(d, 0, sizeof *d);
    d->config = llama_part_config(c, part);
    d->part = *part;
    d->ranks = ranks;
    d->memory.stream = stream;
    d->layer = calloc((size_t)c->layers, sizeof *d->layer);
    if (!d->layer)
        return fail_out_of_memory("calloc");
    TRY(upload_matrix(&table, &d->embedding, w->embedding, c->vocabulary, c->width));
    TRY(upload_vector(&d->memory, &d->final_norm, w->final_norm, c->width));
    d->output = d->embedding;
    if (w->output != w->embedding || w->bf16)
        TRY(upload_matrix(&matrices, &d->output, w->output, c->vocabulary, c->width));
    for (int i = 0; i < c->layers; i++)
        TRY(upload_layer(&matrices, c, part, &d->layer[i], &w->layer[i]));
    return llama_check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

void llama_device_weights_free(llama_device_weights *d)
{
    llama_memory_free(&d->memory);
    free(d->layer);
    d->layer = NULL;
}

/* ---- cuBLAS ------------------------------------------------------------------------------------- */

bg_status llama_blas_create(cublasHandle_t *blas, cudaStream_t stream)
{
    *blas = NULL;
    TRY(llama_check_cublas(cublasCreate(blas), "cublasCreate"));
    TRY(llama_check_cublas(cublasSetMathMode(*blas, CUBLAS_PEDANTIC_MATH), "cublasSetMathMode"));
    return bg_cublas_bind(*blas, stream, NULL);
}

void llama_blas_destroy(cublasHandle_t blas)
{
    if (!blas)
        return;
    bg_workspace_release(blas);
    cublasDestroy(blas);
}

/* ---- shapes ------------------------------------------------------------------------------------- */

bg_tensor llama_shape(bg_dtype dtype, int64_t d0, int64_t d1, int64_t d2)
{
    bg_tensor tensor = bg_tensor_2d(NULL, dtype, d0, d1);
    if (d2) {
        tensor.rank = 3;
        tensor.dim[2] = d2;
    }
    return tensor;
}

bg_tensor llama_flatten_heads(bg_tensor t)
{
    return bg_tensor_2d(t.data, t.dtype, t.dim[0], t.dim[1] * t.dim[2]);
}
