#include "reference_llama.h"
#include "tests/support/test.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the mathematics ---------------------------------------------------------------------------- */

/* Four running sums, only for speed: one would wait for itself at each step. */
static double dot(const float *row, const double *x, int n)
{
    double sum[4] = {0, 0, 0, 0};
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int j = 0; j < 4; j++)
            sum[j] += (double)row[i + j] * x[i + j];
    for (; i < n; i++)
        sum[0] += (double)row[i] * x[i];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

/* out[t][o] = sum over i of weight[o][i] * in[t][i] */
static void linear(double *out, const float *weight, const double *in, int outputs, int inputs, int tokens)
{
    for (int o = 0; o < outputs; o++)
        for (int t = 0; t < tokens; t++)
            out[(size_t)t * outputs + o] = dot(weight + (size_t)o * inputs, in + (size_t)t * inputs, inputs);
}

/* out = x / sqrt(mean(x^2) + epsilon) * weight (Zhang and Sennrich 2019, "Root Mean Square Layer Normalization") */
static void normalise(double *out, const double *x, const float *weight, int width, int tokens, double epsilon)
{
    for (int t = 0; t < tokens; t++) {
        double squares = 0;
        for (int i = 0; i < width; i++)
            squares += x[t * width + i] * x[t * width + i];
        for (int i = 0; i < width; i++)
            out[t * width + i] = x[t * width + i] / sqrt(squares / width + epsilon) * weight[i];
    }
}

/* Turns each pair (2i, 2i+1) of a head by the angle position * base^(-2i/d) (Su et al. 2021, "RoFormer"). Token t
 * stands at position t. */
static void rotate(double *x, int heads, int head_dim, int tokens, double base)
{
    for (int t = 0; t < tokens; t++)
        for (int h = 0; h < heads; h++)
            for (int i = 0; i < head_dim; i += 2) {
                double angle = t * pow(base, -(double)i / head_dim), *pair = x + ((size_t)t * heads + h) * head_dim + i;
                double a = pair[0], b = pair[1];
                pair[0] = a * cos(angle) - b * sin(angle);
                pair[1] = a * sin(angle) + b * cos(angle);
            }
}

/* One head of one token: softmax(q k / sqrt(d)) v over the tokens up to and with it. */
static void attend_one(double *out, const double *q, const double *k, const double *v, int stride, int length,
                       int head_dim, double *score)
{
    double highest = -INFINITY, sum = 0;
    for (int s = 0; s < length; s++) {
        score[s] = 0;
        for (int i = 0; i < head_dim; i++)
            score[s] += q[i] * k[(size_t)s * stride + i];
        score[s] /= sqrt(head_dim);
        highest = fmax(highest, score[s]);
    }
    for (int s = 0; s < length; s++)
        sum += score[s] = exp(score[s] - highest);
    for (int i = 0; i < head_dim; i++) {
        out[i] = 0;
        for (int s = 0; s < length; s++)
            out[i] += score[s] / sum * v[(size_t)s * stride + i];
    }
}

/* Grouped heads: query head h reads key head h / (heads / kv_heads) (Ainslie et al. 2023, "GQA"). */
static void attend(const reference_model *m, double *out, const double *q, const double *k, const double *v, int tokens,
                   double *score)
{
    int d = m->head_dim, stride = m->kv_heads * d, group = m->heads / m->kv_heads;
    for (int t = 0; t < tokens; t++)
        for (int h = 0; h < m->heads; h++) {
            size_t at = ((size_t)t * m->heads + h) * d, kv = (size_t)(h / group) * d;
            attend_one(out + at, q + at, k + kv, v + kv, stride, t + 1, d, score);
        }
}

typedef struct space {
    double *x, *y, *q, *k, *v, *heads, *gate, *up, *score;
} space;

static void attention_block(const reference_model *m, const reference_layer *l, const space *s, int tokens)
{
    int query = m->heads * m->head_dim, kv = m->kv_heads * m->head_dim;
    normalise(s->y, s->x, l->attention_norm, m->width, tokens, m->norm_epsilon);
    linear(s->q, l->query, s->y, query, m->width, tokens);
    linear(s->k, l->key, s->y, kv, m->width, tokens);
    linear(s->v, l->value, s->y, kv, m->width, tokens);
    rotate(s->q, m->heads, m->head_dim, tokens, m->rope_base);
    rotate(s->k, m->kv_heads, m->head_dim, tokens, m->rope_base);
    attend(m, s->heads, s->q, s->k, s->v, tokens, s->score);
    linear(s->y, l->attention_out, s->heads, m->width, query, tokens);
    for (int i = 0; i < tokens * m->width; i++)
        s->x[i] += s->y[i];
}

/* x += down(silu(gate(y)) * up(y)) (Shazeer 2020, "GLU Variants Improve Transformer") */
static void mlp_block(const reference_model *m, const reference_layer *l, const space *s, int tokens)
{
    normalise(s->y, s->x, l->mlp_norm, m->width, tokens, m->norm_epsilon);
    linear(s->gate, l->gate, s->y, m->hidden, m->width, tokens);
    linear(s->up, l->up, s->y, m->hidden, m->width, tokens);
    for (int i = 0; i < tokens * m->hidden; i++)
        s->gate[i] = s->gate[i] / (1 + exp(-s->gate[i])) * s->up[i];
    linear(s->y, l->down, s->gate, m->width, m->hidden, tokens);
    for (int i = 0; i < tokens * m->width; i++)
        s->x[i] += s->y[i];
}

