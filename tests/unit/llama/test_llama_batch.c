/* Several texts at once: a batch against the one-token model, padding against none, graphs against plain calls. */
#include "examples/llama/generate.h"
#include "tests/support/llama/batch_ways.h"
#include "tests/unit/llama/golden/smollm2.h"
#include "tests/support/llama/real_model.h"
#include "tests/support/support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* max |difference| / max |reference|: the products' shapes differ, and with them their roundings. */
static const double TOLERANCE = 1e-4;

enum { TEXTS = LLAMA_SERVE_TEXTS, CAPACITY = BATCH_CAPACITY };

static char error[GGUF_ERROR_SIZE];
static cudaStream_t stream;

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

/* Under valgrind a step takes a second. */
static bool small_workload(void)
{
    return getenv("BREAKGRAPH_TEST_SMALL") != NULL;
}

static llama_model *make_model(const llama_config *config, uint64_t seed)
{
    llama_weights weights;
    llama_model *model;
    printf("seed %llu\n", (unsigned long long)seed);
    assert_int_equal(llama_weights_random(&weights, config, seed, error), 0);
    EXPECT_OK(llama_create(&model, &weights, CAPACITY, stream));
    llama_weights_free(&weights);
    return model;
}

/* ---- against the one-token model ---------------------------------------------------------------- */

static double largest(const float *x, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs((double)x[i]));
    return most;
}

static void expect_close(const float *found, const float *reference, int n)
{
    double difference = 0, bound = TOLERANCE * largest(reference, n);
    for (int i = 0; i < n; i++) {
        double distance = fabs((double)found[i] - reference[i]);
        difference = isnan(distance) ? INFINITY : fmax(difference, distance);
    }
    if (!(difference <= bound))
        fail_msg("logits differ by %g, and may by %g", difference, bound);
}

/* Whether the two largest logits lie so close that either may win. */
static bool is_tie(const float *logits, int n, int best)
{
    double second = -INFINITY;
    for (int i = 0; i < n; i++)
        if (i != best)
            second = fmax(second, logits[i]);
    return logits[best] - second <= 2 * TOLERANCE * largest(logits, n);
}

/* Returns how many tokens were compared: after a tie that fell otherwise the texts are different ones. */
static int expect_text(const llama_serve_text *text, const llama_result *alone, int prompt_count, int vocabulary)
{
    for (int i = 0; i < text->count; i++) {
        const float *reference = alone->logits + (size_t)(prompt_count - 1 + i) * vocabulary;
        expect_close(text->logits + (size_t)i * vocabulary, reference, vocabulary);
        if (text->tokens[i] == alone->tokens[i])
            continue;
        if (!is_tie(reference, vocabulary, alone->tokens[i]))
            fail_msg("token %d is %d, and alone %d", i, text->tokens[i], alone->tokens[i]);
        return i + 1;
    }
    return text->count;
}

static void run_alone(llama_model *model, const llama_serve_request *r, llama_result *result)
{
    llama_request request = {.mode = LLAMA_EAGER,
                             .prompt = r->prompt,
                             .prompt_count = r->prompt_count,
                             .tokens = r->tokens,
                             .stop = r->stop,
                             .keep_logits = true};
    EXPECT_OK(llama_generate(model, &request, result));
}

static void check_against_single(const llama_config *config, uint64_t seed, int texts)
{
    llama_model *model = make_model(config, seed);
    llama_serve_result result;
    batch_runner runner;
    batch_work w;
    int compared = 0, all = 0;
    make_work(&w, texts, config->vocabulary, 0, small_workload());
    batch_runner_open(&runner, llama_get_weights(model), texts, CAPACITY, WAY_EAGER, false, stream);
    serve_work(&w, llama_buffers_run, &runner.buffers, &result);
    for (int i = 0; i < texts; i++) {
        llama_result alone;
        run_alone(model, &w.request[i], &alone);
        compared += expect_text(&result.text[i], &alone, w.request[i].prompt_count, config->vocabulary);
        all += alone.count;
        llama_result_free(&alone);
    }
    printf("%d texts: %d of %d tokens compared, %d batches\n", texts, compared, all, result.batches);
    assert_true(2 * compared >= all);
    llama_serve_result_free(&result);
    batch_runner_close(&runner);
    llama_destroy(model);
}

#define LLAMA_BATCH_TEST(name) TEST_F(name, set_up, tear_down, void *state)

LLAMA_BATCH_TEST(test_one_text)
{
    check_against_single(&llama_small, 1, 1);
    check_against_single(&odd_shape, 2, 1);
}

LLAMA_BATCH_TEST(test_many_texts)
{
    check_against_single(&llama_small, 1, TEXTS);
    check_against_single(&odd_shape, 2, TEXTS);
    check_against_single(&odd_shape, 3, 3);
}

/* Two texts, cut into two batches, mixed with each other and with padding, the second batch backwards: each row has the
 * logits of its text alone, up to its own place. */
