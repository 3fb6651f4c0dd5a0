#include "ops.h"
#include <breakgraph/cublas.h>
#include "kernels/model/kernels.h"
#include <stdatomic.h>

static atomic_uint_fast64_t launches;

uint64_t llama_launch_count(void)
{
    return atomic_load_explicit(&launches, memory_order_relaxed);
}

void llama_count_launch(void)
{
    atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed);
}

bg_status llama_check_cuda(cudaError_t result, const char *call)
{
    if (result == cudaSuccess)
        return BG_OK;
    return bg_report_failure(BG_ERROR_CUDA, call, cudaGetErrorName(result), cudaGetErrorString(result));
}

bg_status llama_check_cublas(cublasStatus_t result, const char *call)
{
    if (result == CUBLAS_STATUS_SUCCESS)
        return BG_OK;
    return bg_report_failure(BG_ERROR_CUBLAS, call, cublasGetStatusName(result), cublasGetStatusString(result));
}

static bg_status check_launch(cudaError_t result, const char *kernel)
{
    llama_count_launch();
    return llama_check_cuda(result, kernel);
}

static int dim(const bg_tensor *tensor, int index)
{
    return (int)tensor->dim[index];
}

static size_t count_elements(const bg_tensor *tensor)
{
    return bg_tensor_bytes(tensor) / bg_dtype_bytes(tensor->dtype);
}

BG_DEFINE_OP(embedding)
{
    return check_launch(bgk_embedding(args->y.data, args->table.data, args->token.data, dim(&args->y, 0),
                                      dim(&args->table, 1), dim(&args->table, 0), stream),
                        "bgk_embedding");
}

BG_DEFINE_OP(rms_norm)
{
    return check_launch(bgk_rms_norm(args->y.data, args->x.data, args->weight.data, dim(&args->x, 0), dim(&args->x, 1),
                                     args->epsilon, stream),
                        "bgk_rms_norm");
}

