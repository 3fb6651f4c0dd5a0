/* The scheduler of examples/llama alone, before a model whose tokens count up: what it puts into batches, and when. */
#include "examples/llama/server/server.h"
#include "tests/support/llama/llama_support.h"
#include "tests/support/support.h"

enum { VOCABULARY = 50, SLOTS_MAX = 8 };

typedef struct model {
    int slots, rows, fail_at; /* fail_at: the batch that fails; -1: none */
    int batches, decodes, most_rows, most_requests;
    int length[SLOTS_MAX]; /* positions of a slot that have come */
} model;

/* Each text's rows come together, in order, and go on where its last batch ended; a text begins at position 0. */
static bg_status count_up(void *user, const llama_serve_batch *batch, const int *token, const int *position,
                          const int *slot, int rows, float *logits, int *next)
{
    model *m = user;
    int requests = 0, longest = 0, length = 0;
    bool seen[SLOTS_MAX] = {false};

    assert_null(logits);
    assert_in_range(rows, 1, m->rows);
    for (int r = 0; r < rows; r++) {
        assert_in_range(slot[r], 0, m->slots - 1);
        if (r == 0 || slot[r] != slot[r - 1]) {
            assert_false(seen[slot[r]]);
            seen[slot[r]] = true;
            requests++;
            length = 0;
            m->length[slot[r]] = position[r] == 0 ? 0 : m->length[slot[r]];
        }
        assert_int_equal(position[r], m->length[slot[r]]++);
        longest = ++length > longest ? length : longest;
        next[r] = (token[r] + 1) % VOCABULARY;
    }
    assert_int_equal(batch->tokens, rows);
    assert_int_equal(batch->requests, requests);
    assert_int_equal(batch->max_query_len, longest);
    assert_true(!batch->uniform_decode || longest == 1);
    m->decodes += batch->uniform_decode;
    m->most_rows = rows > m->most_rows ? rows : m->most_rows;
    m->most_requests = requests > m->most_requests ? requests : m->most_requests;
    return m->batches++ == m->fail_at ? BG_ERROR_BUSY : BG_OK;
}

/* What goes with the scope of a test. */
#define TRAFFIC(name, ...)  FREED_BY(llama_traffic_free) llama_traffic name = make_traffic(__VA_ARGS__)
#define SERVED(result, ...) FREED_BY(llama_server_result_free) llama_server_result result = serve(__VA_ARGS__)

static llama_traffic make_traffic(int count, double rate, int longest_prompt)
{
    const llama_traffic_options options = {.count = count,
                                           .rate = rate,
                                           .seed = 3,
                                           .vocabulary = VOCABULARY,
                                           .longest_prompt = longest_prompt,
                                           .most_tokens = 9};
    llama_traffic traffic;
    EXPECT_OK(llama_traffic_create(&traffic, &options));
    assert_int_equal(traffic.count, count);
    return traffic;
}

static llama_server_result serve(const llama_traffic *traffic, model *m, bg_status expected)
{
    const llama_server_limits limits = {.slots = m->slots, .rows = m->rows};
    llama_server_result result;
    EXPECT_STATUS(llama_server_run(traffic, &limits, count_up, m, &result), expected);
    return result;
}

static void expect_served(const llama_traffic *traffic, const llama_server_result *result)
{
    int tokens = 0;
    assert_int_equal(result->count, traffic->count);
    for (int i = 0; i < result->count; i++) {
        const llama_arrival *a = &traffic->list[i];
        const llama_served *s = &result->list[i];
        assert_int_equal(s->count, a->tokens);
        for (int k = 0; k < s->count; k++)
            assert_int_equal(s->tokens[k], (a->prompt[a->prompt_count - 1] + 1 + k) % VOCABULARY);
        assert_true(s->first >= a->at && s->last >= s->first && s->last <= result->seconds);
        tokens += s->count;
    }
    assert_int_equal(result->tokens, tokens);
    assert_int_equal(result->gap_count, tokens - result->count);
}

/* All come at once, or one by one; with few slots, and prompts that are longer than a batch. */
TEST(test_all_are_served)
{
    static const struct {
        int slots, rows, longest_prompt;
        double rate;
    } cases[] = {{8, 16, 12, 1e9}, {1, 1, 5, 1e9}, {2, 3, 40, 1e9}, {8, 8, 4, 1e9}, {3, 7, 20, 2000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model m = {.slots = cases[i].slots, .rows = cases[i].rows, .fail_at = -1};
        TRAFFIC(traffic, 40, cases[i].rate, cases[i].longest_prompt);
        SERVED(result, &traffic, &m, BG_OK);
        expect_served(&traffic, &result);
        assert_int_equal(result.batches, m.batches);
        if (cases[i].rate > 1e6) { /* all slots are in use, and no row is left free */
            assert_int_equal(m.most_requests, m.slots);
            assert_int_equal(m.most_rows, m.rows);
        }
        assert_true(m.decodes > 0);
    }
}

/* First come, first served: of two equal requests the earlier one is done first. */
TEST(test_order)
{
    model m = {.slots = 1, .rows = 4, .fail_at = -1};
    TRAFFIC(traffic, 20, 1e9, 6);
    SERVED(result, &traffic, &m, BG_OK);
    for (int i = 1; i < 20; i++)
        assert_true(result.list[i].first >= result.list[i - 1].last);
}

TEST(test_failures)
{
    model failing = {.slots = 4, .rows = 8, .fail_at = 5}, narrow = {.slots = 4, .rows = 3, .fail_at = -1};
    TRAFFIC(traffic, 20, 1e9, 6);
    SERVED(some, &traffic, &failing, BG_ERROR_BUSY);
    assert_int_equal(failing.batches, 6);
    SERVED(none, &traffic, &narrow, BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("give at least one slot, and at least one row per slot");
}

/* The same seed gives the same requests; the mean gap is that of the rate. */
TEST(test_traffic)
{
    enum { COUNT = 4000 };
    TRAFFIC(one, COUNT, 50, 8);
    TRAFFIC(other, COUNT, 50, 8);
    int prompts = 0;
    for (int i = 0; i < COUNT; i++) {
        const llama_arrival *a = &one.list[i], *b = &other.list[i];
        assert_true(a->at == b->at && a->prompt_count == b->prompt_count && a->tokens == b->tokens);
        assert_memory_equal(a->prompt, b->prompt, (size_t)a->prompt_count * sizeof(int));
        assert_in_range(a->prompt_count, 1, 8);
        assert_in_range(a->tokens, 1, 9);
        assert_in_range(a->prompt[0], 0, VOCABULARY - 1);
        assert_true(i == 0 || a->at >= one.list[i - 1].at);
        prompts += a->prompt_count;
    }
    assert_true(one.list[COUNT - 1].at > 0.9 * COUNT / 50 && one.list[COUNT - 1].at < 1.1 * COUNT / 50);
    assert_true(prompts > 4.3 * COUNT && prompts < 4.7 * COUNT);
}
