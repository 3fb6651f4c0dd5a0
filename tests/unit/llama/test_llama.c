/* The model's logits against plain C in double precision, in every way of running it; and the real file's tokens
 * against llama.cpp's. The goldens were made by golden/make_golden.py, which says how. */
#include "tests/support/test.h"
#include "examples/llama/generate.h"
#include "examples/llama/text/tokenizer.h"
#include "tests/unit/llama/golden/smollm2.h"
#include "tests/support/llama/real_model.h"
#include "tests/support/llama/reference_llama.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* max |difference| / max |reference|. fp32 has 6e-8; the issue that asked for the example allows 1e-3. */
static const double SMALL_TOLERANCE = 1e-4, REAL_TOLERANCE = 1e-3;

static char error[GGUF_ERROR_SIZE];
static cudaStream_t stream;

static void ok(bg_status status)
{
    if (status != BG_OK)
        fail_msg("%s: %s", bg_status_name(status), bg_last_error());
}

static int set_up(void **state)
{
    (void)state;
    return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return cudaStreamDestroy(stream) == cudaSuccess ? 0 : -1;
}

/* Under valgrind a step takes a second. */
static bool small_workload(void)
{
    return getenv("BREAKGRAPH_TEST_SMALL") != NULL;
}

/* The ways to run a model. */
static const struct way {
    const char *name;
    llama_mode mode;
    bg_debug debug;
} ways[] = {{"eager", LLAMA_EAGER, BG_DEBUG_OFF},
            {"full", LLAMA_FULL, BG_DEBUG_OFF},
            {"breakable", LLAMA_BREAKABLE, BG_DEBUG_OFF},
            {"debug", LLAMA_BREAKABLE, BG_DEBUG_FORWARD},
            {"every op eager", LLAMA_BREAKABLE, BG_DEBUG_OPS}};
enum { WAYS = sizeof ways / sizeof ways[0], EAGER = 0, FULL, BREAKABLE, DEBUG, OPS };

static void generate(llama_model *model, const struct way *w, const int *prompt, int prompt_count, int tokens,
                     bool keep_logits, llama_result *result)
{
    llama_request request = {.mode = w->mode,
                             .debug = w->debug,
                             .prompt = prompt,
                             .prompt_count = prompt_count,
                             .tokens = tokens,
                             .stop = -1,
                             .keep_logits = keep_logits};
    ok(llama_generate(model, &request, result));
    assert_int_equal(result->count, tokens);
    assert_int_equal(result->steps, prompt_count + tokens - 1);
}

/* ---- small models ------------------------------------------------------------------------------- */

static const llama_config odd_shape = {.layers = 2,
                                       .width = 90,
                                       .hidden = 77,
                                       .heads = 6,
                                       .kv_heads = 2,
                                       .head_dim = 20,
                                       .vocabulary = 101,
                                       .context = 100,
                                       .rope_base = 500.0f,
                                       .norm_epsilon = 1e-4f};

/* The same weights, seen by the reference. */
static void make_reference(reference_model *m, const llama_weights *w)
{
    const llama_config *c = &w->config;
    *m = (reference_model){.layers = c->layers,
                           .width = c->width,
                           .hidden = c->hidden,
                           .heads = c->heads,
                           .kv_heads = c->kv_heads,
                           .head_dim = c->head_dim,
                           .vocabulary = c->vocabulary,
                           .rope_base = c->rope_base,
                           .norm_epsilon = c->norm_epsilon,
                           .embedding = w->embedding,
                           .final_norm = w->final_norm,
                           .output = w->output};
    m->layer = calloc((size_t)c->layers, sizeof *m->layer);
    assert_non_null(m->layer);
    for (int i = 0; i < c->layers; i++) {
        const llama_layer_weights *l = &w->layer[i];
        m->layer[i] = (reference_layer){l->attention_norm, l->query, l->key, l->value, l->attention_out,
                                        l->mlp_norm,       l->gate,  l->up,  l->down};
    }
}

/* The tokens that the steps of a result took in: the prompt's, then its own. */
static int *tokens_taken(const int *prompt, int prompt_count, const llama_result *r)
{
    int *taken = malloc((size_t)r->steps * sizeof *taken);
    assert_non_null(taken);
    for (int i = 0; i < r->steps; i++)
        taken[i] = i < prompt_count ? prompt[i] : r->tokens[i - prompt_count];
    return taken;
}

/* Each generated token has the largest logit of its step. */
static void expect_greedy(const llama_result *r, int prompt_count, int vocabulary)
{
    for (int i = 0; i < r->count; i++) {
        const float *logits = r->logits + (size_t)(prompt_count - 1 + i) * vocabulary;
        for (int j = 0; j < vocabulary; j++)
            assert_true(logits[j] <= logits[r->tokens[i]]);
    }
}