LLAMA_BATCH_TEST(test_rows_in_any_order)
{
    enum { ROWS = 7, PASSES = 2 };
    const int prompt[2][6] = {{9, 2, 44, 9, 13, 70}, {80, 3, 3, 61, 5, 28}};
    const int slot[PASSES][ROWS] = {{0, 2, 0, -1, 2, 0, 2}, {2, 0, -1, 2, 2, 0, 0}};
    const int position[PASSES][ROWS] = {{0, 0, 1, -5, 1, 2, 2}, {5, 5, 64, 4, 3, 4, 3}};
    llama_model *model = make_model(&odd_shape, 4);
    const int vocabulary = odd_shape.vocabulary;
    llama_result alone[2];
    batch_runner runner;
    float *logits = malloc((size_t)ROWS * vocabulary * sizeof *logits);
    assert_non_null(logits);
    for (int i = 0; i < 2; i++)
        run_alone(model, &(llama_serve_request){prompt[i], 6, 1, -1}, &alone[i]);
    batch_runner_open(&runner, llama_get_weights(model), 3, CAPACITY, WAY_EAGER, false, stream);
    for (int pass = 0; pass < PASSES; pass++) {
        int token[ROWS], next[ROWS];
        for (int r = 0; r < ROWS; r++)
            token[r] = slot[pass][r] < 0 ? -1 : prompt[slot[pass][r] / 2][position[pass][r]];
        EXPECT_OK(llama_buffers_run(&runner.buffers, NULL, token, position[pass], slot[pass], ROWS, logits, next));
        for (int r = 0; r < ROWS; r++)
            if (slot[pass][r] >= 0)
                expect_close(logits + (size_t)r * vocabulary,
                             alone[slot[pass][r] / 2].logits + (size_t)position[pass][r] * vocabulary, vocabulary);
    }
    free(logits);
    llama_result_free(&alone[0]);
    llama_result_free(&alone[1]);
    batch_runner_close(&runner);
    llama_destroy(model);
}

/* ---- padding and graphs ------------------------------------------------------------------------- */

static void expect_same(const batch_work *w, const llama_serve_result *a, const llama_serve_result *b)
{
    assert_int_equal(a->batches, b->batches);
    for (int i = 0; i < w->count; i++) {
        const llama_serve_text *x = &a->text[i], *y = &b->text[i];
        assert_int_equal(x->count, y->count);
        assert_memory_equal(x->tokens, y->tokens, (size_t)x->count * sizeof *x->tokens);
        assert_memory_equal(x->logits, y->logits, (size_t)x->count * w->limits.vocabulary * sizeof *x->logits);
    }
}

/* One piece of work after another through both: the same bits come out, and the same lie in the caches. */
static void check_same(llama_model *model, batch_way way, int works)
{
    batch_runner plain, other;
    batch_runner_open(&plain, llama_get_weights(model), TEXTS, CAPACITY, WAY_EAGER, false, stream);
    batch_runner_open(&other, llama_get_weights(model), TEXTS, CAPACITY, way, true, stream);
    for (int i = 0; i < works; i++) {
        llama_serve_result expected, found;
        int captures = other.captures;
        batch_work w;
        make_work(&w, TEXTS, llama_get_config(model)->vocabulary, i, small_workload());
        serve_work(&w, batch_runner_run, &plain, &expected);
        serve_work(&w, batch_runner_run, &other, &found);
        expect_same(&w, &expected, &found);
        expect_same_caches(&plain, &other);
        assert_true(other.captures == captures || i == 0); /* the second work replays what the first captured */
        llama_serve_result_free(&expected);
        llama_serve_result_free(&found);
    }
    printf("%s: %d captures, %d replays, %d rows of padding\n", batch_way_name(way), other.captures, other.replays,
           other.padding);
    assert_true(other.padding > 0);
    assert_true(way == WAY_EAGER || (other.captures > 1 && other.replays > 0));
    batch_runner_close(&plain);
    batch_runner_close(&other);
}

LLAMA_BATCH_TEST(test_padding_changes_nothing)
{
    llama_model *model = make_model(&llama_small, 1), *odd = make_model(&odd_shape, 2);
    check_same(model, WAY_EAGER, 1);
    check_same(odd, WAY_EAGER, 2);
    llama_destroy(model);
    llama_destroy(odd);
}

LLAMA_BATCH_TEST(test_graphs_equal_plain_calls)
{
    llama_model *model = make_model(&odd_shape, 2);
    for (int way = WAY_BREAKABLE; way <= WAY_UNLAUNCHED; way++)
        check_same(model, (batch_way)way, 2);
    llama_destroy(model);
    model = make_model(&llama_small, 1);
    check_same(model, WAY_BREAKABLE, small_workload() ? 1 : 2);
    if (!small_workload())
        check_same(model, WAY_FULL, 2);
    llama_destroy(model);
}

BG_OP(fail_before_the_pass)
{
    (void)args;
    (void)stream;
    return BG_ERROR_OP;
}

static bg_status failing_forward(void *user, cudaStream_t on)
{
    bg_status ignored = BG_CALL(fail_before_the_pass, on);
    (void)ignored; /* it sticks: the pass fails at its first op */
    return llama_batch_run(user, 4, on);
}

