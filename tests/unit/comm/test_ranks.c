/* Captures, replays and tools of ranks that go in step, as threads of one process; and what each is told where one goes
 * another way. */
#include "tests/support/test.h"
#include "tests/support/ranks/thread_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

BG_OP(rank_scale, BG_INOUT(x), BG_VALUE(float, factor))
{
    return from_cuda(bgk_scale(args->x.data, args->x.data, args->factor, N, stream));
}

BG_EAGER_OP(rank_add, BG_IN(x), BG_INOUT(y))
{
    return from_cuda(bgk_add(args->y.data, args->y.data, args->x.data, N, stream));
}

BG_EAGER_OP(rank_other, BG_INOUT(x))
{
    return from_cuda(bgk_scale(args->x.data, args->x.data, 1, N, stream));
}

/* What the last rank, or each, does beside the others. */
typedef enum way {
    ALIKE,
    ANOTHER_BREAK, /* another op at the second break */
    MORE_BREAKS,
    ANOTHER_NAME,
    FAILING_OP, /* after the first break */
    FAILING_PASS,
    FAILING_BEGIN,
    ABSENT,
    ABORTED,
    ANOTHER_PATTERN,
    COMPARING /* its replays with the others' */
} way;

typedef struct plan {
    way way;
    int size;
    bool launch;
    bool alike_faults; /* all ranks do it */
    bg_debug debug;    /* of the last rank */
} plan;

static bool is_odd(const thread_rank *rank)
{
    const plan *p = rank->argument;
    return p->alike_faults || rank->rank == p->size - 1;
}

static way way_of(const thread_rank *rank)
{
    const plan *p = rank->argument;
    return is_odd(rank) ? p->way : ALIKE;
}

static bg_status forward(void *user, cudaStream_t stream)
{
    thread_rank *rank = user;
    way way = way_of(rank);

    BG_CALL(rank_scale, stream, .x = rank->x, .factor = 2);
    BG_CALL(rank_add, stream, .x = rank->x, .y = rank->y);
    BG_CALL(rank_scale, stream, .x = rank->x, .factor = way == FAILING_OP ? -1 : 0.5f);
    if (way == FAILING_OP)
        BG_CALL(rank_scale, stream, .x = bg_tensor_1d(rank->x.data, (bg_dtype)99, N), .factor = 1);
    if (way == FAILING_PASS)
        return BG_ERROR_STOPPED;
    if (way == ANOTHER_BREAK)
        BG_CALL(rank_other, stream, .x = rank->x);
    else
        BG_CALL(rank_add, stream, .x = rank->x, .y = rank->y);
    if (way == MORE_BREAKS)
        bg_break(stream);
    return BG_CALL(rank_scale, stream, .x = rank->y, .factor = 2);
}

static bg_capture_options options_of(thread_rank *rank)
{
    const plan *p = rank->argument;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    options.name = way_of(rank) == ANOTHER_NAME ? "decode 8" : "decode 16";
    options.launch_segments = p->launch;
    options.state = &rank->y;
    options.state_count = 1;
    rank->table.compare_choices = way_of(rank) == COMPARING;
    options.ranks = &rank->table;
    options.eager_ops = way_of(rank) == ANOTHER_PATTERN ? "rank_scale#0" : NULL;
    if (way_of(rank) == FAILING_BEGIN)
        options.worker_threads = -1;
    return options;
}

static void capture_on(thread_rank *rank)
{
    bg_capture_options options = options_of(rank);
    bg_capture *capture = NULL;
    bg_graph *graph = NULL;

    thread_rank_put(rank, &rank->y, 5);
    if (way_of(rank) == ABSENT)
        return;
    if (way_of(rank) == ABORTED) {
        RANK_OK(rank, bg_capture_begin(&capture, rank->stream, &options));
        bg_capture_abort(capture);
        return;
    }
    thread_rank_keep(rank, bg_capture_forward(&graph, forward, rank, rank->stream, &options));
    RANK_EXPECT(rank, (graph != NULL) == (rank->status == BG_OK) && rank->holds == (graph != NULL));
    if (graph == NULL) /* a pass that does not count has left no trace */
        RANK_EXPECT(rank, thread_rank_get(rank, &rank->y) == 5);
    bg_graph_destroy(graph);
}

