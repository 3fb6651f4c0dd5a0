/* Several texts at once: a batch against the one-token model, padding against none, graphs against plain calls. */
#include "tests/support/llama/batch_ways.h"
#include "tests/unit/llama/golden/smollm2.h"
#include "tests/support/support.h"
#include <stdio.h>

/* max |difference| / max |reference|: the products' shapes differ, and with them their roundings. */
static const double TOLERANCE = 1e-4;

enum { TEXTS = LLAMA_SERVE_MAX_TEXTS };

static const llama_config odd_shape = ODD_SHAPE(.width = 90, .heads = 6, .kv_heads = 2);

static llama_model *make_model(const llama_config *config, uint64_t seed, cudaStream_t stream)
{
    printf("seed %llu\n", (unsigned long long)seed);
    return random_model(config, seed, BATCH_CAPACITY, stream);
}

/* ---- against the one-token model ---------------------------------------------------------------- */

static void expect_close(const float *found, const float *reference, int n)
{
    double apart = relative_difference(found, reference, (size_t)n);
    if (!(apart <= TOLERANCE))
        fail_msg("logits differ by %g of the largest, and may by %g", apart, TOLERANCE);
}

/* Returns how many tokens were compared: after a tie that fell otherwise the texts are different ones. */
static int expect_text(const llama_serve_text *text, const llama_result *alone, int prompt_count, int vocabulary)
{
    for (int i = 0; i < text->count; i++) {
        const float *reference = alone->logits + (size_t)(prompt_count - 1 + i) * vocabulary;
        expect_close(text->logits + (size_t)i * vocabulary, reference, vocabulary);
        if (text->tokens[i] == alone->tokens[i])
            continue;
        if (margin(reference, vocabulary) > 2 * TOLERANCE * largest(reference, (size_t)vocabulary))
            fail_msg("token %d is %d, and alone %d", i, text->tokens[i], alone->tokens[i]);
        return i + 1;
    }
    return text->count;
}

static llama_result run_alone(llama_model *model, const llama_serve_request *r)
{
    llama_request request = REQUEST(r->prompt, r->prompt_count, r->tokens, .mode = LLAMA_EAGER, .keep_logits = true);
    llama_result result;
    EXPECT_OK(llama_generate(model, &request, &result));
    return result;
}

static void check_against_single(const llama_config *config, uint64_t seed, int texts, cudaStream_t stream)
{
    FREED_BY(free_model) llama_model *model = make_model(config, seed, stream);
    FREED_BY(batch_runner_close) batch_runner runner;
    batch_work w;
    int compared = 0, all = 0;
    make_work(&w, texts, config->vocabulary, 0, small_workload());
    batch_runner_open(&runner, model, texts, WAY_EAGER, false);
    FREED_BY(llama_serve_result_free)
    llama_serve_result result = serve_work(&w, llama_buffers_run, &runner.buffers);
    for (int i = 0; i < texts; i++) {
        FREED_BY(llama_result_free) llama_result alone = run_alone(model, &w.request[i]);
        compared += expect_text(&result.text[i], &alone, w.request[i].prompt_count, config->vocabulary);
        all += alone.count;
    }
    printf("%d texts: %d of %d tokens compared, %d batches\n", texts, compared, all, result.batches);
    assert_true(2 * compared >= all);
}

FIXTURE_TEST(test_one_text)
{
    check_against_single(&llama_small, 1, 1, f->stream);
    check_against_single(&odd_shape, 2, 1, f->stream);
}

FIXTURE_TEST(test_many_texts)
{
    check_against_single(&llama_small, 1, TEXTS, f->stream);
    check_against_single(&odd_shape, 2, TEXTS, f->stream);
    check_against_single(&odd_shape, 3, 3, f->stream);
}

/* Two texts, cut into two batches, mixed with each other and with padding, the second batch backwards: each row has the
 * logits of its text alone, up to its own place. */
FIXTURE_TEST(test_rows_in_any_order)
{
    enum { ROWS = 7, PASSES = 2 };
    const int prompt[2][6] = {{9, 2, 44, 9, 13, 70}, {80, 3, 3, 61, 5, 28}};
    const int slot[PASSES][ROWS] = {{0, 2, 0, -1, 2, 0, 2}, {2, 0, -1, 2, 2, 0, 0}};
    const int position[PASSES][ROWS] = {{0, 0, 1, -5, 1, 2, 2}, {5, 5, 64, 4, 3, 4, 3}};
    FREED_BY(free_model) llama_model *model = make_model(&odd_shape, 4, f->stream);
    FREED_BY(batch_runner_close) batch_runner runner;
    FREED_BY(llama_result_free)
    llama_result first = run_alone(model, &(llama_serve_request){prompt[0], 6, 1, -1}),
                 third = run_alone(model, &(llama_serve_request){prompt[1], 6, 1, -1});
    const float *alone[] = {first.logits, NULL, third.logits}; /* by slot */
    float logits[ROWS * ODD_VOCABULARY];
    batch_runner_open(&runner, model, 3, WAY_EAGER, false);
    for (int pass = 0; pass < PASSES; pass++) {
        int token[ROWS], next[ROWS];
        for (int r = 0; r < ROWS; r++)
            token[r] = slot[pass][r] < 0 ? -1 : prompt[slot[pass][r] / 2][position[pass][r]];
        EXPECT_OK(llama_buffers_run(&runner.buffers, NULL, token, position[pass], slot[pass], ROWS, logits, next));
        for (int r = 0; r < ROWS; r++)
            if (slot[pass][r] >= 0)
                expect_close(logits + (size_t)r * ODD_VOCABULARY,
                             alone[slot[pass][r]] + (size_t)position[pass][r] * ODD_VOCABULARY, ODD_VOCABULARY);
    }
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
    FREED_BY(batch_runner_close) batch_runner plain, other;
    batch_runner_open(&plain, model, TEXTS, WAY_EAGER, false);
    batch_runner_open(&other, model, TEXTS, way, true);
    for (int i = 0; i < works; i++) {
        int captures = other.captures;
        batch_work w;
        make_work(&w, TEXTS, llama_get_config(model)->vocabulary, i, small_workload());
        FREED_BY(llama_serve_result_free)
        llama_serve_result expected = serve_work(&w, batch_runner_run, &plain),
                           found = serve_work(&w, batch_runner_run, &other);
        expect_same(&w, &expected, &found);
        expect_same_caches(&plain, &other);
        assert_true(other.captures == captures || i == 0); /* the second work replays what the first captured */
    }
    printf("%s: %d captures, %d replays, %d rows of padding\n", batch_way_name(way), other.captures, other.replays,
           other.padding);
    assert_true(other.padding > 0);
    assert_true(way == WAY_EAGER || (other.captures > 1 && other.replays > 0));
}

