/* What both forms of the decoder, model.h and batch.h, have on the device: tensors that are freed together, the
 * weights, and a cuBLAS handle. Functions return a bg_status, and a sentence in bg_last_error(). */
#ifndef LLAMA_DEVICE_H
#define LLAMA_DEVICE_H
#include "examples/llama/weights/split.h"
#include <cublas_v2.h>

/* Device memory that goes together. Starts as {.stream = stream}; the stream outlives it. */
typedef struct llama_memory {
    cudaStream_t stream;
    void **owned;
    int count, room;
    size_t bytes; /* of all */
} llama_memory;

/* bytes > 0 of memory with anything in it. */
bg_status llama_memory_take(llama_memory *memory, size_t bytes, void **ptr);
/* A tensor of zeros, with the shape and dtype of `shape`. */
bg_status llama_memory_make(llama_memory *memory, bg_tensor *tensor, bg_tensor shape);
/* Waits for the stream, and frees all. */
void llama_memory_free(llama_memory *memory);

/* Matrices are row-major, one row an output; fp32, or bf16 where the weights say so. */
typedef struct llama_device_layer {
    bg_tensor attention_norm;    /* width */
    bg_tensor query, key, value; /* heads or kv_heads * head_dim, each x width */
    bg_tensor attention_out;     /* width x heads * head_dim */
    bg_tensor mlp_norm;          /* width */
    bg_tensor gate, up;          /* hidden x width */
    bg_tensor down;              /* width x hidden */
} llama_device_layer;

struct llama_ranks; /* ranks.h */

/* Only read: several models may run on the same weights. */
typedef struct llama_device_weights {
    llama_config config; /* of the part: heads, kv_heads and hidden are the rank's */
    llama_part part;
    const struct llama_ranks *ranks; /* that sums go over; NULL: nothing is summed */
    bg_tensor embedding;             /* vocabulary x width */
    bg_tensor final_norm;            /* width */
    bg_tensor output;                /* vocabulary x width; the embedding where the model ties them in fp32 */
    llama_device_layer *layer;
    llama_memory memory;
} llama_device_weights;

/* Copies the weights to the device, through stream, and waits. Free them after an error too. */
bg_status llama_device_weights_create(llama_device_weights *device, const llama_weights *weights, cudaStream_t stream);
/* Copies a rank's part of them. ranks has the part's rank and size, and outlives the device's weights; without it
 * the rank has only its own part of each sum, a mistake for tests to find. */
bg_status llama_device_weights_create_part(llama_device_weights *device, const llama_weights *weights,
                                           const llama_part *part, const struct llama_ranks *ranks,
                                           cudaStream_t stream);
void llama_device_weights_free(llama_device_weights *device);

/* A handle for fp32 throughout (no TF32, no emulation), bound to the stream with a workspace that graphs may hold.
 * *blas is to be destroyed after an error too; NULL is fine. */
bg_status llama_blas_create(cublasHandle_t *blas, cudaStream_t stream);
void llama_blas_destroy(cublasHandle_t blas);

/* A shape without memory: d0 x d1 x d2, or d0 x d1 where d2 is 0. */
bg_tensor llama_shape(bg_dtype dtype, int64_t d0, int64_t d1, int64_t d2);
/* The same memory, d0 x d1 x d2, as rows of a matrix, d0 x d1 * d2. */
bg_tensor llama_flat(bg_tensor tensor);
#endif