/* Every rank has failed; each but those in `own` with RANKS and both words. */
static void expect_apart(const thread_rank *ranks, int size, const char *mine, const char *theirs, bg_status own)
{
    for (int i = 0; i < size; i++) {
        bg_status expected = i == size - 1 && own != BG_OK ? own : BG_ERROR_RANKS;
        if (ranks[i].status != expected)
            fail_msg("rank %d of %d: %s, not %s: %s", i, size, bg_status_name(ranks[i].status),
                     bg_status_name(expected), ranks[i].error);
        if ((expected == BG_ERROR_RANKS && strstr(ranks[i].error, mine) == NULL) ||
            strstr(ranks[i].error, theirs) == NULL)
            fail_msg("rank %d of %d does not name \"%s\" and \"%s\": %s", i, size, mine, theirs, ranks[i].error);
    }
}

static void check_apart(way way, const char *mine, const char *theirs, bg_status own)
{
    thread_rank ranks[THREAD_RANKS_MAX];
    for (int size = 2; size <= 4; size += 2) {
        for (int launch = 0; launch < 2; launch++) {
            plan p = {way, size, launch, false, BG_DEBUG_OFF};
            thread_ranks_run(size, 20, capture_on, &p, ranks);
            expect_apart(ranks, size, mine, theirs, own);
            for (int i = 1; i < size; i++) /* as often on all, or a rank would wait for nobody */
                assert_int_equal(ranks[i].calls, ranks[0].calls);
        }
    }
}

/* ---- captures ---- */

static void replay_on(thread_rank *rank)
{
    bg_capture_options options = options_of(rank);
    bg_graph *graph = NULL, *second = NULL;

    thread_rank_put(rank, &rank->x, 3);
    RANK_OK(rank, bg_capture_forward(&graph, forward, rank, rank->stream, &options));
    RANK_OK(rank, bg_capture_forward(&second, forward, rank, rank->stream, &options));
    RANK_EXPECT(rank, rank->holds == 2);
    if (graph == NULL || second == NULL)
        goto done;
    thread_rank_put(rank, &rank->x, 3);
    for (int i = 0; i < 3; i++) {
        thread_rank_put(rank, &rank->y, 1);
        RANK_OK(rank, bg_replay(graph, rank->stream));
        RANK_EXPECT(rank, rank->entered == 0 && rank->replays == (uint64_t)i && rank->steps == info_of(graph).steps);
        RANK_EXPECT(rank, strcmp(rank->text, "segment 2 of decode 16") == 0);
        RANK_EXPECT(rank, thread_rank_get(rank, &rank->y) == 2 * (1 + 6 + 3));
    }
done:
    bg_graph_destroy(rank->rank % 2 ? graph : second);
    bg_graph_destroy(rank->rank % 2 ? second : graph);
}

TEST(test_alike)
{
    thread_rank ranks[THREAD_RANKS_MAX];
    for (int size = 2; size <= 4; size += 2) {
        plan p = {ALIKE, size, size == 2, false, BG_DEBUG_OFF};
        thread_ranks_run(size, 20, replay_on, &p, ranks);
        for (int i = 0; i < size; i++) /* before, after three segments; twice */
            assert_int_equal(ranks[i].calls, 8);
    }
}

TEST(test_another_break)
{
    check_apart(ANOTHER_BREAK, "a break at call rank_add#1", "a break at call rank_other#0", BG_OK);
}

TEST(test_more_breaks)
{
    check_apart(MORE_BREAKS, "the end of the pass, with segments: 3, breaks: 2", "a bg_break call", BG_OK);
}

