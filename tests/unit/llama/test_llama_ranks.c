/* The language model on several ranks, each with its part: the tokens of one rank, and its logits but for the order of
 * fp32 sums; eagerly and through graphs, the sums captured or eager. */
#include "tests/support/test.h"
#include <stdint.h>
#include "examples/llama/engine.h"
#include "examples/llama/generate.h"
#include "examples/llama/ranks.h"
#include "tests/support/llama/batch_ways.h"
#include "tests/support/ranks/nccl_ranks.h"

#ifdef TEST_NCCL
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* max |difference| / max |reference| of logits: fp32 has 6e-8, and some hundred sums lie before each. */
static const double TOLERANCE = 2e-5;

#define EXPECT_OK(call)                                                                                                \
    do {                                                                                                               \
        bg_status status_ = (call);                                                                                    \
        if (status_ != BG_OK)                                                                                          \
            return rank_complain(__FILE__, __LINE__, "%s: %s", bg_status_name(status_), bg_last_error());              \
    } while (0)

/* SmolLM2's 9 query and 3 key heads; nothing divides by 2 or 4. */
static const llama_config nine_heads = ODD_SHAPE(.width = 90, .heads = 9, .kv_heads = 3);

enum { PROMPT = 5, CONTEXT = 64 };
static const int prompt[PROMPT] = {5, 17, 99, 0, 17};

static int tokens(void)
{
    return small_workload() ? 4 : 32;
}

/* What all ranks do. */
typedef struct task {
    const llama_config *config;
    uint64_t seed;
    bool eager_sums; /* each sum breaks the graphs */
    bool no_sums;
} task;

static int make_weights(const task *t, llama_weights *weights)
{
    char error[GGUF_ERROR_SIZE];
    if (llama_weights_random(weights, t->config, t->seed, error))
        return rank_complain(__FILE__, __LINE__, "%s", error);
    return 0;
}

/* Of one rank there is nothing to sum. */
static const llama_ranks *ranks_of(const struct rank *r, const task *t, llama_ranks *ranks)
{
    *ranks = (llama_ranks){.rank = r->rank, .size = r->ranks, .nccl = r->comm};
    return r->ranks == 1 || t->no_sums ? NULL : ranks;
}

/* ---- comparisons -------------------------------------------------------------------------------- */

static uint64_t digest(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 1099511628211u;
    return hash;
}

/* Whether all ranks have the same bits: their digests' largest is their smallest. */
static int are_same(struct rank *r, const void *data, size_t bytes, bool *same)
{
    uint64_t mine = digest(data, bytes), both[2], *device = NULL;
    EXPECT_CUDA(cudaMalloc((void **)&device, 3 * sizeof mine));
    EXPECT_CUDA(cudaMemcpyAsync(device, &mine, sizeof mine, cudaMemcpyHostToDevice, r->stream));
    EXPECT_NCCL(ncclAllReduce(device, device + 1, 1, ncclUint64, ncclMax, r->comm, r->stream), ncclSuccess);
    EXPECT_NCCL(ncclAllReduce(device, device + 2, 1, ncclUint64, ncclMin, r->comm, r->stream), ncclSuccess);
    EXPECT_CUDA(cudaMemcpyAsync(both, device + 1, sizeof both, cudaMemcpyDeviceToHost, r->stream));
    EXPECT_CUDA(cudaStreamSynchronize(r->stream));
    EXPECT_CUDA(cudaFree(device));
    *same = both[0] == both[1];
    return 0;
}

/* ---- one text ----------------------------------------------------------------------------------- */

static int generate(llama_model *model, text_way way, llama_result *result)
{
    const llama_request request = REQUEST(prompt, PROMPT, tokens(), .mode = text_ways[way].mode,
                                          .debug = text_ways[way].debug, .keep_logits = true);
    EXPECT_OK(llama_generate(model, &request, result));
    EXPECT(result->count == request.tokens);
    return 0;
}

/* The whole model, eagerly. */
static int run_whole(struct rank *r, const llama_weights *weights, llama_result *result)
{
    FREED_BY(free_model) llama_model *model = NULL;
    EXPECT_OK(llama_create(&model, weights, CONTEXT, r->stream));
    return generate(model, EAGER, result);
}

static int make_part(struct rank *r, const task *t, const llama_weights *weights, llama_ranks *ranks,
                     llama_model **model)
{
    llama_part part;
    EXPECT_OK(llama_split(&part, t->config, r->rank, r->ranks));
    EXPECT_OK(llama_create_part(model, weights, &part, ranks_of(r, t, ranks), CONTEXT, r->stream));
    return 0;
}

/* A layer breaks at its attention and, where they are eager, at its two sums; the step ends with sampling. */
static int expect_counts(const struct rank *r, const task *t, text_way way, const llama_result *result)
{
    const int layers = t->config->layers, sums = r->ranks > 1 ? 2 * layers : 0;
    const int eager = way == FULL ? 0 : layers + 1, breaks = eager + (t->eager_sums ? sums : 0);
    EXPECT(result->captured == (way != EAGER));
    if (way == FULL || way == BREAKABLE) {
        EXPECT(result->graph.breaks == breaks);
        EXPECT(result->graph.segments == (way == FULL ? breaks + 1 : breaks));
    } else if (way == OPS) {
        EXPECT(result->graph.breaks == layers * 16 + 5 + sums);
        EXPECT(result->graph.segments == 0);
    }
    return 0;
}

