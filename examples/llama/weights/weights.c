#include "weights.h"
#include "examples/llama/random.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const llama_config llama_small = {.layers = 4,
                                  .width = 256,
                                  .hidden = 512,
                                  .heads = 8,
                                  .kv_heads = 4,
                                  .head_dim = 32,
                                  .vocabulary = 512,
                                  .context = 256,
                                  .rope_base = 10000.0f,
                                  .norm_epsilon = 1e-5f};

const llama_config llama_smollm2 = {.layers = 30,
                                    .width = 576,
                                    .hidden = 1536,
                                    .heads = 9,
                                    .kv_heads = 3,
                                    .head_dim = 64,
                                    .vocabulary = 49152,
                                    .context = 2048,
                                    .rope_base = 100000.0f,
                                    .norm_epsilon = 1e-5f};

enum { TENSORS_PER_LAYER = 9, TENSORS_OUTSIDE_LAYERS = 3, MAX_LAYERS = 1024 };

/* ---- the list of tensors ------------------------------------------------------------------------ */

typedef struct tensor_spec {
    const char *name; /* in the file, without "blk.N." and ".weight" */
    float **weights;
    int columns, rows; /* rows 1: a vector */
} tensor_spec;

static void get_layer_specs(const llama_config *c, llama_layer_weights *l, tensor_spec specs[TENSORS_PER_LAYER])
{
    int query = c->heads * c->head_dim, kv = c->kv_heads * c->head_dim;
    const tensor_spec all[TENSORS_PER_LAYER] = {
        {"attn_norm", &l->attention_norm, c->width, 1},
        {"attn_q", &l->query, c->width, query},
        {"attn_k", &l->key, c->width, kv},
        {"attn_v", &l->value, c->width, kv},
        {"attn_output", &l->attention_out, query, c->width},
        {"ffn_norm", &l->mlp_norm, c->width, 1},
        {"ffn_gate", &l->gate, c->width, c->hidden},
        {"ffn_up", &l->up, c->width, c->hidden},
        {"ffn_down", &l->down, c->hidden, c->width},
    };
    memcpy(specs, all, sizeof all);
}

static int fail_out_of_memory(char *error)
{
    snprintf(error, GGUF_ERROR_SIZE, "out of host memory for the model's weights; free some memory");
    return -1;
}

static int init_weights(llama_weights *w, const llama_config *config, char *error)
{
    memset(w, 0, sizeof *w);
    w->config = *config;
    w->layer = calloc((size_t)config->layers, sizeof *w->layer);
    w->owned = calloc((size_t)config->layers * TENSORS_PER_LAYER + TENSORS_OUTSIDE_LAYERS, sizeof *w->owned);
    return w->layer && w->owned ? 0 : fail_out_of_memory(error);
}

static int allocate_tensor(llama_weights *w, const tensor_spec *spec, char *error)
{
    float *values = malloc((size_t)spec->columns * (size_t)spec->rows * sizeof *values);
    if (!values)
        return fail_out_of_memory(error);
    w->owned[w->owned_count++] = values;
    *spec->weights = values;
    return 0;
}

/* Calls make for every tensor: the embedding, the layers, the last norm, and the output matrix if it is not tied. */
static int make_all_tensors(llama_weights *w, bool tied,
                            int (*make)(llama_weights *, const tensor_spec *, int layer, void *, char *), void *user,
                            char *error)
{
    const llama_config *c = &w->config;
    const tensor_spec beside[TENSORS_OUTSIDE_LAYERS] = {{"token_embd", &w->embedding, c->width, c->vocabulary},
                                                        {"output_norm", &w->final_norm, c->width, 1},
                                                        {"output", &w->output, c->width, c->vocabulary}};
    for (int i = 0; i < TENSORS_OUTSIDE_LAYERS - (tied ? 1 : 0); i++)
        if (allocate_tensor(w, &beside[i], error) || make(w, &beside[i], -1, user, error))
            return -1;
    for (int layer = 0; layer < c->layers; layer++) {
        tensor_spec specs[TENSORS_PER_LAYER];
        get_layer_specs(c, &w->layer[layer], specs);
        for (int i = 0; i < TENSORS_PER_LAYER; i++)
            if (allocate_tensor(w, &specs[i], error) || make(w, &specs[i], layer, user, error))
                return -1;
    }
    if (tied)
        w->output = w->embedding;
    return 0;
}

