/* Compile levels of ranks, as threads of one process: what one drops none uses, and the bodies run as often on each. */
#include "tests/support/ranks/thread_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hostcuda/hostcuda.h>

#pragma weak hostcuda_fail

/* What the last rank does beside the others. */
typedef enum way { ALIKE, WRONG_OP, FAILING_CALLS, NO_MATCH, KNOWN, KNOWN_WRONG, FAILING_FORWARD, FAILING_PROOF } way;

static struct {
    way way;
    const void *odd;    /* the last rank's x */
    _Atomic bool alone; /* the last rank captures without the others */
    _Atomic int bodies[THREAD_RANKS_MAX];
    bg_fusion_state state[THREAD_RANKS_MAX];
    char why[THREAD_RANKS_MAX][200];
    char error[THREAD_RANKS_MAX][1000];
    const void *x[THREAD_RANKS_MAX];
} now;

static bool is_odd(const bg_tensor *x)
{
    return x->data == now.odd;
}

/* How many bodies have run on this rank. */
static int count_body(const bg_tensor *x)
{
    for (int i = 0; i < THREAD_RANKS_MAX; i++)
        if (now.x[i] == x->data)
            return ++now.bodies[i];
    return 0;
}

BG_OP(rank_times, BG_INOUT(x), BG_OUT(y), BG_VALUE(float, factor))
{
    int bodies = count_body(&args->x);
    if (now.way == FAILING_CALLS && is_odd(&args->x) && bodies > 2) /* the pass has two */
        return BG_ERROR_OP;
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}

BG_OP(rank_both, BG_INOUT(x), BG_OUT(y), BG_VALUE(float, first), BG_VALUE(float, second))
{
    bool wrong = (now.way == WRONG_OP || (now.way == KNOWN_WRONG && now.alone)) && is_odd(&args->x);
    if (now.way == FAILING_PROOF && is_odd(&args->x)) /* the next copy of either rank */
        assert_int_equal(hostcuda_fail("cudaMemcpyAsync@1=cudaErrorUnknown"), 0);
    count_body(&args->x);
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->second + (wrong ? 1 : 0), N, stream));
}

BG_RULE(rank_both, rank_times, rank_times)
{
    if (now.way == NO_MATCH && is_odd(&a0->x))
        return false;
    *args = (rank_both_args){.x = a0->x, .y = a0->y, .first = a0->factor, .second = a1->factor};
    return true;
}

static bg_status forward(void *user, cudaStream_t stream)
{
    thread_rank *rank = user;
    /* what is known of a rule is known for values */
    float first = now.way == KNOWN_WRONG ? 8 : now.way != KNOWN ? 2 : is_odd(&rank->x) ? 4 : 6;
    first += now.way == KNOWN_WRONG && is_odd(&rank->x);
    bg_status status = BG_CALL(rank_times, stream, .x = rank->x, .y = rank->y, .factor = first);
    if (now.way == FAILING_FORWARD && is_odd(&rank->x))
        return BG_ERROR_OP;
    return status != BG_OK ? status : BG_CALL(rank_times, stream, .x = rank->x, .y = rank->y, .factor = 3);
}

static void note_tensors(const thread_rank *rank)
{
    now.x[rank->rank] = rank->x.data;
    if (rank->rank == rank->size - 1)
        now.odd = rank->x.data;
}

static void prove_alone(thread_rank *rank, const bg_capture_options *options)
{
    bg_compile_info info = BG_COMPILE_INFO_INIT;
    OWNED_GRAPH(graph);

    RANK_OK(rank, bg_capture_forward(&graph, forward, rank, rank->stream, options));
    RANK_OK(rank, bg_graph_get_compile_info(graph, &info));
    RANK_EXPECT(rank, info.applied == (now.way == KNOWN));
}

static void capture_on(thread_rank *rank)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_fusion fusion = BG_FUSION_INIT;
    OWNED_GRAPH(graph);

    note_tensors(rank);
    thread_rank_put(rank, &rank->x, 5);
    options.level = BG_LEVEL_ONCE;
    if ((now.way == KNOWN || now.way == KNOWN_WRONG) && rank->rank == rank->size - 1) {
        now.alone = true;
        prove_alone(rank, &options);
        now.alone = false;
    }
    options.ranks = &rank->table;
    thread_rank_keep(rank, bg_capture_forward(&graph, forward, rank, rank->stream, &options));
    snprintf(now.error[rank->rank], sizeof now.error[0], "%s", bg_last_error());
    if (rank->status != BG_OK)
        return;
    RANK_OK(rank, bg_graph_get_fusion(graph, 0, &fusion));
    now.state[rank->rank] = fusion.state;
    snprintf(now.why[rank->rank], sizeof now.why[0], "%s", fusion.why);
    RANK_EXPECT(rank, thread_rank_get(rank, &rank->y) == 15);
    RANK_OK(rank, bg_replay(graph, rank->stream));
    RANK_EXPECT(rank, thread_rank_get(rank, &rank->y) == 15);
}