static void expect_logits(const reference_model *m, const char *name, const int *prompt, int prompt_count,
                          const llama_result *r, double tolerance)
{
    size_t count = (size_t)r->steps * m->vocabulary;
    double *logits = malloc(count * sizeof *logits), difference;
    int *taken = tokens_taken(prompt, prompt_count, r);
    assert_non_null(logits);
    assert_int_equal(reference_logits(m, taken, r->steps, logits), 0);
    difference = reference_difference(r->logits, logits, count);
    printf("%s: max |difference| / max |reference| = %.2g over %d steps\n", name, difference, r->steps);
    assert_true(difference <= tolerance);
    free(taken);
    free(logits);
}

static void check_small(const llama_config *config, uint64_t seed)
{
    const int prompt[] = {5, 17, 99, 0, 17};
    const int prompt_count = 5;
    llama_weights weights;
    llama_model *model;
    reference_model reference;
    printf("seed %llu\n", (unsigned long long)seed);
    assert_int_equal(llama_weights_random(&weights, config, seed, error), 0);
    make_reference(&reference, &weights);
    ok(llama_create(&model, &weights, config->context, stream));
    for (int i = 0; i < WAYS; i++) {
        llama_result result;
        generate(model, &ways[i], prompt, prompt_count, small_workload() ? 8 : 70, true, &result);
        expect_greedy(&result, prompt_count, config->vocabulary);
        expect_logits(&reference, ways[i].name, prompt, prompt_count, &result, SMALL_TOLERANCE);
        llama_result_free(&result);
    }
    llama_destroy(model);
    llama_weights_free(&weights);
    free(reference.layer);
}

#define LLAMA_TEST(name) TEST_F(name, set_up, tear_down, void *state)

LLAMA_TEST(test_logits_of_small_models)
{
    check_small(&llama_small, 1);
    check_small(&odd_shape, 2);
    check_small(&odd_shape, 3);
}

static llama_model *make_small(uint64_t seed)
{
    llama_weights weights;
    llama_model *model;
    assert_int_equal(llama_weights_random(&weights, &llama_small, seed, error), 0);
    ok(llama_create(&model, &weights, 64, stream));
    llama_weights_free(&weights);
    return model;
}

static void expect_counts(llama_model *model, int way, int segments, int breaks)
{
    const int prompt[] = {1, 2};
    llama_result result;
    generate(model, &ways[way], prompt, 2, 3, false, &result);
    assert_true(result.captured);
    assert_int_equal(result.graph.segments, segments);
    assert_int_equal(result.graph.breaks, breaks);
    assert_int_equal(result.graph.steps, segments + breaks);
    assert_null(result.logits);
    llama_result_free(&result);
}

LLAMA_TEST(test_counts)
{
    llama_model *model = make_small(1);
    const int layers = llama_small.layers;
    expect_counts(model, FULL, 1, 0);
    expect_counts(model, BREAKABLE, layers + 1, layers + 1);
    expect_counts(model, DEBUG, 0, 1);
    expect_counts(model, OPS, 0, layers * 16 + 5);
    llama_destroy(model);
}

LLAMA_TEST(test_launches_per_step)
{
    llama_model *model = make_small(1);
    const int prompt[] = {1, 2};
    /* a layer: 2 norms, 7 products, 2 turns, 2 stores, attention, gate, 2 sums; beside: embedding, norm, product,
     * advance, sample */
    const double launches = llama_small.layers * 17 + 5,
                 expected[WAYS] = {launches, 1, 2 * (llama_small.layers + 1), launches, launches};
    for (int i = 0; i < WAYS; i++) {
        llama_result result;
        generate(model, &ways[i], prompt, 2, 3, false, &result);
        if (result.launches_per_step != expected[i])
            fail_msg("%s: %g launches, expected %g", ways[i].name, result.launches_per_step, expected[i]);
        llama_result_free(&result);
    }
    llama_destroy(model);
}

LLAMA_TEST(test_a_second_text_starts_anew)
{
    llama_model *model = make_small(4);
    const int first[] = {1, 2, 3}, other[] = {9, 8, 7, 6, 5};
    llama_result a, b, between;
    generate(model, &ways[BREAKABLE], first, 3, 20, true, &a);
    generate(model, &ways[FULL], other, 5, 30, true, &between);
    generate(model, &ways[BREAKABLE], first, 3, 20, true, &b);
    assert_memory_equal(a.tokens, b.tokens, 20 * sizeof(int));
    assert_memory_equal(a.logits, b.logits, (size_t)a.steps * llama_small.vocabulary * sizeof(float));
    llama_result_free(&a);
    llama_result_free(&b);
    llama_result_free(&between);
    llama_destroy(model);
}