void llama_weights_free(llama_weights *w)
{
    for (int i = 0; i < w->owned_count; i++)
        free(w->owned[i]);
    free(w->owned);
    free(w->layer);
    memset(w, 0, sizeof *w);
}

/* ---- random weights ----------------------------------------------------------------------------- */

/* Uniform in -1..1, of variance 1/3; exact in fp32, so that every machine gets the same. */
static float next_uniform(uint64_t *state)
{
    return (float)((int32_t)(llama_random(state) >> 40) - (1 << 23)) * 0x1p-23f;
}

/* A matrix keeps the scale of its input (variance 1 / columns); norms are near 1. Queries are four times as large, so
 * that attention is sharp and the text depends on all earlier tokens. Otherwise it depends on the last token alone, and
 * soon repeats itself. */
static int make_random(llama_weights *w, const tensor_spec *spec, int layer, void *user, char *error)
{
    uint64_t *state = user;
    size_t count = (size_t)spec->columns * (size_t)spec->rows;
    float scale = spec->weights == &w->embedding ? 1.0f : sqrtf(3.0f / (float)spec->columns);
    if (layer >= 0 && spec->weights == &w->layer[layer].query)
        scale *= 4.0f;
    (void)error;
    for (size_t i = 0; i < count; i++)
        (*spec->weights)[i] = spec->rows == 1 ? 1.0f + 0.25f * next_uniform(state) : scale * next_uniform(state);
    return 0;
}

int llama_weights_random(llama_weights *w, const llama_config *config, uint64_t seed, char *error)
{
    if (init_weights(w, config, error) || make_all_tensors(w, false, make_random, &seed, error)) {
        llama_weights_free(w);
        return -1;
    }
    return 0;
}

/* ---- weights from a file ------------------------------------------------------------------------ */

static int make_from_file(llama_weights *w, const tensor_spec *spec, int layer, void *user, char *error)
{
    const gguf *file = user;
    const gguf_tensor *tensor;
    char name[64];
    (void)w;
    if (layer < 0)
        snprintf(name, sizeof name, "%s.weight", spec->name);
    else
        snprintf(name, sizeof name, "blk.%d.%s.weight", layer, spec->name);
    tensor = gguf_find_tensor(file, name);
    if (!tensor) {
        snprintf(error, GGUF_ERROR_SIZE, "%s: tensor %s is missing", gguf_name(file), name);
        return -1;
    }
    if (tensor->dim[0] != (uint64_t)spec->columns || tensor->dim[1] != (uint64_t)spec->rows ||
        tensor->elements != (uint64_t)spec->columns * (uint64_t)spec->rows) {
        snprintf(error, GGUF_ERROR_SIZE, "%s: tensor %s is %llu x %llu, but the file's keys make it %d x %d",
                 gguf_name(file), name, (unsigned long long)tensor->dim[1], (unsigned long long)tensor->dim[0],
                 spec->rows, spec->columns);
        return -1;
    }
    return gguf_read_tensor(file, tensor, *spec->weights, error);
}

static int read_int(const gguf *file, const char *key, int maximum, int *value, char *error)
{
    int64_t number = 0;
    int result = gguf_get_int(file, key, 1, maximum, &number, error);
    *value = (int)number;
    return result;
}

/* Reads the key; `otherwise` is the value if the file has no such key. */
static int read_int_or(const gguf *file, const char *key, int maximum, int otherwise, int *value, char *error)
{
    *value = otherwise;
    return gguf_has_key(file, key) ? read_int(file, key, maximum, value, error) : 0;
}

