/* Device resources that model.h and batch.h share: tensors that are freed together, the weights, and a cuBLAS handle.
 * Functions return a bg_status; bg_last_error() describes a failure. */
#ifndef LLAMA_DEVICE_H
#define LLAMA_DEVICE_H
#include "examples/llama/weights/split.h"
#include <cublas_v2.h>

/* Device memory that is freed together. Initialize it with {.stream = stream}; the stream must outlive it. */
typedef struct llama_memory {
    cudaStream_t stream;
    void **owned;
    int count, room;
    size_t bytes; /* of all allocations */
} llama_memory;

/* Allocates bytes > 0 of memory, not initialized. */
bg_status llama_memory_alloc(llama_memory *memory, size_t bytes, void **ptr);
/* Allocates a tensor of zeros with the shape and dtype of `shape`. */
bg_status llama_memory_alloc_tensor(llama_memory *memory, bg_tensor *tensor, bg_tensor shape);
/* Waits for the stream, and frees all memory. */
void llama_memory_free(llama_memory *memory);

/* Matrices are row-major with one row per output; fp32, or bf16 if the host's weights say so. */
typedef struct llama_device_layer {
    bg_tensor attention_norm;    /* width */
    bg_tensor query, key, value; /* heads or kv_heads * head_dim, each x width */
    bg_tensor attention_out;     /* width x heads * head_dim */
    bg_tensor mlp_norm;          /* width */
    bg_tensor gate, up;          /* hidden x width */
    bg_tensor down;              /* width x hidden */
} llama_device_layer;

struct llama_ranks; /* ranks.h */

/* Read-only, so several models may use the same weights. */
typedef struct llama_device_weights {
    llama_config config; /* the part's: heads, kv_heads and hidden are the rank's */
    llama_part part;
    const struct llama_ranks *ranks; /* the ranks that sum partial results; NULL: no sums */
    bg_tensor embedding;             /* vocabulary x width */
    bg_tensor final_norm;            /* width */
    bg_tensor output;                /* vocabulary x width; the embedding if the model ties them in fp32 */
    llama_device_layer *layer;
    llama_memory memory;
} llama_device_weights;

/* Copies the weights to the device on stream, and waits. Free them also after an error. */
bg_status llama_device_weights_create(llama_device_weights *device, const llama_weights *weights, cudaStream_t stream);
/* Copies a rank's part of the weights. ranks has the part's rank and size, and must outlive the device's weights. If it
 * is NULL, the rank keeps only its own part of each sum: a mistake for tests to find. */
bg_status llama_device_weights_create_part(llama_device_weights *device, const llama_weights *weights,
                                           const llama_part *part, const struct llama_ranks *ranks,
                                           cudaStream_t stream);
void llama_device_weights_free(llama_device_weights *device);

/* Creates a handle that computes in fp32 (no TF32, no emulation), bound to the stream, with a workspace that graphs may
 * use. Destroy *blas also after an error; it may be NULL. */
bg_status llama_blas_create(cublasHandle_t *blas, cudaStream_t stream);
void llama_blas_destroy(cublasHandle_t blas);

/* Returns a tensor without memory: d0 x d1 x d2, or d0 x d1 if d2 is 0. */
bg_tensor llama_shape(bg_dtype dtype, int64_t d0, int64_t d1, int64_t d2);
/* Returns a tensor of d0 x d1 x d2 as a matrix of d0 x (d1 * d2), in the same memory. */
bg_tensor llama_flatten_heads(bg_tensor tensor);
#endif
