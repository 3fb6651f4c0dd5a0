/* Runners of ranks that go in step: what is compared before captures and runs, and what becomes of a rank that is told
 * or finds something else. */
#include "tests/support/ranks/thread_ranks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 4 };

BG_OP(row_scale, BG_IN(x), BG_OUT(y), BG_VALUE(int, rows))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, (size_t)args->rows * WIDTH, stream));
}

BG_EAGER_OP(row_seen, BG_INOUT(y), BG_VALUE(int, rows))
{
    return from_cuda(bgk_scale(args->y.data, args->y.data, 1, (size_t)args->rows * WIDTH, stream));
}

BG_OP(row_weak, BG_INOUT(y), BG_VALUE(int, rows))
{
    return from_cuda(bgk_scale(args->y.data, args->y.data, 1, (size_t)args->rows * WIDTH, stream));
}

typedef enum way {
    ALIKE,
    ANOTHER_SCHEDULE,
    ANOTHER_PATTERN,
    ANOTHER_CONFIG,
    ANOTHER_QUERY_LEN,
    ANOTHER_MODE,    /* an op that supports no full graph */
    FAILING_WARM_UP, /* of the bucket of 8 */
    FAILING_CAPTURE, /* the same */
    FAILING_PREPARE, /* the same, before its capture */
    ANOTHER_BATCH,
    ANOTHER_VETO,
    BAD_BATCH,
} way;

typedef struct plan {
    way way; /* of the last rank */
    bg_lazy lazy;
    bool compares;
    bg_mode mode;
} plan;

typedef struct model {
    thread_rank *rank;
    bg_runner *runner;
    bg_tensor x, y;
    way way;
} model;

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const model *m = user;
    int rows = context->padded_tokens;
    bool warm_up = context->phase == BG_PHASE_WARMUP;

    BG_CALL(row_scale, stream, .x = m->x, .y = m->y, .rows = rows);
    if (m->way == ANOTHER_MODE)
        BG_CALL(row_weak, stream, .y = m->y, .rows = rows);
    if (rows == 8 &&
        ((m->way == FAILING_WARM_UP && warm_up) || (m->way == FAILING_CAPTURE && context->phase == BG_PHASE_CAPTURE)))
        return BG_ERROR_STOPPED;
    return BG_CALL(row_seen, stream, .y = m->y, .rows = rows);
}

static bg_status prepare(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const model *m = user;
    bool fails = m->way == FAILING_PREPARE && context->padded_tokens == 8 && context->phase == BG_PHASE_CAPTURE;
    (void)stream;
    return fails ? BG_ERROR_STOPPED : BG_OK;
}

static bool veto(void *user, const bg_batch *batch, const char **why)
{
    const model *m = user;
    (void)batch;
    *why = "it is odd";
    return m->way == ANOTHER_VETO;
}

static bool is_last(const thread_rank *rank)
{
    return rank->rank == rank->size - 1;
}

static void open_model(model *m, thread_rank *rank)
{
    const plan *p = rank->argument;
    const int64_t dim[] = {0, WIDTH};
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;

    *m = (model){.rank = rank, .way = is_last(rank) ? p->way : ALIKE};
    rank->table.compare_choices = p->compares;
    config.mode = p->mode;
    config.schedule = m->way == ANOTHER_SCHEDULE ? "4,16" : "4,8";
    config.max_tokens = 16;
    config.max_padding = m->way == ANOTHER_CONFIG ? 3.5 : 0;
    config.query_lens = m->way == ANOTHER_QUERY_LEN ? "1,2,4" : "1, 4";
    config.eager_ops = m->way == ANOTHER_PATTERN ? "row_scale" : NULL;
    config.lazy = (uint8_t)p->lazy;
    config.prepare = prepare;
    config.veto = veto;
    config.callback_user = m;
    config.ranks = &rank->table;
    RANK_OK(rank, bg_runner_create(&m->runner, &config, forward, m, rank->stream));
    RANK_OK(rank, bg_runner_add_input(m->runner, "x", BG_F32, 2, dim, BG_PAD_ZERO, 0, &m->x));
    RANK_OK(rank, bg_runner_add_output(m->runner, "y", BG_F32, 2, dim, &m->y));
}