static int expect_same_text(struct rank *r, text_way way, const llama_result *found, const llama_result *whole,
                            size_t logits)
{
    double apart = relative_difference(found->logits, whole->logits, logits);
    bool same = false;
    if (r->rank == 0)
        printf("%d ranks, %s: max |difference| / max |reference| = %.2g over %d steps\n", r->ranks, text_ways[way].name,
               apart, found->steps);
    EXPECT(fflush(stdout) == 0); /* the end of a rank's process does not */
    EXPECT(memcmp(found->tokens, whole->tokens, (size_t)whole->count * sizeof *found->tokens) == 0);
    EXPECT(apart <= TOLERANCE);
    EXPECT(r->ranks > 1 || apart == 0);
    if (are_same(r, found->logits, logits * sizeof *found->logits, &same))
        return 1;
    EXPECT(same);
    return 0;
}

/* Each rank for itself: other texts on each. */
static int expect_other_text(struct rank *r, const task *t, const llama_result *found, const llama_result *whole)
{
    bool same = true;
    EXPECT(memcmp(found->tokens, whole->tokens, (size_t)whole->count * sizeof *found->tokens) != 0);
    EXPECT(relative_difference(found->logits, whole->logits, (size_t)t->config->vocabulary) > 1000 * TOLERANCE);
    if (are_same(r, found->tokens, (size_t)found->count * sizeof *found->tokens, &same))
        return 1;
    EXPECT(!same);
    return 0;
}

static int check_text(struct rank *r, text_way way, const llama_result *found, const llama_result *whole)
{
    const task *t = r->argument;
    if (t->no_sums)
        return expect_other_text(r, t, found, whole);
    return expect_counts(r, t, way, found) ||
           expect_same_text(r, way, found, whole, (size_t)whole->steps * (size_t)t->config->vocabulary);
}

static int run_ways(struct rank *r, const text_way *some, int count)
{
    const task *t = r->argument;
    FREED_BY(llama_weights_free) llama_weights weights = {.layer = NULL};
    FREED_BY(free_model) llama_model *model = NULL;
    FREED_BY(llama_result_free) llama_result whole = {.tokens = NULL};
    llama_ranks ranks;
    if (make_weights(t, &weights) || run_whole(r, &weights, &whole) || make_part(r, t, &weights, &ranks, &model))
        return 1;
    for (int i = 0; i < count; i++) {
        FREED_BY(llama_result_free) llama_result found = {.tokens = NULL};
        if (generate(model, some[i], &found) || check_text(r, some[i], &found, &whole))
            return 1;
    }
    return 0;
}

static int all_ways(struct rank *r)
{
    static const text_way all[] = {EAGER, FULL, BREAKABLE, DEBUG, OPS};
    const task *t = r->argument;
    EXPECT(!t->eager_sums || setenv("BG_EAGER_OPS", "all_reduce", 1) == 0);
    return run_ways(r, all, TEXT_WAYS);
}

/* What is eager in the process is not the thread's to say: no full graph. */
static int ways_of_threads(struct rank *r)
{
    static const text_way some[] = {EAGER, BREAKABLE, DEBUG};
    return run_ways(r, some, 3);
}

static void check(enum ranks_as as, int ranks, rank_body body, const llama_config *config, uint64_t seed,
                  bool eager_sums)
{
    const task t = {.config = config, .seed = seed, .eager_sums = eager_sums};
    printf("seed %llu, %d query and %d key heads, %s\n", (unsigned long long)seed, config->heads, config->kv_heads,
           eager_sums ? "eager sums" : "captured sums");
    need_ranks(ranks);
    run_ranks(as, ranks, body, &t);
}

TEST(test_one_rank)
{
    check(AS_PROCESSES, 1, all_ways, &llama_small, 1, false);
    check(AS_PROCESSES, 1, all_ways, &nine_heads, 2, true);
}

TEST(test_two_ranks)
{
    check(AS_PROCESSES, 2, all_ways, &llama_small, 1, false);
    check(AS_PROCESSES, 2, all_ways, &nine_heads, 2, false);
}

TEST(test_four_ranks)
{
    check(AS_PROCESSES, 4, all_ways, &llama_small, 1, false);
    check(AS_PROCESSES, 4, all_ways, &nine_heads, 2, false);
}

TEST(test_eager_sums)
{
    check(AS_PROCESSES, 2, all_ways, &llama_small, 3, true);
    check(AS_PROCESSES, 4, all_ways, &nine_heads, 4, true);
}

TEST(test_threads)
{
    check(AS_THREADS, 2, ways_of_threads, &llama_small, 5, false);
    check(AS_THREADS, 4, ways_of_threads, &nine_heads, 6, false);
}

/* ---- without sums ------------------------------------------------------------------------------- */

