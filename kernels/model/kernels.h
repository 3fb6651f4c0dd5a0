/* The device kernels, callable from C. Each function queues one kernel on `stream` and returns what the launch
 * returned; cudaErrorInvalidValue for a size that it does not take. All pointers are device memory, aligned to 16 bytes
 * unless said otherwise; numbers are fp32, matrices row-major. Sizes count elements.
 *
 * `position` is read from device memory when the kernel runs, so that a captured graph sees the value of each replay:
 * row r of the call stands at position *position + r of the text, counted from 0.
 *
 * The functions named _rows serve several texts at once. There each row carries its own place, read from the device
 * too: row r stands at position[r] of the text that slot[r] names, and the cache holds `slots` texts one after the
 * other. slot[r] < 0: a padding row, which may hold anything, NaN too. A row's result depends on that row and its
 * text's entries in the cache, on no other row of the call. Both arrays hold `rows` ints, aligned to 4 bytes.
 *
 * Threads: all functions may be called from any thread. */
#ifndef BG_KERNELS_H
#define BG_KERNELS_H
#include <cuda_runtime_api.h>
#ifdef __cplusplus
extern "C" {
#endif

/* y[r] = table[token[r]]; table: vocabulary x width, token: rows, y: rows x width. A token outside the vocabulary gives
 * a row of NaN. */
cudaError_t bgk_embedding(float *y, const float *table, const int *token, int rows, int width, int vocabulary,
                          cudaStream_t stream);

/* y = x / sqrt(mean(x^2) + epsilon) * weight, for each row; x, y: rows x width, weight: width. y may be x.
 * Zhang and Sennrich 2019, "Root Mean Square Layer Normalization". */
cudaError_t bgk_rms_norm(float *y, const float *x, const float *weight, int rows, int width, float epsilon,
                         cudaStream_t stream);

/* Turns each pair (x[2i], x[2i+1]) of each head by the angle p * base^(-2i / head_dim), p the row's position, in place;
 * x: rows x heads x head_dim, head_dim even. Su et al. 2021, "RoFormer", section 3.4.2. The pairs are neighbours, as in
 * the paper: GGUF files of architecture "llama" store the rows of their query and key matrices in the order that this
 * needs (the converter permutes those of models that pair i with i + head_dim / 2). */
cudaError_t bgk_rope(float *x, const int *position, int rows, int heads, int head_dim, float base, cudaStream_t stream);

/* The same, each row at its own position. A row may hold anything: it changes no other. */
cudaError_t bgk_rope_rows(float *x, const int *position, int rows, int heads, int head_dim, float base,
                          cudaStream_t stream);

/* cache[position + r] = x[r]; x: rows x width, cache: capacity x width. Rows at capacity or beyond, or before 0, are
 * not stored. */
cudaError_t bgk_kv_append(float *cache, const float *x, const int *position, int rows, int width, int capacity,
                          cudaStream_t stream);

/* cache[slot[r]][position[r]] = x[r]; x: rows x width, cache: slots x capacity x width. Padding rows, and rows of a
 * slot or position outside the cache, are not stored. No two rows may have the same place. */
cudaError_t bgk_kv_append_rows(float *cache, const float *x, const int *position, const int *slot, int rows, int width,
                               int capacity, int slots, cudaStream_t stream);

/* Query head h reads key head (first + h) / group, and there are as many key heads as are read. Those of a whole model
 * are {heads, kv_heads, heads / kv_heads, 0}; a part of them may begin and end within a group. */
typedef struct bgk_heads {
    int query, key, group, first;
} bgk_heads;

/* y = softmax(q k^T / sqrt(head_dim)) v, for each row and query head, over the cache's entries 0 to the row's own
 * position (causal). q, y: rows x heads.query x head_dim; keys, values: capacity x heads.key x head_dim. head_dim is a
 * multiple of 4 and at most 256. Serves decoding (rows = 1) and prefill. A row that stands outside the cache gives NaN.
 * Softmax in one pass: Milakov and Gimelshein 2018, "Online normalizer calculation for softmax"; grouped heads: Ainslie
 * et al. 2023, "GQA". */
cudaError_t bgk_attention(float *y, const float *q, const float *keys, const float *values, const int *position,
                          int rows, bgk_heads heads, int head_dim, int capacity, cudaStream_t stream);

/* The same over the entries of the row's own text, 0 to its own position; keys, values: slots x capacity x heads.key x
 * head_dim. So rows of one text that are appended before the call attend to each other. A padding row gives zeros, a
 * row of a slot or position outside the cache NaN. */
cudaError_t bgk_attention_rows(float *y, const float *q, const float *keys, const float *values, const int *position,
                               const int *slot, int rows, bgk_heads heads, int head_dim, int capacity, int slots,
                               cudaStream_t stream);

/* ---- several of the above in one kernel, with the same bits, and with all that they write --------------------------
 */

/* x += y; n = rms_norm(x); all rows x width, width at most 12288. n may be y. */
cudaError_t bgk_add_rms_norm(float *n, float *x, const float *y, const float *weight, int rows, int width,
                             float epsilon, cudaStream_t stream);

/* y = table[token]; n = rms_norm(y); width at most 12288. */
cudaError_t bgk_embedding_rms_norm(float *n, float *y, const float *table, const int *token, const float *weight,
                                   int rows, int width, int vocabulary, float epsilon, cudaStream_t stream);

/* rope of q, rope of k, kv_append of k and v; with slot the functions named _rows. q: rows x heads x head_dim, k, v:
 * rows x kv_heads x head_dim; the caches as for kv_append. */
typedef struct bgk_rope_append {
    float *q, *k;
    const float *v;
    const int *position, *slot; /* slot NULL: one text */
    float *keys, *values;
    int heads, kv_heads, head_dim, capacity, slots;
    float base;
} bgk_rope_append;
cudaError_t bgk_launch_rope_append(const bgk_rope_append *a, int rows, cudaStream_t stream);

/* ---- for few rows: one warp computes an element of all rows, so that weights are read once -------------------------
 */

enum { BGK_FEW_ROWS = 8 }; /* rows are 1 to 8; inputs (the inner size) are a multiple of 4 */

/* A product with a matrix: y = x weight^T; weight: outputs x inputs, y: rows x outputs. The weights of one kernel are
 * all fp32 or all bf16; with bf16, x is rounded to bf16, too, and sums are fp32. */
typedef struct bgk_product {
    float *y;
    const void *weight;
    int outputs, bf16;
} bgk_product;

/* n = rms_norm(x), and 1 to 3 products with n; x, n: rows x inputs, which fit into shared memory: rows x inputs is at
 * most 12288. */
cudaError_t bgk_norm_products(float *n, const float *x, const float *norm, float epsilon, const bgk_product *products,
                              int count, int rows, int inputs, cudaStream_t stream);

/* n = rms_norm(x), gate and up: products with n of as many outputs, y = silu(gate) * up. */
cudaError_t bgk_norm_gate_up(float *n, const float *x, const float *norm, float epsilon, const bgk_product *gate,
                             const bgk_product *up, float *y, int rows, int inputs, cudaStream_t stream);

/* A product with x, rows x inputs, and sum += its y; sum NULL: the product alone. */
cudaError_t bgk_product_add(const bgk_product *product, const float *x, float *sum, int rows, int inputs,
                            cudaStream_t stream);

/* Attention as bgk_attention, or bgk_attention_rows where slot is not NULL, but for rounding; capacity is at most 8192.
 */
cudaError_t bgk_attention_few(float *y, const float *q, const float *keys, const float *values, const int *position,
                              const int *slot, int rows, bgk_heads heads, int head_dim, int capacity, int slots,
                              cudaStream_t stream);

/* y = silu(gate) * up, silu(g) = g / (1 + exp(-g)); n elements each. y may be gate or up. Shazeer 2020, "GLU Variants
 * Improve Transformer". */
cudaError_t bgk_silu_gate(float *y, const float *gate, const float *up, size_t n, cudaStream_t stream);

/* y = a + b; n elements each. y may be a or b. */
cudaError_t bgk_add(float *y, const float *a, const float *b, size_t n, cudaStream_t stream);

/* y = x, rounded to the nearest bf16 number; n elements, y of 2 bytes each, aligned to 2 bytes. */
cudaError_t bgk_to_bf16(void *y, const float *x, size_t n, cudaStream_t stream);

/* y = x * factor; n elements each. y may be x. */
cudaError_t bgk_scale(float *y, const float *x, float factor, size_t n, cudaStream_t stream);

/* x = value; n elements. */
cudaError_t bgk_fill(float *x, float value, size_t n, cudaStream_t stream);

/* index[r] = the place of the largest element of x[r], of equal ones the first; x: rows x n, index: rows. NaN counts as
 * less than any number; a row of nothing else gives 0. */
cudaError_t bgk_argmax(int *index, const float *x, int rows, int n, cudaStream_t stream);

/* *counter += step. */
cudaError_t bgk_increment(int *counter, int step, cudaStream_t stream);

/* *counter = value, which a captured graph keeps from its capture. */
cudaError_t bgk_set_counter(int *counter, int value, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