FIXTURE_TEST(test_padding_changes_nothing)
{
    FREED_BY(free_model)
    llama_model *small = make_model(&llama_small, 1, f->stream), *odd = make_model(&odd_shape, 2, f->stream);
    check_same(small, WAY_EAGER, 1);
    check_same(odd, WAY_EAGER, 2);
}

FIXTURE_TEST(test_graphs_equal_plain_calls)
{
    FREED_BY(free_model)
    llama_model *odd = make_model(&odd_shape, 2, f->stream), *small = make_model(&llama_small, 1, f->stream);
    for (int way = WAY_BREAKABLE; way <= WAY_UNLAUNCHED; way++)
        check_same(odd, (batch_way)way, 2);
    check_same(small, WAY_BREAKABLE, small_workload() ? 1 : 2);
    if (!small_workload())
        check_same(small, WAY_FULL, 2);
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
FIXTURE_TEST(test_works_after_failures)
{
    FREED_BY(free_model) llama_model *model = make_model(&odd_shape, 2, f->stream);
    FREED_BY(batch_runner_close) batch_runner runner;
    batch_work w;
    make_work(&w, 2, odd_shape.vocabulary, 0, true);
    batch_runner_open(&runner, model, 2, WAY_BREAKABLE, false);
    for (int i = 0; i < 10; i++) {
        bg_graph *graph;
        EXPECT_STATUS(bg_capture_forward(&graph, failing_forward, runner.batch, f->stream, NULL), BG_ERROR_OP);
        assert_null(graph);
    }
    FREED_BY(llama_serve_result_free) llama_serve_result result = serve_work(&w, batch_runner_run, &runner);
}

/* ---- what is refused ---------------------------------------------------------------------------- */

#define EXPECT_INVALID(expression, words)                                                                              \
    do {                                                                                                               \
        EXPECT_STATUS(expression, BG_ERROR_INVALID_ARGUMENT);                                                          \
        EXPECT_ERROR(words);                                                                                           \
    } while (0)

FIXTURE_TEST(test_refuses_batches)
{
    FREED_BY(free_model) llama_model *model = make_model(&odd_shape, 2, f->stream);
    const llama_device_weights *weights = llama_get_weights(model);
    cudaStream_t stream = f->stream;
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
}

/* ---- the real file ------------------------------------------------------------------------------ */

static llama_model *load_real_model(cudaStream_t stream)
{
    const char *path = need_real_model(true);
    char error[GGUF_ERROR_SIZE];
    llama_weights weights;
    llama_model *model;
    gguf *file;
    if (gguf_open(&file, path, error) || llama_weights_read(&weights, file, error))
        fail_msg("%s", error);
    gguf_close(file);
    EXPECT_OK(llama_create(&model, &weights, BATCH_CAPACITY, stream));
    llama_weights_free(&weights);
    return model;
}

/* All prompts of the goldens at once, through segments: llama.cpp's tokens. */
FIXTURE_TEST(test_real_file)
{
    FREED_BY(free_model) llama_model *model = load_real_model(f->stream);
    FREED_BY(batch_runner_close) batch_runner runner;
    FREED_BY(llama_serve_result_free) llama_serve_result result;
    llama_serve_request requests[GOLDEN_PROMPTS];
    const llama_serve_limits limits = {llama_get_config(model)->vocabulary, BATCH_CAPACITY, BATCH_MAX_ROWS};
    for (int i = 0; i < GOLDEN_PROMPTS; i++)
        requests[i] = (llama_serve_request){goldens[i].prompt_tokens, goldens[i].prompt_length, GOLDEN_TOKENS, -1};
    batch_runner_open(&runner, model, GOLDEN_PROMPTS, WAY_BREAKABLE, true);
    EXPECT_OK(llama_serve(requests, GOLDEN_PROMPTS, &limits, batch_runner_run, &runner, &result));
    for (int i = 0; i < GOLDEN_PROMPTS; i++)
        assert_memory_equal(result.text[i].tokens, goldens[i].tokens, sizeof goldens[i].tokens);
}