/* A body that does so with a model of its own. */
#define MODEL_BODY(name)                                                                                               \
    static void name##_with(model *m, thread_rank *rank);                                                              \
    static void name(thread_rank *rank)                                                                                \
    {                                                                                                                  \
        model m;                                                                                                       \
        open_model(&m, rank);                                                                                          \
        if (rank->complaint[0] == '\0')                                                                                \
            name##_with(&m, rank);                                                                                     \
        bg_runner_destroy(m.runner);                                                                                   \
    }                                                                                                                  \
    static void name##_with(model *m, thread_rank *rank)

static bg_status run(const model *m, int tokens)
{
    float rows[16 * WIDTH], found[16 * WIDTH];
    bg_batch batch = {.tokens = tokens, .requests = 1, .max_query_len = tokens};
    bg_tensor input = bg_tensor_2d(rows, BG_F32, tokens, WIDTH), output = bg_tensor_2d(found, BG_F32, tokens, WIDTH);
    thread_rank *rank = m->rank;
    bg_status status;

    for (int i = 0; i < tokens * WIDTH; i++)
        rows[i] = (float)(i + tokens);
    status = bg_runner_run(m->runner, &batch, &input, &output, NULL);
    if (status != BG_OK)
        return status;
    RANK_EXPECT(rank, !cudaStreamSynchronize(rank->stream));
    for (int i = 0; i < tokens * WIDTH; i++)
        RANK_EXPECT(rank, found[i] == 2 * rows[i]);
    return BG_OK;
}

static int captured(const model *m)
{
    int count = 0;
    for (int i = 0; i < bg_runner_bucket_count(m->runner); i++) {
        bg_bucket_info info = BG_BUCKET_INFO_INIT;
        RANK_OK(m->rank, bg_runner_get_bucket(m->runner, i, &info));
        count += info.captured;
    }
    return count;
}

/* ---- together ---- */

MODEL_BODY(run_all)
{
    static const int tokens[] = {3, 8, 12, 1, 5};
    const plan *p = rank->argument;

    RANK_OK(rank, bg_runner_capture(m->runner));
    RANK_EXPECT(rank, captured(m) == (p->lazy ? 0 : 2));
    for (int i = 0; i < 5; i++)
        RANK_OK(rank, run(m, tokens[i]));
    RANK_EXPECT(rank, captured(m) == 2 && rank->holds == 2);
}

TEST(test_alike)
{
    int silent = 0;
    for (int k = 0; k < 4; k++) {
        plan p = {ALIKE, k >= 2 ? BG_LAZY_ON_DEMAND : BG_LAZY_NO, k % 2, BG_MODE_PIECEWISE};
        thread_ranks_run(2 + 2 * (k % 2), run_all, &p);
        EXPECT_SAME_CALLS();
        if (k == 0)
            silent = thread_ranks[0].calls;
        if (k == 1) /* one for each run, and none without */
            assert_int_equal(thread_ranks[0].calls, silent + 5);
    }
}

/* ---- apart ---- */

MODEL_BODY(capture_only)
{
    thread_rank_keep(rank, bg_runner_capture(m->runner));
    RANK_EXPECT(rank, captured(m) == 0);
}

static void check_config(way way, bg_mode mode, const char *mine, const char *theirs)
{
    for (int size = 2; size <= 4; size += 2) {
        thread_ranks_run(size, capture_only, &(plan){way, BG_LAZY_NO, false, mode});
        EXPECT_APART(BG_OK, mine, theirs);
    }
}

