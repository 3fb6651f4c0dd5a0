/* Weights from a file made here: the right tensor in each place, and every file refused that the decoder would run
 * wrongly. */
#include "examples/llama/weights/weights.h"
#include "tests/support/llama/gguf_writer.h"
#include "tests/support/llama/llama_support.h"
#include "tests/support/llama/reference_llama.h"
#include <stdio.h>
#include <string.h>
enum { LAYERS = 2, WIDTH = 16, HIDDEN = 12, HEADS = 4, KV_HEADS = 2, HEAD_DIM = 4, VOCABULARY = 9, ALIGNMENT = 32 };

static char error[GGUF_ERROR_SIZE];

/* What is wrong with a file, if anything. */
typedef struct flaw {
    const char *architecture;           /* "llama" */
    const char *missing, *narrow;       /* a tensor that is not there; one that is a column too narrow */
    const char *extra_key, *extra_text; /* one more key, a number or a text */
    int heads, kv_heads, rotated;
    bool tied;
} flaw;

#define HEAD(architecture_, heads_, kv_heads_, rotated_)                                                               \
    .architecture = architecture_, .heads = heads_, .kv_heads = kv_heads_, .rotated = rotated_
/* No flaw but what is named. */
#define FLAW(...) ((flaw){HEAD("llama", HEADS, KV_HEADS, HEAD_DIM), __VA_ARGS__})

typedef struct shape {
    char name[64];
    uint64_t columns, rows; /* rows 0: a vector */
} shape;

static const struct {
    const char *name;
    int columns, rows;
} per_layer[] = {{"attn_norm", WIDTH, 0},
                 {"attn_q", WIDTH, HEADS *HEAD_DIM},
                 {"attn_k", WIDTH, KV_HEADS *HEAD_DIM},
                 {"attn_v", WIDTH, KV_HEADS *HEAD_DIM},
                 {"attn_output", HEADS *HEAD_DIM, WIDTH},
                 {"ffn_norm", WIDTH, 0},
                 {"ffn_gate", WIDTH, HIDDEN},
                 {"ffn_up", WIDTH, HIDDEN},
                 {"ffn_down", HIDDEN, WIDTH}};
enum { PER_LAYER = sizeof per_layer / sizeof per_layer[0], MOST = LAYERS * PER_LAYER + 3 };

static void add_shape(shape *shapes, int *count, const flaw *f, const char *name, int columns, int rows)
{
    shape *s = &shapes[*count];
    if (f->missing && strcmp(name, f->missing) == 0)
        return;
    snprintf(s->name, sizeof s->name, "%s", name);
    s->columns = (uint64_t)columns - (f->narrow && strcmp(name, f->narrow) == 0 ? 1 : 0);
    s->rows = (uint64_t)rows;
    ++*count;
}

static int list_shapes(shape shapes[MOST], const flaw *f)
{
    int count = 0;
    add_shape(shapes, &count, f, "token_embd.weight", WIDTH, VOCABULARY);
    add_shape(shapes, &count, f, "output_norm.weight", WIDTH, 0);
    if (!f->tied)
        add_shape(shapes, &count, f, "output.weight", WIDTH, VOCABULARY);
    for (int layer = 0; layer < LAYERS; layer++)
        for (int i = 0; i < PER_LAYER; i++) {
            char name[64];
            snprintf(name, sizeof name, "blk.%d.%s.weight", layer, per_layer[i].name);
            add_shape(shapes, &count, f, name, per_layer[i].columns, per_layer[i].rows);
        }
    return count;
}

static void write_float(gguf_writer *w, const char *key, float value)
{
    write_key(w, key, 6);
    write_bytes(w, &value, sizeof value);
}

static void write_keys(gguf_writer *w, const flaw *f, int tensors)
{
    write_header(w, 3, (uint64_t)tensors, f->extra_key ? 11 : 10);
    write_key_string(w, "general.architecture", f->architecture);
    write_key_u32(w, "llama.block_count", LAYERS);
    write_key_u32(w, "llama.context_length", 128);
    write_key_u32(w, "llama.embedding_length", WIDTH);
    write_key_u32(w, "llama.feed_forward_length", HIDDEN);
    write_key_u32(w, "llama.attention.head_count", (uint32_t)f->heads);
    write_key_u32(w, "llama.attention.head_count_kv", (uint32_t)f->kv_heads);
    write_key_u32(w, "llama.rope.dimension_count", (uint32_t)f->rotated);
    write_float(w, "llama.rope.freq_base", 5000.0f);
    write_float(w, "llama.attention.layer_norm_rms_epsilon", 0.5f);
    if (f->extra_key && f->extra_text)
        write_key_string(w, f->extra_key, f->extra_text);
    else if (f->extra_key)
        write_key_u32(w, f->extra_key, 8);
}

static uint64_t element_count(const shape *s)
{
    return s->columns * (s->rows ? s->rows : 1);
}

