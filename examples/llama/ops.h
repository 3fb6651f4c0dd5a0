/* The ops of a Llama decoder: kernels and cuBLAS calls under names that breakgraph knows. Attention and sampling are
 * eager: they break the capture. Rows are tokens. In ops whose names end in _rows, each row has its own position and
 * slot, in device memory (kernels.h). The other ops take rows of one text; the first row is at the position. */
#ifndef LLAMA_OPS_H
#define LLAMA_OPS_H
#include <breakgraph/breakgraph.h>
#include <cublas_v2.h>
struct llama_ranks; /* ranks.h */
#ifdef LLAMA_FAULTS
#include "examples/llama/faults/faults.h" /* the same macros, for tests that plant mistakes */
#endif

BG_DECLARE_OP(embedding, BG_IN(table), BG_IN(token), BG_OUT(y))
BG_DECLARE_OP(rms_norm, BG_IN(x), BG_IN(weight), BG_OUT(y), BG_VALUE(float, epsilon))
/* y = x weight^T in fp32 (no TF32), or with bf16 factors if weight is bf16; weight: outputs x inputs, x: rows x inputs,
 * y: rows x outputs */
BG_DECLARE_OP(matmul, BG_IN(weight), BG_IN(x), BG_OUT(y), BG_VALUE(cublasHandle_t, blas))
/* x: rows x heads x head_dim, rotated in place */
BG_DECLARE_OP(rope, BG_INOUT(x), BG_IN(position), BG_VALUE(float, base))
/* Stores k and v at the position; caches: capacity x kv_heads x head_dim */
BG_DECLARE_OP(kv_append, BG_IN(k), BG_IN(v), BG_IN(position), BG_INOUT(keys), BG_INOUT(values))
/* q, y: rows x heads x head_dim; query head h reads key head (first + h) / group */
BG_DECLARE_OP(attention, BG_IN(q), BG_IN(keys), BG_IN(values), BG_IN(position), BG_OUT(y), BG_VALUE(int, group),
              BG_VALUE(int, first))
BG_DECLARE_OP(rope_rows, BG_INOUT(x), BG_IN(position), BG_VALUE(float, base))
/* position, slot: rows; caches: slots x capacity x kv_heads x head_dim */
BG_DECLARE_OP(kv_append_rows, BG_IN(k), BG_IN(v), BG_IN(position), BG_IN(slot), BG_INOUT(keys), BG_INOUT(values))
BG_DECLARE_OP(attention_rows, BG_IN(q), BG_IN(keys), BG_IN(values), BG_IN(position), BG_IN(slot), BG_OUT(y),
              BG_VALUE(int, group), BG_VALUE(int, first))
/* x becomes the sum of all ranks' x, which have the same shape */
BG_DECLARE_OP(all_reduce, BG_INOUT(x), BG_VALUE(const struct llama_ranks *, ranks))
BG_DECLARE_OP(add, BG_INOUT(x), BG_IN(y)) /* x += y */
BG_DECLARE_OP(silu_gate, BG_IN(gate), BG_IN(up), BG_OUT(y))
/* position += 1. With frozen > 0, position = frozen instead: the mistake of --plant-frozen-scalar, a number of the host
 * that a graph keeps from its capture. */
BG_DECLARE_OP(advance, BG_INOUT(position), BG_VALUE(int, frozen))
BG_DECLARE_OP(sample, BG_IN(logits), BG_OUT(token)) /* greedy: each row's token with the largest logit */

/* Returns how many kernel launches and cuBLAS calls the ops' bodies have made in this process. */
uint64_t llama_launch_count(void);

/* Counts one more of these. For the body of an op. */
void llama_count_launch(void);

/* Convert a CUDA or cuBLAS result to a status. bg_last_error() describes a failure, with the name of the call. */
bg_status llama_check_cuda(cudaError_t result, const char *call);
bg_status llama_check_cublas(cublasStatus_t result, const char *call);
/* Returns the status of a call that fails from the function around it. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        bg_status try_status_ = (call);                                                                                \
        if (try_status_ != BG_OK)                                                                                      \
            return try_status_;                                                                                        \
    } while (0)
#endif
