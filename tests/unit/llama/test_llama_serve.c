/* The server of examples/llama alone, before a model whose tokens count up: what it puts into batches, and what it
 * makes of their results. */
#include "examples/llama/serve.h"
#include "tests/support/llama/llama_support.h"
#include "tests/support/support.h"

enum { VOCABULARY = 40, MAX_BATCHES = 8, MAX_ROWS = 16 };

/* What came in, batch by batch. */
typedef struct counting {
    int batches, fail_at;
    llama_serve_batch batch[MAX_BATCHES];
    int token[MAX_BATCHES][MAX_ROWS], position[MAX_BATCHES][MAX_ROWS], slot[MAX_BATCHES][MAX_ROWS];
} counting;

/* After token t comes t + 1; the logits name the batch and the row. */
static bg_status count_up(void *user, const llama_serve_batch *batch, const int *token, const int *position,
                          const int *slot, int rows, float *logits, int *next)
{
    counting *c = user;
    int b = c->batches++;
    if (b == c->fail_at)
        return BG_ERROR_BUSY;
    assert_true(b < MAX_BATCHES && rows <= MAX_ROWS);
    assert_int_equal(rows, batch->tokens);
    c->batch[b] = *batch;
    for (int r = 0; r < rows; r++) {
        c->token[b][r] = token[r];
        c->position[b][r] = position[r];
        c->slot[b][r] = slot[r];
        next[r] = token[r] + 1;
        for (int i = 0; i < VOCABULARY; i++)
            logits[(size_t)r * VOCABULARY + i] = (float)(100 * b + r);
    }
    return BG_OK;
}

static void expect_batch(const counting *c, int b, llama_serve_batch batch, const int *token, const int *position,
                         const int *slot)
{
    size_t bytes = (size_t)batch.tokens * sizeof(int);
    assert_int_equal(c->batch[b].tokens, batch.tokens);
    assert_int_equal(c->batch[b].requests, batch.requests);
    assert_int_equal(c->batch[b].max_query_len, batch.max_query_len);
    assert_int_equal(c->batch[b].uniform_decode, batch.uniform_decode);
    assert_memory_equal(c->token[b], token, bytes);
    assert_memory_equal(c->position[b], position, bytes);
    assert_memory_equal(c->slot[b], slot, bytes);
}

static const int prompts[3][3] = {{5, 9, 7}, {20, 0, 0}, {30, 31, 0}};
static const llama_serve_limits limits = {.vocabulary = VOCABULARY, .capacity = 6, .max_tokens = 8};

/* The first text wants 2 tokens, the second 4, the third stops at its second one. */
static const llama_serve_request requests[3] = {{prompts[0], 3, 2, -1}, {prompts[1], 1, 4, -1}, {prompts[2], 2, 5, 33}};

/* Serves the requests, up to the batch that is to fail with BUSY; -1: none is. */
static llama_serve_result serve(const llama_serve_request *list, int count, counting *c, int fail_at)
{
    llama_serve_result result;
    *c = (counting){.fail_at = fail_at};
    EXPECT_STATUS(llama_serve(list, count, &limits, count_up, c, &result), fail_at < 0 ? BG_OK : BG_ERROR_BUSY);
    return result;
}

#define SERVED(result, ...) FREED_BY(llama_serve_result_free) llama_serve_result result = serve(__VA_ARGS__)

TEST(test_batches)
{
    counting c;
    SERVED(result, requests, 3, &c, -1);
    assert_int_equal(c.batches, 4);
    assert_int_equal(result.batches, 4);
    expect_batch(&c, 0, (llama_serve_batch){6, 3, 3, false}, (int[]){5, 9, 7, 20, 30, 31}, (int[]){0, 1, 2, 0, 0, 1},
                 (int[]){0, 0, 0, 1, 2, 2});
    expect_batch(&c, 1, (llama_serve_batch){3, 3, 1, true}, (int[]){8, 21, 32}, (int[]){3, 1, 2}, (int[]){0, 1, 2});
    expect_batch(&c, 2, (llama_serve_batch){1, 1, 1, true}, (int[]){22}, (int[]){2}, (int[]){1});
    expect_batch(&c, 3, (llama_serve_batch){1, 1, 1, true}, (int[]){23}, (int[]){3}, (int[]){1});
}

TEST(test_results)
{
    const int tokens[3][4] = {{8, 9}, {21, 22, 23, 24}, {32, 33}}, count[3] = {2, 4, 2};
    const float from[3][4] = {{2, 100}, {3, 101, 200, 300}, {5, 102}};
    counting c;
    SERVED(result, requests, 3, &c, -1);
    for (int i = 0; i < 3; i++) {
        const llama_serve_text *t = &result.text[i];
        assert_int_equal(t->count, count[i]);
        assert_memory_equal(t->tokens, tokens[i], (size_t)t->count * sizeof(int));
        for (int j = 0; j < t->count; j++)
            assert_true(t->logits[j * VOCABULARY] == from[i][j] && t->logits[(j + 1) * VOCABULARY - 1] == from[i][j]);
    }
}

TEST(test_a_prompt_of_one_token_decodes)
{
    counting c;
    SERVED(result, &requests[1], 1, &c, -1);
    assert_int_equal(c.batches, 4);
    expect_batch(&c, 0, (llama_serve_batch){1, 1, 1, true}, (int[]){20}, (int[]){0}, (int[]){0});
}

TEST(test_an_error_ends_it)
{
    counting c;
    SERVED(result, requests, 3, &c, 2);
    assert_int_equal(c.batches, 3);
    assert_int_equal(result.text[1].count, 2);
}

TEST(test_fills_the_capacity)
{
    counting c;
    SERVED(result, &(llama_serve_request){prompts[0], 3, 4, -1}, 1, &c, -1);
    assert_int_equal(result.text[0].count, 4);
    assert_int_equal(c.position[3][0], limits.capacity - 1);
}

static void expect_refused(const llama_serve_request *request, int count, const char *words)
{
    counting c = {.fail_at = -1};
    FREED_BY(llama_serve_result_free) llama_serve_result result;
    EXPECT_STATUS(llama_serve(request, count, &limits, count_up, &c, &result), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR(words);
    assert_int_equal(c.batches, 0);
}

TEST(test_refuses_requests)
{
    const int prompt[8] = {0, 1, 2, 3, 4, 5, 6, 7}, outside[2] = {1, VOCABULARY};
    llama_serve_request many[LLAMA_SERVE_MAX_TEXTS + 1];
    for (int i = 0; i <= LLAMA_SERVE_MAX_TEXTS; i++)
        many[i] = (llama_serve_request){prompt, 3, 1, -1};
    expect_refused(many, 0, "number of requests");
    expect_refused(many, LLAMA_SERVE_MAX_TEXTS + 1, "number of requests");
    expect_refused(many, 3, "more tokens than a batch takes");
    expect_refused(&(llama_serve_request){prompt, 0, 1, -1}, 1, "no token");
    expect_refused(&(llama_serve_request){prompt, 1, 0, -1}, 1, "tokens is less than 1");
    expect_refused(&(llama_serve_request){prompt, 7, 1, -1}, 1, "longer than the capacity");
    expect_refused(&(llama_serve_request){prompt, 4, 4, -1}, 1, "longer than the capacity");
    expect_refused(&(llama_serve_request){prompt, 1, 2147483647, -1}, 1, "longer than the capacity");
    expect_refused(&(llama_serve_request){outside, 2, 1, -1}, 1, "outside the vocabulary");
}