static void run(way way, int size)
{
    memset(&now, 0, sizeof now);
    now.way = way;
    assert_int_equal(setenv("BG_COMPILE_PROVE", way == KNOWN || way == KNOWN_WRONG ? "once" : "always", 1), 0);
    thread_ranks_run(size, capture_on, NULL);
    assert_int_equal(unsetenv("BG_COMPILE_PROVE"), 0);
}

static void expect_dropped(way way, bg_fusion_state own, const char *why)
{
    for (int size = 2; size <= THREAD_RANKS_MAX; size++) {
        run(way, size);
        for (int i = 0; i < size; i++) {
            bool odd = i == size - 1;
            EXPECT_RANK(i, BG_OK, "");
            assert_int_equal(now.state[i], odd ? own : BG_FUSION_UNPROVEN);
            if (strstr(now.why[i], odd ? why : "another rank does not use this rule") == NULL)
                fail_msg("rank %d: %s", i, now.why[i]);
            if (way != FAILING_CALLS) /* whose first body ends the proof */
                assert_int_equal(now.bodies[i], now.bodies[0]);
        }
    }
}

TEST(test_alike)
{
    run(ALIKE, THREAD_RANKS_MAX);
    for (int i = 0; i < THREAD_RANKS_MAX; i++) {
        assert_int_equal(now.state[i], BG_FUSION_APPLIED);
        assert_int_equal(now.bodies[i], now.bodies[0]);
    }
}

TEST(test_wrong_op)
{
    expect_dropped(WRONG_OP, BG_FUSION_DIFFERS, "y of rank_times#1 differs");
}

TEST(test_failing_calls)
{
    expect_dropped(FAILING_CALLS, BG_FUSION_UNPROVEN, "the calls cannot run again");
}

/* The others hear why, though they are about to compare rules. */
TEST(test_failing_forward)
{
    run(FAILING_FORWARD, 2);
    EXPECT_RANK(0, BG_ERROR_RANKS, "it failed: the forward pass returned BG_ERROR_OP");
    EXPECT_RANK(1, BG_ERROR_OP, "the forward pass returned BG_ERROR_OP");
}

TESTS_ON_HOST_DEVICE("that calls fail on request");
/* Both hear why at once. */
TEST(test_failing_proof)
{
    run(FAILING_PROOF, 2);
    assert_int_equal(hostcuda_fail(NULL), 0);
    for (int i = 0; i < 2; i++)
        if (strstr(now.error[i], "cudaMemcpyAsync failed with cudaErrorUnknown") == NULL)
            fail_msg("rank %d: %s", i, now.error[i]);
}
TESTS_ON_ANY_DEVICE;

/* Ranks whose graphs compute differently would drift apart. */
TEST(test_no_match)
{
    run(NO_MATCH, 2);
    for (int i = 0; i < 2; i++) {
        EXPECT_RANK(i, BG_OK, "");
        assert_int_equal(now.state[i], BG_FUSION_REFUSED);
    }
    assert_non_null(strstr(now.why[0], "another rank does not use this rule"));
    assert_non_null(strstr(now.why[1], "declines these arguments"));
}

/* One rank has proven the rule before, alone. */
TEST(test_known_on_one_rank)
{
    run(KNOWN, 2);
    for (int i = 0; i < 2; i++) {
        EXPECT_RANK(i, BG_OK, "");
        if (now.state[i] != BG_FUSION_APPLIED)
            fail_msg("rank %d: %s", i, now.why[i]);
    }
}

/* What one rank has found wrong is not proven by data that does not tell. */
TEST(test_known_to_be_wrong_on_one_rank)
{
    run(KNOWN_WRONG, 2);
    for (int i = 0; i < 2; i++)
        EXPECT_RANK(i, BG_OK, "");
    assert_int_equal(now.state[0], BG_FUSION_REFUSED);
    assert_int_equal(now.state[1], BG_FUSION_DIFFERS);
}
