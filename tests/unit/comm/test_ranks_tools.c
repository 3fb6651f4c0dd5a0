/* The debugging tools on ranks of which one alone is at fault: all go the same way, and none waits for another. */
#include "tests/support/test.h"
#include "tests/support/ranks/thread_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 9 };

typedef enum way { SOUND, FAULTY, VARYING, FAILING } way;

typedef struct plan {
    way way;
    int size, odd, at; /* the rank, and its call */
    bool calls;        /* BG_SHADOW=calls */
} plan;

static _Thread_local const thread_rank *current;
static _Thread_local int passes, bodies;

static bool is_at(way way, int number)
{
    const plan *p = current->argument;
    return p->way == way && p->odd == current->rank && p->at == number;
}

static bg_status is_captured(cudaStream_t stream, bool *is)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    bg_status result = from_cuda(cudaStreamIsCapturing(stream, &status));
    *is = status != cudaStreamCaptureStatusNone;
    return result;
}

BG_OP(tool_turn, BG_INOUT(x), BG_VALUE(int, number))
{
    float factor = args->number % 2 ? 0.5f : 2;
    bool captured;
    bg_status status = is_captured(stream, &captured);

    bodies++;
    if (captured && is_at(FAULTY, args->number))
        factor *= 1.25f;
    if (!captured && is_at(VARYING, args->number))
        factor *= 1 + (float)bodies / 64;
    return status != BG_OK ? status : from_cuda(bgk_scale(args->x.data, args->x.data, factor, N, stream));
}

static bg_status forward(void *user, cudaStream_t stream)
{
    const thread_rank *rank = user;
    bg_status status = BG_OK;

    passes++;
    for (int i = 0; i < CALLS && status == BG_OK; i++)
        status = BG_CALL(tool_turn, stream, .x = rank->x, .number = i);
    return is_at(FAILING, passes) ? BG_ERROR_STOPPED : status;
}

static void begin(thread_rank *rank)
{
    current = rank;
    passes = bodies = 0;
    thread_rank_put(rank, &rank->x, 3);
}

/* The report's findings, as text; how the pass was run stays in rank->replays. */
static void keep(thread_rank *rank, bg_status status, bg_report *report)
{
    thread_rank_keep(rank, status);
    rank->replays = (uint64_t)passes;
    RANK_EXPECT(rank, thread_rank_get(rank, &rank->x) == 3);
    for (int i = 0; report != NULL && i < bg_report_count(report); i++) {
        bg_finding finding = BG_FINDING_INIT;
        RANK_OK(rank, bg_report_get(report, i, &finding));
        snprintf(rank->error + strlen(rank->error), sizeof rank->error - strlen(rank->error), "%s %s;", finding.kind,
                 finding.call);
    }
    bg_report_destroy(report);
}

static void bisect(thread_rank *rank)
{
    bg_compare_options options = BG_COMPARE_OPTIONS_INIT;
    bg_report *report = NULL;
    bg_status status;

    begin(rank);
    options.ranks = &rank->table;
    status = bg_bisect(forward, rank, rank->stream, &options, &report);
    keep(rank, status, report);
}

static void shadow(thread_rank *rank)
{
    bg_compare_options options = BG_COMPARE_OPTIONS_INIT;
    bg_report *report = NULL;
    bg_status status;

    begin(rank);
    options.ranks = &rank->table;
    options.outputs_only = true;
    options.repeats = 2;
    status = bg_shadow(forward, rank, rank->stream, &options, &report);
    keep(rank, status, report);
}

static void expect_same_way(const thread_rank *ranks, int size)
{
    for (int i = 1; i < size; i++) {
        assert_int_equal(ranks[i].calls, ranks[0].calls);
        assert_int_equal(ranks[i].replays, ranks[0].replays);
    }
}

/* The fault is on one rank: its call is every rank's culprit. */
TEST(test_bisect)
{
    thread_rank ranks[THREAD_RANKS_MAX];
    for (int at = 0; at < CALLS; at += 4) {
        for (int size = 2; size <= 4; size += 2) {
            plan p = {FAULTY, size, at % size, at, false};
            char expected[64];
            snprintf(expected, sizeof expected, "culprit tool_turn#%d;", at);
            thread_ranks_run(size, 20, bisect, &p, ranks);
            for (int i = 0; i < size; i++) {
                assert_int_equal(ranks[i].status, BG_OK);
                assert_string_equal(ranks[i].error, expected);
            }
            expect_same_way(ranks, size);
        }
    }
}

TEST(test_bisect_sound)
{
    thread_rank ranks[THREAD_RANKS_MAX];
    plan p = {SOUND, 2, 0, 0, false};
    thread_ranks_run(2, 20, bisect, &p, ranks);
    assert_string_equal(ranks[0].error, "");
    assert_string_equal(ranks[1].error, "");
    expect_same_way(ranks, 2);
}

/* One rank's pass is nondeterministic: no rank searches. */
TEST(test_bisect_varying)
{
    thread_rank ranks[THREAD_RANKS_MAX];
    plan p = {VARYING, 2, 1, 4, false};
    thread_ranks_run(2, 20, bisect, &p, ranks);
    assert_non_null(strstr(ranks[0].error, "nondeterministic"));
    assert_string_equal(ranks[1].error, "nondeterministic tool_turn#4;");
    expect_same_way(ranks, 2);
}

