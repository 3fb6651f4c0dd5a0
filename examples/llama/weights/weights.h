/* A Llama-architecture model's shape and its weights in host memory, as fp32: random ones, or those of a GGUF file. */
#ifndef LLAMA_WEIGHTS_H
#define LLAMA_WEIGHTS_H
#include "gguf.h"

typedef struct llama_config {
    int layers;
    int width;      /* of the residual stream */
    int hidden;     /* of the gated MLP */
    int heads;      /* query heads */
    int kv_heads;   /* key and value heads; heads is a multiple */
    int head_dim;   /* a multiple of 4, at most 256 */
    int vocabulary; /* tokens */
    int context;    /* positions that the model was made for */
    float rope_base, norm_epsilon;
} llama_config;

/* Matrices are row-major with one row per output. */
typedef struct llama_layer_weights {
    float *attention_norm;      /* width */
    float *query, *key, *value; /* heads or kv_heads * head_dim, each x width */
    float *attention_out;       /* width x heads * head_dim */
    float *mlp_norm;            /* width */
    float *gate, *up;           /* hidden x width */
    float *down;                /* width x hidden */
} llama_layer_weights;

typedef struct llama_weights {
    llama_config config;
    float *embedding;  /* vocabulary x width */
    float *final_norm; /* width */
    float *output;     /* vocabulary x width; equal to embedding if the model ties them */
    llama_layer_weights *layer;
    bool bf16; /* if set before the copy to a device, matrices are bf16 there, except the embedding's table */
    float **owned;
    int owned_count;
} llama_weights;

/* The small model that runs without a download. */
extern const llama_config llama_small;
/* SmolLM2-135M: huggingface.co/HuggingFaceTB/SmolLM2-135M, config.json. */
extern const llama_config llama_smollm2;

/* Make random weights of the given shape (the same seed gives the same weights on every machine), or read a file's.
 * Both return 0, or -1 with a message in error (GGUF_ERROR_SIZE bytes) and nothing to free. */
int llama_weights_random(llama_weights *weights, const llama_config *config, uint64_t seed, char *error);
int llama_weights_read(llama_weights *weights, const gguf *file, char *error);
void llama_weights_free(llama_weights *weights);
#endif