TEST(test_another_name)
{
    check_apart(ANOTHER_NAME, "before the capture of decode 16", "before the capture of decode 8", BG_OK);
}

TEST(test_another_pattern)
{
    check_apart(ANOTHER_PATTERN, "a break at call rank_add#0", "a break at call rank_scale#0", BG_OK);
}

TEST(test_failing)
{
    check_apart(FAILING_OP, "a break at call rank_add#1", "dtype 99", BG_ERROR_INVALID_ARGUMENT);
    check_apart(FAILING_PASS, "a break at call rank_add#1", "BG_ERROR_STOPPED", BG_ERROR_STOPPED);
    check_apart(FAILING_BEGIN, "it begins", "options.worker_threads is -1", BG_ERROR_INVALID_ARGUMENT);
}

/* What all ranks find is each one's own. */
TEST(test_failing_alike)
{
    thread_rank ranks[THREAD_RANKS_MAX];
    plan p = {FAILING_PASS, 2, true, true, BG_DEBUG_OFF};
    thread_ranks_run(2, 20, capture_on, &p, ranks);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ranks[i].status, BG_ERROR_STOPPED);
}

TEST(test_aborted)
{
    thread_rank ranks[THREAD_RANKS_MAX];
    plan p = {ABORTED, 2, true, false, BG_DEBUG_OFF};
    thread_ranks_run(2, 20, capture_on, &p, ranks);
    assert_int_equal(ranks[0].status, BG_ERROR_RANKS);
    assert_non_null(strstr(ranks[0].error, "it was aborted"));
}

/* A rank that does not come is an error when the time is over. */
TEST(test_absent)
{
    thread_rank ranks[THREAD_RANKS_MAX];
    plan p = {ABSENT, 4, true, false, BG_DEBUG_OFF};
    thread_ranks_run(4, 0.3, capture_on, &p, ranks);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ranks[i].status, BG_ERROR_RANKS);
        assert_non_null(strstr(ranks[i].error, "rank 3: did not come"));
        assert_int_equal(ranks[i].calls, 1);
    }
}

/* Each way to debug a pass is one that all ranks go. */
static void debug_on(thread_rank *rank)
{
    static const bg_debug modes[] = {BG_DEBUG_OFF, BG_DEBUG_FORWARD, BG_DEBUG_OPS, BG_DEBUG_SYNC, BG_DEBUG_STEP};
    for (int i = 0; i < 5; i++) {
        bg_capture_options options = options_of(rank);
        bg_graph *graph = NULL;
        options.debug = modes[i];
        RANK_OK(rank, bg_capture_forward(&graph, forward, rank, rank->stream, &options));
        if (graph == NULL)
            return;
        thread_rank_put(rank, &rank->x, 3);
        thread_rank_put(rank, &rank->y, 1);
        RANK_OK(rank, bg_replay(graph, rank->stream));
        RANK_EXPECT(rank, thread_rank_get(rank, &rank->y) == 2 * (1 + 6 + 3) && rank->entered == 0);
        bg_graph_destroy(graph);
    }
}

TEST(test_debug)
{
    thread_rank ranks[THREAD_RANKS_MAX];
    plan p = {ALIKE, 2, true, false, BG_DEBUG_OFF};
    thread_ranks_run(2, 20, debug_on, &p, ranks);
    assert_int_equal(ranks[0].calls, ranks[1].calls);
}

/* One rank alone is debugged in a way that makes more passes, or meets the others in each replay: it waits for nobody,
 * and each rank says which way. */
static void debug_alone_on(thread_rank *rank)
{
    const plan *p = rank->argument;
    bg_capture_options options = options_of(rank);
    OWNED_GRAPH(graph);

    options.debug = is_odd(rank) ? p->debug : BG_DEBUG_OFF;
    options.check = is_odd(rank) ? BG_REPLAY_CHECK_FROM_ENV : BG_REPLAY_CHECK_OFF;
    thread_rank_keep(rank, bg_capture_forward(&graph, forward, rank, rank->stream, &options));
    RANK_EXPECT(rank, graph == NULL);
}

