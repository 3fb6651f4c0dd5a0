/* The forward pass of a Llama-architecture model, in plain C and double precision: what the device's results are judged
 * by. It shares no code with the kernels or with examples/llama/model.c; only the file reader is common. Slow and
 * plain. */
#ifndef REFERENCE_LLAMA_H
#define REFERENCE_LLAMA_H
#include "examples/llama/weights/gguf.h"

/* Matrices are row-major, one row an output. */
typedef struct reference_layer {
    const float *attention_norm; /* width */
    const float *query;          /* heads * head_dim x width */
    const float *key, *value;    /* kv_heads * head_dim x width */
    const float *attention_out;  /* width x heads * head_dim */
    const float *mlp_norm;       /* width */
    const float *gate, *up;      /* hidden x width */
    const float *down;           /* width x hidden */
} reference_layer;

typedef struct reference_model {
    int layers, width, hidden, heads, kv_heads, head_dim, vocabulary;
    double rope_base, norm_epsilon;
    const float *embedding;  /* vocabulary x width */
    const float *final_norm; /* width */
    const float *output;     /* vocabulary x width */
    reference_layer *layer;
    float **owned; /* by reference_load; NULL where the caller owns the weights */
    int owned_count;
} reference_model;

/* Reads a model from a file; one that it cannot read fails the test. */
void reference_load(reference_model *model, const gguf *file);
/* Frees what reference_load took. */
void reference_free(reference_model *model);

/* The logits after each of the count tokens, count x vocabulary, into logits. */
void reference_logits(const reference_model *model, const int *tokens, int count, double *logits);

/* max |a - b| / max |b| over count elements; infinity where a holds a NaN. */
double reference_difference(const float *a, const double *b, size_t count);
#endif