/* The planted mistake: right where everything runs eagerly, wrong in a graph. */
LLAMA_TEST(test_frozen_scalar)
{
    const bool wrong[WAYS] = {false, true, true, false, true};
    llama_model *right_model = make_small(1), *model = make_small(1);
    const int prompt[] = {1, 2, 3, 4};
    llama_result right;
    llama_plant_frozen_scalar(model);
    generate(right_model, &ways[EAGER], prompt, 4, 16, false, &right);
    for (int i = 0; i < WAYS; i++) {
        llama_result result;
        generate(model, &ways[i], prompt, 4, 16, false, &result);
        assert_int_equal(memcmp(result.tokens, right.tokens, 16 * sizeof(int)) != 0, wrong[i]);
        llama_result_free(&result);
    }
    llama_result_free(&right);
    llama_destroy(right_model);
    llama_destroy(model);
}

static int stop_after;

static void count_down(void *user, int token)
{
    (void)token;
    ++*(int *)user;
}

LLAMA_TEST(test_stops_at_a_token)
{
    llama_model *model = make_small(1);
    const int prompt[] = {1, 2, 3, 4};
    llama_request request = {.mode = LLAMA_BREAKABLE,
                             .debug = BG_DEBUG_OFF,
                             .prompt = prompt,
                             .prompt_count = 4,
                             .tokens = 20,
                             .stop = -1,
                             .each = count_down,
                             .user = &stop_after};
    llama_result all, stopped;
    int first = 0;
    ok(llama_generate(model, &request, &all));
    assert_int_equal(stop_after, 20);
    request.stop = all.tokens[6];
    while (all.tokens[first] != request.stop)
        first++;
    ok(llama_generate(model, &request, &stopped));
    assert_int_equal(stopped.count, first + 1);
    assert_int_equal(stop_after, 20 + first + 1);
    llama_result_free(&all);
    llama_result_free(&stopped);
    llama_destroy(model);
}

static void expect_invalid(llama_model *model, const int *prompt, int prompt_count, int tokens, const char *words)
{
    llama_request request = {
        .mode = LLAMA_EAGER, .prompt = prompt, .prompt_count = prompt_count, .tokens = tokens, .stop = -1};
    llama_result result;
    assert_int_equal(llama_generate(model, &request, &result), BG_ERROR_INVALID_ARGUMENT);
    if (!strstr(bg_last_error(), words))
        print_error("expected \"%s\" in \"%s\"\n", words, bg_last_error());
    assert_non_null(strstr(bg_last_error(), words));
    llama_result_free(&result);
}

LLAMA_TEST(test_invalid_requests)
{
    llama_model *model = make_small(1); /* with a context of 64 */
    const int prompt[65] = {0}, outside[2] = {1, 512}, negative[1] = {-1};
    llama_result result;
    expect_invalid(model, prompt, 0, 1, "the prompt has no token");
    expect_invalid(model, prompt, 1, 0, "tokens is less than 1");
    expect_invalid(model, prompt, 65, 1, "longer than the context");
    expect_invalid(model, prompt, 60, 6, "longer than the context");
    expect_invalid(model, prompt, 1, 2147483647, "longer than the context");
    expect_invalid(model, outside, 2, 1, "outside the vocabulary");
    expect_invalid(model, negative, 1, 1, "outside the vocabulary");
    generate(model, &ways[BREAKABLE], prompt, 60, 5, false, &result); /* fits exactly */
    llama_result_free(&result);
    llama_destroy(model);
}

/* ---- the real file ------------------------------------------------------------------------------ */

/* One file for both: reading it takes a while. */
LLAMA_TEST(test_real_file)
{
    const struct golden *g = &goldens[0];
    const char *path = find_real_model();
    gguf *file;
    reference_model reference;
    llama_weights weights;
    llama_model *model;
    llama_result result;
    if (path && small_workload())
        printf("skipped: BREAKGRAPH_TEST_SMALL is set, and the real model is large\n");
    if (!path || small_workload())
        skip();
    if (gguf_open(&file, path, error) || llama_weights_read(&weights, file, error))
        fail_msg("%s", error);
    ok(llama_create(&model, &weights, 64, stream));
    llama_weights_free(&weights);
    if (reference_load(&reference, file, error))
        fail_msg("%s", error);
    generate(model, &ways[BREAKABLE], g->prompt_tokens, g->prompt_length, 5, true, &result);
    expect_greedy(&result, g->prompt_length, llama_get_config(model)->vocabulary);
    expect_logits(&reference, "breakable", g->prompt_tokens, g->prompt_length, &result, REAL_TOLERANCE);
    llama_result_free(&result);
    reference_free(&reference);
    gguf_close(file);
    for (int i = 0; i < GOLDEN_PROMPTS; i++)
        for (int way = EAGER; way <= BREAKABLE; way += BREAKABLE - EAGER) {
            generate(model, &ways[way], goldens[i].prompt_tokens, goldens[i].prompt_length, GOLDEN_TOKENS, false,
                     &result);
            printf("\"%.16s...\", %s: %.1f tokens/s\n", goldens[i].prompt, ways[way].name,
                   llama_tokens_per_second(&result));
            assert_memory_equal(result.tokens, goldens[i].tokens, sizeof goldens[i].tokens);
            llama_result_free(&result);
        }
    llama_destroy(model);
}