/* What a pass took when it failed, it gave back. */
LLAMA_BATCH_TEST(test_works_after_failures)
{
    llama_model *model = make_model(&odd_shape, 2);
    batch_runner runner;
    llama_serve_result result;
    batch_work w;
    make_work(&w, 2, odd_shape.vocabulary, 0, true);
    batch_runner_open(&runner, llama_get_weights(model), 2, CAPACITY, WAY_BREAKABLE, false, stream);
    for (int i = 0; i < 10; i++) {
        bg_graph *graph;
        EXPECT_STATUS(bg_capture_forward(&graph, failing_forward, runner.batch, stream, NULL), BG_ERROR_OP);
        assert_null(graph);
    }
    serve_work(&w, batch_runner_run, &runner, &result);
    llama_serve_result_free(&result);
    batch_runner_close(&runner);
    llama_destroy(model);
}

/* ---- what is refused ---------------------------------------------------------------------------- */

#define EXPECT_INVALID(expression, words)                                                                              \
    do {                                                                                                               \
        EXPECT_STATUS(expression, BG_ERROR_INVALID_ARGUMENT);                                                          \
        EXPECT_ERROR(words);                                                                                           \
    } while (0)

LLAMA_BATCH_TEST(test_refuses_batches)
{
    llama_model *model = make_model(&odd_shape, 2);
    const llama_device_weights *weights = llama_get_weights(model);
    llama_batch *batch, *none;
    llama_buffers buffers;
    llama_batch_io io;
    EXPECT_INVALID(llama_batch_create(&none, weights, 0, 1, 1, NULL, stream), "out of range");
    EXPECT_INVALID(llama_batch_create(&none, weights, 1, 0, 1, NULL, stream), "out of range");
    EXPECT_INVALID(llama_batch_create(&none, weights, 1, 1, 65536, NULL, stream), "out of range");
    assert_null(none);
    EXPECT_OK(llama_batch_create(&batch, weights, 1, 8, 4, NULL, stream));
    EXPECT_INVALID(llama_batch_run(batch, 1, stream), "no static buffers");
    EXPECT_OK(llama_buffers_create(&buffers, batch, stream));
    EXPECT_INVALID(llama_batch_run(batch, 0, stream), "rows is less than 1");
    EXPECT_INVALID(llama_batch_run(batch, 5, stream), "more than the batch was made for");
    io = buffers.io;
    io.slot.dtype = BG_F32;
    EXPECT_INVALID(llama_batch_set_io(batch, &io), "not i32");
    io = buffers.io;
    io.logits.dim[1]--;
    EXPECT_INVALID(llama_batch_set_io(batch, &io), "rows x vocabulary");
    io = buffers.io;
    io.next.dim[0] = 2;
    EXPECT_OK(llama_batch_set_io(batch, &io));
    EXPECT_OK(llama_batch_run(batch, 2, stream));
    EXPECT_INVALID(llama_batch_run(batch, 3, stream), "fewer rows");
    llama_buffers_free(&buffers);
    llama_batch_destroy(batch);
    llama_destroy(model);
}

/* ---- the real file ------------------------------------------------------------------------------ */

static llama_model *load_real_model(const char *path)
{
    llama_weights weights;
    llama_model *model;
    gguf *file;
    if (gguf_open(&file, path, error) || llama_weights_read(&weights, file, error))
        fail_msg("%s", error);
    gguf_close(file);
    EXPECT_OK(llama_create(&model, &weights, CAPACITY, stream));
    llama_weights_free(&weights);
    return model;
}

/* All prompts of the goldens at once, through segments: llama.cpp's tokens. */
LLAMA_BATCH_TEST(test_real_file)
{
    const char *path = find_real_model();
    llama_serve_request requests[GOLDEN_PROMPTS];
    llama_serve_limits limits = {.capacity = CAPACITY, .max_tokens = BATCH_MAX_ROWS};
    llama_serve_result result;
    llama_model *model;
    batch_runner runner;
    if (path && small_workload())
        printf("skipped: BREAKGRAPH_TEST_SMALL is set, and the real model is large\n");
    if (!path || small_workload())
        skip();
    model = load_real_model(path);
    limits.vocabulary = llama_get_config(model)->vocabulary;
    for (int i = 0; i < GOLDEN_PROMPTS; i++)
        requests[i] = (llama_serve_request){goldens[i].prompt_tokens, goldens[i].prompt_length, GOLDEN_TOKENS, -1};
    batch_runner_open(&runner, llama_get_weights(model), GOLDEN_PROMPTS, CAPACITY, WAY_BREAKABLE, true, stream);
    EXPECT_OK(llama_serve(requests, GOLDEN_PROMPTS, &limits, batch_runner_run, &runner, &result));
    for (int i = 0; i < GOLDEN_PROMPTS; i++)
        assert_memory_equal(result.text[i].tokens, goldens[i].tokens, sizeof goldens[i].tokens);
    llama_serve_result_free(&result);
    batch_runner_close(&runner);
    llama_destroy(model);
}