/* A rank that has to give up tells the others, who do not wait for it. */
static void check_failing(thread_body body, const char *tool)
{
    thread_rank ranks[THREAD_RANKS_MAX];
    for (int k = 0; k < 6; k++) {
        plan p = {FAILING, 2 + k / 3 * 2, 1, 1 + k % 3, false}; /* eagerly, at capture, eagerly once more */
        thread_ranks_run(p.size, 20, body, &p, ranks);
        for (int i = 0; i < p.size; i++) {
            assert_int_equal(ranks[i].status, i == 1 ? BG_ERROR_STOPPED : BG_ERROR_RANKS);
            assert_non_null(strstr(ranks[i].error, tool));
            assert_non_null(strstr(ranks[i].error, "BG_ERROR_STOPPED"));
            assert_int_equal(ranks[i].calls, ranks[0].calls);
        }
    }
}

TEST(test_failing)
{
    check_failing(bisect, "bg_bisect");
    check_failing(shadow, "bg_shadow");
}

/* The others go call by call, too, and find nothing. */
TEST(test_shadow)
{
    thread_rank ranks[THREAD_RANKS_MAX];
    for (int size = 2; size <= 4; size += 2) {
        plan p = {FAULTY, size, 1, 5, false};
        thread_ranks_run(size, 20, shadow, &p, ranks);
        for (int i = 0; i < size; i++) {
            assert_int_equal(ranks[i].status, BG_OK);
            assert_int_equal(strstr(ranks[i].error, "mismatch-origin tool_turn#5;") != NULL, i == 1);
            assert_int_equal(ranks[i].error[0] == '\0', i != 1);
        }
        expect_same_way(ranks, size);
    }
}

/* ---- bg_step ---- */

static bool go_on(void *user, const bg_step_info *info)
{
    const thread_rank *rank = user;
    const plan *p = rank->argument;
    return rank->rank != p->odd || info->index != p->at;
}

static bg_status forward_with_break(void *user, cudaStream_t stream)
{
    bg_status status = forward(user, stream);
    if (status == BG_OK)
        status = bg_break(stream);
    return status == BG_OK ? forward(user, stream) : status;
}

static void step(thread_rank *rank)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_report *report = NULL;
    bg_graph *graph = NULL;
    bg_status status;

    begin(rank);
    options.ranks = &rank->table;
    RANK_OK(rank, bg_capture_forward(&graph, forward_with_break, rank, rank->stream, &options));
    if (graph == NULL)
        return;
    thread_rank_put(rank, &rank->x, 3);
    status = bg_step(graph, rank->stream, go_on, rank, &report);
    RANK_EXPECT(rank, thread_rank_get(rank, &rank->x) != 3 * 2 * 2); /* the second segment has not run */
    thread_rank_put(rank, &rank->x, 3);
    keep(rank, status, report);
    bg_graph_destroy(graph);
}

/* A rank that is told to stop in the first segment stops all after it. */
TEST(test_step)
{
    thread_rank ranks[THREAD_RANKS_MAX];
    plan p = {SOUND, 4, 2, 3, false};
    thread_ranks_run(4, 20, step, &p, ranks);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(ranks[i].status, BG_OK);
        assert_non_null(strstr(ranks[i].error, "stopped"));
        assert_int_equal(ranks[i].calls, ranks[0].calls);
    }
}

/* ---- BG_SHADOW ---- */

static void replay_shadowed(thread_rank *rank)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    const plan *p = rank->argument;
    float factor = p->way == FAULTY && p->odd == rank->rank ? 2.5f : 2;
    bg_graph *graph = NULL;

    begin(rank);
    options.ranks = &rank->table;
    RANK_OK(rank, bg_capture_forward(&graph, forward, rank, rank->stream, &options));
    for (int i = 0; graph != NULL && i < 3; i++) {
        thread_rank_put(rank, &rank->x, 3);
        thread_rank_keep(rank, bg_replay(graph, rank->stream));
        RANK_OK(rank, rank->status);
        RANK_EXPECT(rank, thread_rank_get(rank, &rank->x) == 3 * factor);
        RANK_EXPECT(rank, rank->entered == 0);
    }
    bg_graph_destroy(graph);
    rank->replays = (uint64_t)passes;
}

/* How often each rank ran the pass: at capture, in each replay, and once one rank differs more often on all. */
TEST(test_every_replay)
{
    thread_rank ranks[THREAD_RANKS_MAX];
    uint64_t sound = 0;
    for (int k = 0; k < 4; k++) {
        plan p = {k % 2 ? FAULTY : SOUND, 2 + k / 2 * 2, 1, 6, k >= 2};
        assert_int_equal(setenv("BG_SHADOW", p.calls ? "calls" : "1", 1), 0);
        thread_ranks_run(p.size, 20, replay_shadowed, &p, ranks);
        assert_int_equal(unsetenv("BG_SHADOW"), 0);
        expect_same_way(ranks, p.size);
        if (p.way == SOUND)
            sound = ranks[0].replays;
        else
            assert_true(ranks[0].replays > sound);
    }
}