TEST(test_another_configuration)
{
    check_config(ANOTHER_SCHEDULE, BG_MODE_PIECEWISE, "schedule 4,8,", "schedule 4,16,");
    check_config(ANOTHER_CONFIG, BG_MODE_PIECEWISE, "max_padding 0,", "max_padding 3.5,");
    check_config(ANOTHER_QUERY_LEN, BG_MODE_PIECEWISE, "max_query_len 1,4,", "max_query_len 1,2,4,");
    check_config(ANOTHER_PATTERN, BG_MODE_PIECEWISE, "rank 0: ; rank", "row_scale");
}

/* The ops of one rank's pass support less. */
TEST(test_another_mode)
{
    EXPECT_OK(bg_op_set_attributes("row_weak", ATTRIBUTES(.graph_support = BG_SUPPORT_NEVER)));
    check_config(ANOTHER_MODE, BG_MODE_FULL, "rank 0: full", "piecewise");
    EXPECT_OK(bg_op_set_attributes("row_weak", ATTRIBUTES(.graph_support = BG_SUPPORT_SINGLE_TOKEN_DECODE)));
    check_config(ANOTHER_MODE, BG_MODE_FULL_AND_PIECEWISE,
                 "rank 0: full_and_piecewise, number of query lengths that have decode graphs: 2",
                 "full_and_piecewise, number of query lengths that have decode graphs: 1");
}

/* A bucket that one rank cannot capture is none on any, and the other one is there. */
MODEL_BODY(capture_one)
{
    bg_bucket_info info = BG_BUCKET_INFO_INIT;

    RANK_OK(rank, bg_runner_capture(m->runner));
    RANK_EXPECT(rank, captured(m) == 1);
    RANK_OK(rank, bg_runner_get_bucket(m->runner, 0, &info));
    RANK_EXPECT(rank, info.tokens == 8 && !info.captured);
    snprintf(rank->error, sizeof rank->error, "%s", info.failure);
    m->way = ALIKE;
    RANK_OK(rank, run(m, 3));
    RANK_OK(rank, run(m, 8));
}

TEST(test_failing_bucket)
{
    static const way ways[] = {FAILING_WARM_UP, FAILING_CAPTURE, FAILING_PREPARE};
    for (int k = 0; k < 3; k++) {
        for (int size = 2; size <= 4; size += 2) {
            thread_ranks_run(size, capture_one, &(plan){ways[k], BG_LAZY_NO, true, BG_MODE_PIECEWISE});
            for (int i = 0; i < size; i++)
                EXPECT_RANK(i, BG_OK, "BG_ERROR_STOPPED");
            EXPECT_SAME_CALLS();
        }
    }
}

/* A rank that never comes is an error, and not one wait for each bucket. */
MODEL_BODY(capture_some)
{
    if (!is_last(rank))
        thread_rank_keep(rank, bg_runner_capture(m->runner));
}

TEST(test_absent)
{
    thread_ranks_run_within(0.3, 4, capture_some, &(plan){ALIKE, BG_LAZY_NO, true, BG_MODE_PIECEWISE});
    for (int i = 0; i < 3; i++) {
        EXPECT_RANK(i, BG_ERROR_RANKS, "rank 3: did not come");
        assert_int_equal(thread_ranks[i].calls, 1);
    }
}

/* ---- runs ---- */

MODEL_BODY(run_apart)
{
    const plan *p = rank->argument;

    RANK_OK(rank, bg_runner_capture(m->runner));
    thread_rank_keep(rank, run(m, m->way == ANOTHER_BATCH ? 7 : m->way == BAD_BATCH ? -1 : 3));
    /* They go on together. */
    if (p->way != ANOTHER_VETO)
        RANK_OK(rank, run(m, 8));
}

static void check_run(way way, bg_lazy lazy, bool compares, const char *mine, const char *theirs)
{
    for (int size = 2; size <= 4; size += 2) {
        const char *error = thread_ranks[size - 1].error;
        thread_ranks_run(size, run_apart, &(plan){way, lazy, compares, BG_MODE_PIECEWISE});
        EXPECT_APART(way == BAD_BATCH ? BG_ERROR_INVALID_ARGUMENT : BG_OK, mine, theirs);
        if (way == BAD_BATCH)
            assert_ptr_equal(strstr(error, "bg_runner_run: the batch has"), error);
    }
}