static void write_model(gguf_writer *w, const flaw *f)
{
    shape shapes[MOST];
    int count = list_shapes(shapes, f);
    uint64_t offset = 0;
    float value = 0.5f;
    write_keys(w, f, count);
    for (int i = 0; i < count; i++) {
        write_tensor(w, shapes[i].name, shapes[i].columns, shapes[i].rows, 0, offset);
        offset += (element_count(&shapes[i]) * 4 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    for (int i = 0; i < count; i++) {
        write_padding(w, ALIGNMENT);
        for (uint64_t j = 0; j < element_count(&shapes[i]); j++, value += 1) /* every element another number */
            write_bytes(w, &value, sizeof value);
    }
}

static gguf *open_model(gguf_writer *w, const flaw *f)
{
    gguf *file;
    write_model(w, f);
    if (gguf_open_memory(&file, w->bytes, w->size, "test.gguf", error))
        fail_msg("%s", error);
    return file;
}

static void expect_same(const float *a, const float *b, int columns, int rows)
{
    assert_memory_equal(a, b, (size_t)columns * (size_t)(rows ? rows : 1) * sizeof(float));
}

static void expect_reference_weights(const llama_weights *w, const reference_model *m)
{
    expect_same(w->embedding, m->embedding, WIDTH, VOCABULARY);
    expect_same(w->final_norm, m->final_norm, WIDTH, 0);
    expect_same(w->output, m->output, WIDTH, VOCABULARY);
    for (int i = 0; i < LAYERS; i++) {
        const llama_layer_weights *l = &w->layer[i];
        const reference_layer *r = &m->layer[i];
        const float *ours[] = {l->attention_norm, l->query, l->key, l->value, l->attention_out,
                               l->mlp_norm,       l->gate,  l->up,  l->down};
        const float *theirs[] = {r->attention_norm, r->query, r->key, r->value, r->attention_out,
                                 r->mlp_norm,       r->gate,  r->up,  r->down};
        for (int j = 0; j < PER_LAYER; j++)
            expect_same(ours[j], theirs[j], per_layer[j].columns, per_layer[j].rows);
    }
}

static void check_reads(flaw f)
{
    FREED_BY(free_writer) gguf_writer w = {0};
    FREED_BY(close_file) gguf *file = open_model(&w, &f);
    FREED_BY(llama_weights_free) llama_weights weights;
    FREED_BY(reference_free) reference_model reference;
    if (llama_weights_read(&weights, file, error))
        fail_msg("%s", error);
    reference_load(&reference, file);
    assert_int_equal(weights.config.layers, LAYERS);
    assert_int_equal(weights.config.head_dim, HEAD_DIM);
    assert_int_equal(weights.config.vocabulary, VOCABULARY);
    assert_int_equal(weights.config.context, 128);
    assert_true(weights.config.rope_base == 5000.0f && weights.config.norm_epsilon == 0.5f);
    assert_int_equal(weights.output == weights.embedding, f.tied);
    expect_reference_weights(&weights, &reference);
}

TEST(test_reads_every_tensor)
{
    check_reads(FLAW(.tied = false));
    check_reads(FLAW(.tied = true));
}

static void expect_refused(flaw f, const char *words)
{
    FREED_BY(free_writer) gguf_writer w = {0};
    FREED_BY(close_file) gguf *file = open_model(&w, &f);
    llama_weights weights;
    assert_int_equal(llama_weights_read(&weights, file, error), -1);
    EXPECT_SAYS(error, words);
}

TEST(test_missing_and_misshapen_tensors)
{
    expect_refused(FLAW(.missing = "blk.1.ffn_up.weight"), "tensor blk.1.ffn_up.weight is missing");
    expect_refused(FLAW(.missing = "output_norm.weight"), "tensor output_norm.weight is missing");
    expect_refused(FLAW(.missing = "token_embd.weight"), "tensor token_embd.weight is missing");
    expect_refused(FLAW(.narrow = "blk.0.attn_k.weight"),
                   "tensor blk.0.attn_k.weight is 8 x 15, but the file's keys make it 8 x 16");
    expect_refused(FLAW(.narrow = "blk.0.attn_norm.weight"), "tensor blk.0.attn_norm.weight is 1 x 15");
}

TEST(test_models_that_the_decoder_cannot_run)
{
    expect_refused((flaw){HEAD("gemma", HEADS, KV_HEADS, HEAD_DIM)}, "general.architecture is not \"llama\"");
    expect_refused((flaw){HEAD("llama", HEADS, 3, HEAD_DIM)}, "is not a multiple of llama.attention.head_count_kv");
    expect_refused((flaw){HEAD("llama", HEADS, KV_HEADS, 2)}, "llama.rope.dimension_count differs");
    expect_refused((flaw){HEAD("llama", 8, KV_HEADS, HEAD_DIM)}, "the size of a head is not a multiple of 4");
    expect_refused((flaw){HEAD("llama", 0, KV_HEADS, HEAD_DIM)}, "the key llama.attention.head_count is out of range");
    expect_refused(FLAW(.extra_key = "llama.expert_count"), "mixture of experts");
    expect_refused(FLAW(.extra_key = "llama.rope.scaling.type", .extra_text = "yarn"), "scales its rotary positions");
    expect_refused(FLAW(.extra_key = "llama.attention.key_length"), "llama.rope.dimension_count differs");
}

TEST(test_random_weights_follow_the_seed)
{
    FREED_BY(llama_weights_free)
    llama_weights a = random_weights(&llama_small, 5), b = random_weights(&llama_small, 5),
                  c = random_weights(&llama_small, 6);
    size_t bytes = (size_t)llama_small.width * (size_t)llama_small.vocabulary * sizeof(float);
    assert_memory_equal(a.embedding, b.embedding, bytes);
    assert_memory_equal(a.output, b.output, bytes);
    assert_memory_not_equal(a.embedding, c.embedding, bytes);
}