static int read_float_or(const gguf *file, const char *key, double otherwise, float *value, char *error)
{
    double number = otherwise;
    int result = gguf_has_key(file, key) ? gguf_get_float(file, key, &number, error) : 0;
    *value = (float)number;
    return result;
}

static int reject_file(const gguf *file, char *error, const char *what)
{
    snprintf(error, GGUF_ERROR_SIZE, "%s: %s", gguf_name(file), what);
    return -1;
}

/* Rejects models that need what this decoder does not compute. */
static int check_architecture(const gguf *file, char *error)
{
    gguf_string architecture, scaling;
    if (gguf_get_string(file, "general.architecture", &architecture, error))
        return -1;
    if (architecture.length != 5 || memcmp(architecture.text, "llama", 5) != 0)
        return reject_file(file, error,
                           "the key general.architecture is not \"llama\", the one that this program runs");
    if (gguf_has_key(file, "llama.expert_count"))
        return reject_file(
            file, error, "the model is a mixture of experts (key llama.expert_count), which this program does not run");
    if (gguf_has_key(file, "llama.rope.scaling.type")) {
        if (gguf_get_string(file, "llama.rope.scaling.type", &scaling, error))
            return -1;
        if (scaling.length != 4 || memcmp(scaling.text, "none", 4) != 0)
            return reject_file(
                file, error,
                "the model scales its rotary positions (key llama.rope.scaling.type), which this program does not do");
    }
    if (gguf_find_tensor(file, "rope_freqs.weight"))
        return reject_file(
            file, error,
            "the model has its own rotary frequencies (tensor rope_freqs.weight), which this program does not use");
    return 0;
}

static int check_heads(const gguf *file, const llama_config *c, int rotated, char *error)
{
    if (c->heads % c->kv_heads)
        return reject_file(file, error,
                           "llama.attention.head_count is not a multiple of llama.attention.head_count_kv");
    if (c->head_dim % 4 || c->head_dim > 256)
        return reject_file(file, error,
                           "the size of a head is not a multiple of 4 up to 256, which this program needs");
    if (rotated != c->head_dim)
        return reject_file(
            file, error,
            "llama.rope.dimension_count differs from the size of a head, which this program does not support");
    return 0;
}

static int read_config(llama_config *c, const gguf *file, char *error)
{
    const gguf_tensor *embedding = gguf_find_tensor(file, "token_embd.weight");
    int rotated;
    if (check_architecture(file, error) || read_int(file, "llama.block_count", MAX_LAYERS, &c->layers, error) ||
        read_int(file, "llama.embedding_length", 1 << 16, &c->width, error) ||
        read_int(file, "llama.feed_forward_length", 1 << 18, &c->hidden, error) ||
        read_int(file, "llama.attention.head_count", 1 << 10, &c->heads, error) ||
        read_int_or(file, "llama.attention.head_count_kv", c->heads, c->heads, &c->kv_heads, error) ||
        read_int_or(file, "llama.attention.key_length", 256, c->width / c->heads, &c->head_dim, error) ||
        read_int_or(file, "llama.rope.dimension_count", 1 << 16, c->head_dim, &rotated, error) ||
        read_int(file, "llama.context_length", 1 << 24, &c->context, error) ||
        read_float_or(file, "llama.rope.freq_base", 10000.0, &c->rope_base, error) ||
        read_float_or(file, "llama.attention.layer_norm_rms_epsilon", 1e-5, &c->norm_epsilon, error))
        return -1;
    if (!embedding || embedding->rank != 2 || embedding->dim[1] > 1 << 24)
        return reject_file(file, error, "tensor token_embd.weight is missing or not a matrix");
    c->vocabulary = (int)embedding->dim[1];
    return check_heads(file, c, rotated, error);
}

int llama_weights_read(llama_weights *w, const gguf *file, char *error)
{
    llama_config config;
    if (read_config(&config, file, error))
        return -1;
    if (init_weights(w, &config, error) ||
        make_all_tensors(w, !gguf_find_tensor(file, "output.weight"), make_from_file, (void *)file, error)) {
        llama_weights_free(w);
        return -1;
    }
    return 0;
}