static void check_debugged_alone(plan p, const char *plain, const char *how)
{
    thread_rank ranks[THREAD_RANKS_MAX];
    p.size = 2;
    p.launch = true;
    thread_ranks_run(2, 20, debug_alone_on, &p, ranks);
    expect_apart(ranks, 2, plain, how, BG_OK);
}

TEST(test_debugged_alone)
{
    static const char plain[] = "rank 0: it begins;";
    check_debugged_alone((plan){.debug = BG_DEBUG_FORWARD}, plain, "rank 1: it begins, in the debug mode forward");
    check_debugged_alone((plan){.debug = BG_DEBUG_STEP}, plain, "rank 1: it begins, in the debug mode step");
    check_debugged_alone((plan){.way = COMPARING}, plain, "rank 1: it begins, with compare_choices");
    assert_int_equal(setenv("BG_CHECK", "recapture", 1), 0);
    check_debugged_alone((plan){.way = ALIKE}, plain, "rank 1: it begins, with BG_CHECK=recapture");
    assert_int_equal(setenv("BG_CHECK", "poison", 1), 0);
    check_debugged_alone((plan){.way = ALIKE}, plain, "rank 1: it begins, with BG_CHECK=poison");
    assert_int_equal(unsetenv("BG_CHECK"), 0);
    assert_int_equal(setenv("BG_SHADOW", "calls", 1), 0); /* which the mode step leaves out */
    check_debugged_alone((plan){.debug = BG_DEBUG_STEP}, "rank 0: it begins, with BG_SHADOW=calls",
                         "rank 1: it begins, in the debug mode step");
    assert_int_equal(unsetenv("BG_SHADOW"), 0);
}

/* ---- the table ---- */

static void check_table(fixture *f, const bg_ranks *table, const char *text)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *capture = NULL;
    options.ranks = table;
    EXPECT_STATUS(bg_capture_begin(&capture, f->stream, &options), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR(text);
    assert_null(capture);
    expect_usable(f, f->stream);
}

static bg_status none(void *user, const char *what)
{
    (void)user, (void)what;
    return BG_ERROR_TIMEOUT;
}

static bg_status agree_never(void *user, const char *what, const char *text)
{
    (void)text;
    return none(user, what);
}

static bg_status any_never(void *user, const char *what, bool mine, bool *any)
{
    *any = mine;
    return none(user, what);
}

static void nothing(void *user)
{
    (void)user;
}

FIXTURE_TEST(test_table)
{
    const bg_ranks whole = {
        .struct_size = sizeof whole, .size = 2, .barrier = none, .agree = agree_never, .any = any_never};
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *capture = NULL;
    bg_ranks table;

    table = whole;
    table.struct_size = 3;
    check_table(f, &table, "options.ranks.struct_size is 3");
    table = whole;
    table.size = 0;
    check_table(f, &table, "options.ranks->size is 0");
    table = whole;
    table.rank = 2;
    check_table(f, &table, "options.ranks->rank is 2");
    table = whole;
    table.barrier = NULL;
    check_table(f, &table, "options.ranks->barrier is NULL");
    table = whole;
    table.agree = NULL;
    check_table(f, &table, "options.ranks->agree is NULL");
    table = whole;
    table.any = NULL;
    check_table(f, &table, "options.ranks->any is NULL");
    table = whole;
    table.retain = nothing;
    check_table(f, &table, "options.ranks->release is NULL");
    table = whole;
    table.leave = nothing;
    check_table(f, &table, "options.ranks->enter is NULL");
    /* Whoever cannot set a sentence need not. */
    options.ranks = &whole;
    EXPECT_STATUS(bg_capture_begin(&capture, f->stream, &options), BG_ERROR_TIMEOUT);
    EXPECT_ERROR("before the capture of graph");
    expect_usable(f, f->stream);
}