/* One block of memory, cut up. */
static double *make_space(const reference_model *m, int tokens, space *s)
{
    size_t width = (size_t)tokens * m->width, query = (size_t)tokens * m->heads * m->head_dim;
    size_t kv = (size_t)tokens * m->kv_heads * m->head_dim, hidden = (size_t)tokens * m->hidden;
    double *block = malloc((2 * width + 2 * query + 2 * kv + 2 * hidden + (size_t)tokens) * sizeof *block);
    assert_non_null(block);
    s->x = block;
    s->y = s->x + width;
    s->q = s->y + width;
    s->heads = s->q + query;
    s->k = s->heads + query;
    s->v = s->k + kv;
    s->gate = s->v + kv;
    s->up = s->gate + hidden;
    s->score = s->up + hidden;
    return block;
}

void reference_logits(const reference_model *m, const int *tokens, int count, double *logits)
{
    space s;
    double *block = make_space(m, count, &s);
    for (int t = 0; t < count; t++)
        for (int i = 0; i < m->width; i++)
            s.x[t * m->width + i] = m->embedding[(size_t)tokens[t] * m->width + i];
    for (int l = 0; l < m->layers; l++) {
        attention_block(m, &m->layer[l], &s, count);
        mlp_block(m, &m->layer[l], &s, count);
    }
    normalise(s.y, s.x, m->final_norm, m->width, count, m->norm_epsilon);
    linear(logits, m->output, s.y, m->vocabulary, m->width, count);
    free(block);
}

double reference_difference(const float *a, const double *b, size_t count)
{
    double difference = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(a[i]))
            return INFINITY;
        difference = fmax(difference, fabs(a[i] - b[i]));
        largest = fmax(largest, fabs(b[i]));
    }
    return largest > 0 ? difference / largest : difference;
}

/* ---- the file ----------------------------------------------------------------------------------- */

static int read_int(const gguf *file, const char *key)
{
    char error[GGUF_ERROR_SIZE];
    int64_t number = 0;
    if (gguf_get_int(file, key, 1, 1 << 20, &number, error))
        fail_msg("%s", error);
    return (int)number;
}

static double read_float(const gguf *file, const char *key)
{
    char error[GGUF_ERROR_SIZE];
    double number = 0;
    if (gguf_get_float(file, key, &number, error))
        fail_msg("%s", error);
    return number;
}

/* Reads a tensor of columns x rows elements. */
static const float *read_weights(reference_model *m, const gguf *file, const char *name, int columns, int rows)
{
    char error[GGUF_ERROR_SIZE];
    const gguf_tensor *tensor = gguf_find_tensor(file, name);
    float *values;
    if (!tensor || tensor->dim[0] != (uint64_t)columns || tensor->elements != (uint64_t)columns * (uint64_t)rows)
        fail_msg("%s: tensor %s is missing or not %d x %d", gguf_name(file), name, rows, columns);
    values = malloc(tensor->elements * sizeof *values);
    assert_non_null(values);
    m->owned[m->owned_count++] = values;
    if (gguf_read_tensor(file, tensor, values, error))
        fail_msg("%s", error);
    return values;
}

static void read_layer(reference_model *m, const gguf *file, int index)
{
    reference_layer *l = &m->layer[index];
    int query = m->heads * m->head_dim, kv = m->kv_heads * m->head_dim;
    const struct {
        const char *name;
        const float **weights;
        int columns, rows;
    } tensors[] = {
        {"attn_norm", &l->attention_norm, m->width, 1},
        {"attn_q", &l->query, m->width, query},
        {"attn_k", &l->key, m->width, kv},
        {"attn_v", &l->value, m->width, kv},
        {"attn_output", &l->attention_out, query, m->width},
        {"ffn_norm", &l->mlp_norm, m->width, 1},
        {"ffn_gate", &l->gate, m->width, m->hidden},
        {"ffn_up", &l->up, m->width, m->hidden},
        {"ffn_down", &l->down, m->hidden, m->width},
    };
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%d.%s.weight", index, tensors[i].name);
        *tensors[i].weights = read_weights(m, file, name, tensors[i].columns, tensors[i].rows);
    }
}

void reference_load(reference_model *m, const gguf *file)
{
    const gguf_tensor *embedding = gguf_find_tensor(file, "token_embd.weight");
    if (!embedding)
        fail_msg("%s: tensor token_embd.weight is missing", gguf_name(file));
    *m = (reference_model){.layers = read_int(file, "llama.block_count"),
                           .width = read_int(file, "llama.embedding_length"),
                           .hidden = read_int(file, "llama.feed_forward_length"),
                           .heads = read_int(file, "llama.attention.head_count"),
                           .kv_heads = read_int(file, "llama.attention.head_count_kv"),
                           .vocabulary = (int)embedding->dim[1],
                           .rope_base = read_float(file, "llama.rope.freq_base"),
                           .norm_epsilon = read_float(file, "llama.attention.layer_norm_rms_epsilon")};
    m->head_dim = m->width / m->heads;
    m->layer = calloc((size_t)m->layers, sizeof *m->layer);
    m->owned = calloc((size_t)m->layers * 9 + 3, sizeof *m->owned);
    assert_true(m->layer && m->owned);
    m->embedding = read_weights(m, file, "token_embd.weight", m->width, m->vocabulary);
    m->final_norm = read_weights(m, file, "output_norm.weight", m->width, 1);
    m->output = m->embedding; /* tied, unless the file has the matrix */
    if (gguf_find_tensor(file, "output.weight"))
        m->output = read_weights(m, file, "output.weight", m->width, m->vocabulary);
    for (int i = 0; i < m->layers; i++)
        read_layer(m, file, i);
}

void reference_free(reference_model *m)
{
    for (int i = 0; i < m->owned_count; i++)
        free(m->owned[i]);
    free(m->owned);
    free(m->layer);
    memset(m, 0, sizeof *m);
}