TEST(test_another_batch)
{
    check_run(ANOTHER_BATCH, BG_LAZY_NO, true, "3 tokens of variant 0 by the graph piecewise tokens 4",
              "7 tokens of variant 0 by the graph piecewise tokens 8");
    check_run(ANOTHER_VETO, BG_LAZY_NO, true, "by the graph piecewise tokens 4",
              "eagerly, since config.veto rejects the batch: it is odd");
    check_run(BAD_BATCH, BG_LAZY_NO, true, "by the graph piecewise tokens 4", "the batch has -1 tokens");
}

/* Without comparing choices, too: nothing is captured that the others do not need. */
TEST(test_another_lazy_bucket)
{
    check_run(ANOTHER_BATCH, BG_LAZY_ON_DEMAND, false, "piecewise tokens 4", "piecewise tokens 8");
}

/* ---- captures in the background ---- */

MODEL_BODY(idle_together)
{
    const bool last = is_last(rank);

    RANK_OK(rank, bg_runner_capture(m->runner));
    RANK_EXPECT(rank, captured(m) == 1);
    RANK_OK(rank, run(m, last ? 3 : 8)); /* of one rank the batch wants another bucket */
    RANK_OK(rank, bg_runner_idle(m->runner, last ? 0 : INT64_MAX));
    RANK_EXPECT(rank, captured(m) == 1); /* one has no time */
    thread_rank_keep(rank, bg_runner_idle(m->runner, last ? -1 : INT64_MAX));
    RANK_EXPECT(rank, captured(m) == 1);
    RANK_OK(rank, bg_runner_idle(m->runner, INT64_MAX));
    RANK_EXPECT(rank, captured(m) == 2);
    RANK_OK(rank, run(m, 3));
}

TEST(test_idle)
{
    for (int size = 2; size <= 4; size += 2) {
        thread_ranks_run(size, idle_together, &(plan){ALIKE, BG_LAZY_BACKGROUND, false, BG_MODE_PIECEWISE});
        EXPECT_APART(BG_ERROR_INVALID_ARGUMENT, "budget_us is -1", "budget_us is -1");
    }
}

/* ---- a terminal, of which the ranks have one ---- */

MODEL_BODY(capture_alike)
{
    RANK_OK(rank, bg_runner_capture(m->runner));
}

/*
 * What a function prints to standard error, which is a terminal. It has room for a few lines. A single read may come
 * before all of them have passed through the terminal: reads go on until all is read, which is when they fail, as the
 * other end is closed.
 */
static void read_terminal(void (*function)(void), char *said, size_t bytes)
{
    const int own = dup(STDERR_FILENO), terminal = posix_openpt(O_RDWR | O_NOCTTY);
    size_t used = 0;
    ssize_t count;
    int end;

    assert_true(own >= 0 && terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    end = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(end >= 0 && dup2(end, STDERR_FILENO) >= 0);
    function();
    assert_true(dup2(own, STDERR_FILENO) >= 0);
    close(end);
    while (used < bytes - 1 && (count = read(terminal, said + used, bytes - 1 - used)) > 0)
        used += (size_t)count;
    said[used] = '\0';
    close(own);
    close(terminal);
}

static void capture_with_two(void)
{
    thread_ranks_run(2, capture_alike, &(plan){ALIKE, BG_LAZY_NO, false, BG_MODE_PIECEWISE});
}

TEST(test_progress)
{
    char said[4096];
    const char *line;

    read_terminal(capture_with_two, said, sizeof said);
    line = strstr(said, "captured: 2 of 2 buckets, ");
    if (line == NULL || strstr(line + 1, "captured: ") != NULL)
        fail_msg("not shown once: %s", said);
}