/* Rounds x to bf16, multiplies bf16 factors, and sums in fp32. */
static bg_status matmul_bf16(matmul_args *args, cudaStream_t stream)
{
    const float one = 1.0f, zero = 0.0f;
    int rows = dim(&args->x, 0), inputs = dim(&args->weight, 1), outputs = dim(&args->weight, 0);
    void *rounded = NULL;
    bg_status status = bg_scratch(args, count_elements(&args->x) * 2, &rounded);
    if (status == BG_OK)
        status = check_launch(bgk_to_bf16(rounded, args->x.data, count_elements(&args->x), stream), "bgk_to_bf16");
    if (status != BG_OK)
        return status;
    llama_count_launch();
    return llama_check_cublas(cublasGemmEx(args->blas, CUBLAS_OP_T, CUBLAS_OP_N, outputs, rows, inputs, &one,
                                           args->weight.data, CUDA_R_16BF, inputs, rounded, CUDA_R_16BF, inputs, &zero,
                                           args->y.data, CUDA_R_32F, outputs, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                              "cublasGemmEx");
}

/* cuBLAS is column-major, so the row-major weight (outputs x inputs) is a transposed matrix for it. The handle uses the
 * body's stream, which in a replay may differ from the capture's stream. */
BG_DEFINE_OP(matmul)
{
    const float one = 1.0f, zero = 0.0f;
    int rows = dim(&args->x, 0), inputs = dim(&args->weight, 1), outputs = dim(&args->weight, 0);
    cudaStream_t bound = NULL;
    bg_status status = llama_check_cublas(cublasGetStream(args->blas, &bound), "cublasGetStream");
    if (status == BG_OK && bound != stream)
        status = bg_cublas_bind(args->blas, stream, NULL);
    if (status != BG_OK)
        return status;
    if (args->weight.dtype == BG_BF16)
        return matmul_bf16(args, stream);
    llama_count_launch();
    return llama_check_cublas(cublasSgemm(args->blas, CUBLAS_OP_T, CUBLAS_OP_N, outputs, rows, inputs, &one,
                                          args->weight.data, inputs, args->x.data, inputs, &zero, args->y.data,
                                          outputs),
                              "cublasSgemm");
}

BG_DEFINE_OP(rope)
{
    return check_launch(bgk_rope(args->x.data, args->position.data, dim(&args->x, 0), dim(&args->x, 1),
                                 dim(&args->x, 2), args->base, stream),
                        "bgk_rope");
}

BG_DEFINE_OP(kv_append)
{
    int rows = dim(&args->k, 0), width = dim(&args->keys, 1) * dim(&args->keys, 2), capacity = dim(&args->keys, 0);
    bg_status status =
        check_launch(bgk_kv_append(args->keys.data, args->k.data, args->position.data, rows, width, capacity, stream),
                     "bgk_kv_append");
    if (status != BG_OK)
        return status;
    return check_launch(
        bgk_kv_append(args->values.data, args->v.data, args->position.data, rows, width, capacity, stream),
        "bgk_kv_append");
}

BG_DEFINE_EAGER_OP(attention)
{
    const bgk_heads heads = {dim(&args->q, 1), dim(&args->keys, 1), args->group, args->first};
    return check_launch(bgk_attention(args->y.data, args->q.data, args->keys.data, args->values.data,
                                      args->position.data, dim(&args->q, 0), heads, dim(&args->q, 2),
                                      dim(&args->keys, 0), stream),
                        "bgk_attention");
}

BG_DEFINE_OP(rope_rows)
{
    return check_launch(bgk_rope_rows(args->x.data, args->position.data, dim(&args->x, 0), dim(&args->x, 1),
                                      dim(&args->x, 2), args->base, stream),
                        "bgk_rope_rows");
}

static bg_status append_cache_rows(const kv_append_rows_args *args, const bg_tensor *cache, const bg_tensor *x,
                                   cudaStream_t stream)
{
    return check_launch(bgk_kv_append_rows(cache->data, x->data, args->position.data, args->slot.data, dim(x, 0),
                                           dim(cache, 2) * dim(cache, 3), dim(cache, 1), dim(cache, 0), stream),
                        "bgk_kv_append_rows");
}

BG_DEFINE_OP(kv_append_rows)
{
    bg_status status = append_cache_rows(args, &args->keys, &args->k, stream);
    return status != BG_OK ? status : append_cache_rows(args, &args->values, &args->v, stream);
}

BG_DEFINE_EAGER_OP(attention_rows)
{
    const bgk_heads heads = {dim(&args->q, 1), dim(&args->keys, 2), args->group, args->first};
    return check_launch(bgk_attention_rows(args->y.data, args->q.data, args->keys.data, args->values.data,
                                           args->position.data, args->slot.data, dim(&args->q, 0), heads,
                                           dim(&args->q, 2), dim(&args->keys, 1), dim(&args->keys, 0), stream),
                        "bgk_attention_rows");
}

BG_DEFINE_OP(add)
{
    return check_launch(bgk_add(args->x.data, args->x.data, args->y.data, count_elements(&args->x), stream), "bgk_add");
}

BG_DEFINE_OP(silu_gate)
{
    return check_launch(bgk_silu_gate(args->y.data, args->gate.data, args->up.data, count_elements(&args->y), stream),
                        "bgk_silu_gate");
}

BG_DEFINE_OP(advance)
{
    if (args->frozen > 0)
        return check_launch(bgk_set_counter(args->position.data, args->frozen, stream), "bgk_set_counter");
    return check_launch(bgk_increment(args->position.data, 1, stream), "bgk_increment");
}

BG_DEFINE_EAGER_OP(sample)
{
    return check_launch(
        bgk_argmax(args->token.data, args->logits.data, dim(&args->logits, 0), dim(&args->logits, 1), stream),
        "bgk_argmax");
}
