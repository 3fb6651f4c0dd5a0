/* Captures, replays and tools of ranks that go in step, as threads of one process; and what each is told where one goes
 * another way. */
#include "tests/support/ops.h"
#include "tests/support/ranks/thread_ranks.h"

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
    bool launch;
    bool alike_faults; /* all ranks do it */
    bg_debug debug;    /* of the last rank */
} plan;

static bool is_odd(const thread_rank *rank)
{
    const plan *p = rank->argument;
    return p->alike_faults || rank->rank == rank->size - 1;
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
        BG_CALL(eager_scale, stream, .x = rank->x, .factor = 1);
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
    OWNED_GRAPH(graph);

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
}

/* The last rank goes another way, and all are told both, or it has an error of its own. */
static void check_apart(way way, const char *mine, const char *theirs, bg_status own)
{
    for (int k = 0; k < 4; k++) {
        plan p = {.way = way, .launch = k % 2};
        thread_ranks_run(k < 2 ? 2 : 4, capture_on, &p);
        EXPECT_APART(own, mine, theirs);
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
    thread_rank_put(rank, &rank->x, 3);
    for (int i = 0; i < 3 && graph != NULL; i++) {
        thread_rank_put(rank, &rank->y, 1);
        RANK_OK(rank, bg_replay(graph, rank->stream));
        RANK_EXPECT(rank, rank->entered == 0 && rank->replays == (uint64_t)i && rank->steps == info_of(graph).steps);
        RANK_EXPECT(rank, strcmp(rank->text, "segment 2 of decode 16") == 0);
        RANK_EXPECT(rank, thread_rank_get(rank, &rank->y) == 2 * (1 + 6 + 3));
    }
    bg_graph_destroy(rank->rank % 2 ? graph : second);
    bg_graph_destroy(rank->rank % 2 ? second : graph);
}

TEST(test_alike)
{
    for (int size = 2; size <= 4; size += 2) {
        thread_ranks_run(size, replay_on, &(plan){.launch = size == 2});
        for (int i = 0; i < size; i++) /* before, after three segments; twice */
            assert_int_equal(thread_ranks[i].calls, 8);
    }
}

TEST(test_another_break)
{
    check_apart(ANOTHER_BREAK, "a break at call rank_add#1", "a break at call eager_scale#0", BG_OK);
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
    thread_ranks_run(2, capture_on, &(plan){.way = FAILING_PASS, .launch = true, .alike_faults = true});
    for (int i = 0; i < 2; i++)
        EXPECT_RANK(i, BG_ERROR_STOPPED, "");
}

TEST(test_aborted)
{
    thread_ranks_run(2, capture_on, &(plan){.way = ABORTED, .launch = true});
    EXPECT_RANK(0, BG_ERROR_RANKS, "it was aborted");
}

/* A rank that does not come is an error when the time is over. */
TEST(test_absent)
{
    thread_ranks_run_within(0.3, 4, capture_on, &(plan){.way = ABSENT, .launch = true});
    for (int i = 0; i < 3; i++) {
        EXPECT_RANK(i, BG_ERROR_RANKS, "rank 3: did not come");
        assert_int_equal(thread_ranks[i].calls, 1);
    }
}

/* Each way to debug a pass is one that all ranks go. */
static void debug_on(thread_rank *rank)
{
    static const bg_debug modes[] = {BG_DEBUG_OFF, BG_DEBUG_FORWARD, BG_DEBUG_OPS, BG_DEBUG_SYNC, BG_DEBUG_STEP};
    for (int i = 0; i < 5; i++) {
        bg_capture_options options = options_of(rank);
        OWNED_GRAPH(graph);
        options.debug = modes[i];
        RANK_OK(rank, bg_capture_forward(&graph, forward, rank, rank->stream, &options));
        if (graph == NULL)
            return;
        thread_rank_put(rank, &rank->x, 3);
        thread_rank_put(rank, &rank->y, 1);
        RANK_OK(rank, bg_replay(graph, rank->stream));
        RANK_EXPECT(rank, thread_rank_get(rank, &rank->y) == 2 * (1 + 6 + 3) && rank->entered == 0);
    }
}

TEST(test_debug)
{
    thread_ranks_run(2, debug_on, &(plan){.launch = true});
    EXPECT_SAME_CALLS();
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

TEST(test_debugged_alone)
{
    static const char plain[] = "rank 0: it begins;";
    static const struct alone {
        bg_debug debug;
        way way;
        const char *variable, *value; /* NULL: none */
        const char *mine, *theirs;
    } rows[] = {
        {BG_DEBUG_FORWARD, ALIKE, NULL, NULL, plain, "rank 1: it begins, in the debug mode forward"},
        {BG_DEBUG_STEP, ALIKE, NULL, NULL, plain, "rank 1: it begins, in the debug mode step"},
        {BG_DEBUG_FROM_ENV, COMPARING, NULL, NULL, plain, "rank 1: it begins, with compare_choices"},
        {BG_DEBUG_FROM_ENV, ALIKE, "BG_CHECK", "recapture", plain, "rank 1: it begins, with BG_CHECK=recapture"},
        {BG_DEBUG_FROM_ENV, ALIKE, "BG_CHECK", "poison", plain, "rank 1: it begins, with BG_CHECK=poison"},
        /* which the mode step leaves out */
        {BG_DEBUG_STEP, ALIKE, "BG_SHADOW", "calls", "rank 0: it begins, with BG_SHADOW=calls",
         "rank 1: it begins, in the debug mode step"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        plan p = {.way = rows[i].way, .launch = true, .debug = rows[i].debug};
        if (rows[i].variable != NULL)
            assert_int_equal(setenv(rows[i].variable, rows[i].value, 1), 0);
        thread_ranks_run(2, debug_alone_on, &p);
        EXPECT_APART(BG_OK, rows[i].mine, rows[i].theirs);
        if (rows[i].variable != NULL)
            assert_int_equal(unsetenv(rows[i].variable), 0);
    }
}

/* ---- the table ---- */

static void expect_begin(fixture *f, const bg_ranks *table, bg_status expected, const char *text)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *capture = NULL;
    options.ranks = table;
    EXPECT_STATUS(bg_capture_begin(&capture, f->stream, &options), expected);
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

static const bg_ranks whole = {
    .struct_size = sizeof whole, .size = 2, .barrier = none, .agree = agree_never, .any = any_never};

#define CHECK_TABLE(member, value, text)                                                                               \
    do {                                                                                                               \
        bg_ranks table = whole;                                                                                        \
        table.member = value;                                                                                          \
        expect_begin(f, &table, BG_ERROR_INVALID_ARGUMENT, "options.ranks" text);                                      \
    } while (0)

FIXTURE_TEST(test_table)
{
    CHECK_TABLE(struct_size, 3, ".struct_size is 3");
    CHECK_TABLE(size, 0, "->size is 0");
    CHECK_TABLE(rank, 2, "->rank is 2");
    CHECK_TABLE(barrier, NULL, "->barrier is NULL");
    CHECK_TABLE(agree, NULL, "->agree is NULL");
    CHECK_TABLE(any, NULL, "->any is NULL");
    CHECK_TABLE(retain, nothing, "->release is NULL");
    CHECK_TABLE(leave, nothing, "->enter is NULL");
    /* Whoever cannot set a sentence need not. */
    expect_begin(f, &whole, BG_ERROR_TIMEOUT, "before the capture of graph");
}