static int without_sums(struct rank *r)
{
    static const text_way some[] = {EAGER, FULL, BREAKABLE};
    return run_ways(r, some, 3);
}

TEST(test_tokens_differ_without_sums)
{
    const task small = {.config = &llama_small, .seed = 1, .no_sums = true},
               nine = {.config = &nine_heads, .seed = 2, .no_sums = true};
    need_ranks(2);
    run_ranks(AS_PROCESSES, 2, without_sums, &small);
    run_ranks(AS_PROCESSES, 2, without_sums, &nine);
}

/* ---- batches ------------------------------------------------------------------------------------ */

enum { TEXTS = 4 };

/* The logits of all texts lie one behind the other. */
typedef struct served {
    llama_serve_result result;
    bool replayed; /* some batch by a graph */
} served;

static void free_served(served *s)
{
    llama_serve_result_free(&s->result);
}
#define SERVED(name) FREED_BY(free_served) served name = {.replayed = false}

static int serve_plainly(struct rank *r, const llama_device_weights *weights, const batch_work *work, served *s)
{
    llama_batch *batch;
    llama_buffers buffers;
    EXPECT_OK(llama_batch_create(&batch, weights, TEXTS, BATCH_CAPACITY, BATCH_MAX_ROWS, NULL, r->stream));
    EXPECT_OK(llama_buffers_create(&buffers, batch, r->stream));
    EXPECT_OK(llama_serve(work->request, TEXTS, &work->limits, llama_buffers_run, &buffers, &s->result));
    llama_buffers_free(&buffers);
    llama_batch_destroy(batch);
    return 0;
}

static int serve_by_runner(struct rank *r, const llama_device_weights *weights, const batch_work *work, bg_mode mode,
                           served *s)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_counters before = BG_COUNTERS_INIT, after = BG_COUNTERS_INIT;
    FREED_BY(llama_engine_free) llama_engine engine = {.batch = NULL};
    config.mode = mode;
    config.schedule = "1,2,4,8";
    config.max_tokens = BATCH_MAX_ROWS;
    EXPECT_OK(llama_engine_create(&engine, weights, TEXTS, BATCH_CAPACITY, &config, r->stream));
    EXPECT_OK(bg_runner_capture(engine.runner));
    bg_counters_get(&before);
    EXPECT_OK(llama_serve(work->request, TEXTS, &work->limits, llama_engine_run, &engine, &s->result));
    bg_counters_get(&after);
    s->replayed = after.replays[mode] > before.replays[mode];
    return 0;
}

static int expect_same_texts(const served *found, const served *whole, int vocabulary)
{
    for (int i = 0; i < TEXTS; i++) {
        const llama_serve_text *text = &found->result.text[i], *reference = &whole->result.text[i];
        size_t logits = (size_t)text->count * (size_t)vocabulary;
        EXPECT(text->count == reference->count);
        EXPECT(memcmp(text->tokens, reference->tokens, (size_t)text->count * sizeof *text->tokens) == 0);
        EXPECT(relative_difference(text->logits, reference->logits, logits) <= TOLERANCE);
    }
    return 0;
}

static int compare_modes(struct rank *r, const llama_device_weights *part, const batch_work *work, const served *whole)
{
    static const bg_mode modes[] = {BG_MODE_PIECEWISE, BG_MODE_FULL};
    SERVED(plain);
    if (serve_plainly(r, part, work, &plain) || expect_same_texts(&plain, whole, work->limits.vocabulary))
        return 1;
    for (int i = 0; i < 2; i++) {
        SERVED(found);
        if (serve_by_runner(r, part, work, modes[i], &found) ||
            expect_same_texts(&found, whole, work->limits.vocabulary))
            return 1;
        EXPECT(found.replayed);
    }
    return 0;
}

static int batches(struct rank *r)
{
    const task *t = r->argument;
    FREED_BY(llama_weights_free) llama_weights weights = {.layer = NULL};
    FREED_BY(llama_device_weights_free) llama_device_weights all = {.layer = NULL}, mine = {.layer = NULL};
    SERVED(whole);
    llama_part part;
    llama_ranks ranks;
    batch_work work;
    make_work(&work, TEXTS, t->config->vocabulary, 1, true);
    if (make_weights(t, &weights))
        return 1;
    EXPECT_OK(llama_split(&part, t->config, r->rank, r->ranks));
    EXPECT_OK(llama_device_weights_create(&all, &weights, r->stream));
    EXPECT_OK(llama_device_weights_create_part(&mine, &weights, &part, ranks_of(r, t, &ranks), r->stream));
    return serve_plainly(r, &all, &work, &whole) || compare_modes(r, &mine, &work, &whole);
}

TEST(test_batches)
{
    const task small = {.config = &llama_small, .seed = 7}, nine = {.config = &nine_heads, .seed = 8};
    need_ranks(2);
    run_ranks(AS_PROCESSES, 2, batches, &small);
    need_ranks(4);
    run_ranks(AS_PROCESSES, 4, batches, &nine);
}
#else
SKIP_PROGRAM("there is no NCCL");
#endif
