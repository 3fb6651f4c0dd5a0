/* The debugging tools on ranks of which one alone is at fault: all go the same way, and none waits for another. */
#include "tests/support/ranks/thread_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 9 };

typedef enum way { SOUND, FAULTY, VARYING, FAILING } way;

typedef struct plan {
    way way;
    int odd, at; /* the rank, and its call */
} plan;

static _Thread_local const thread_rank *current;
static _Thread_local int passes, bodies;

static bool is_at(way way, int number)
{
    const plan *p = current->argument;
    return p->way == way && p->odd == current->rank && p->at == number;
}

BG_OP(tool_turn, BG_INOUT(x), BG_VALUE(int, number))
{
    float factor = args->number % 2 ? 0.5f : 2;
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    bg_status status = from_cuda(cudaStreamIsCapturing(stream, &capture));
    bool captured = capture != cudaStreamCaptureStatusNone;

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
static void keep(thread_rank *rank, bg_status status, bg_report *const *report)
{
    thread_rank_keep(rank, status);
    rank->replays = (uint64_t)passes;
    RANK_EXPECT(rank, thread_rank_get(rank, &rank->x) == 3);
    for (int i = 0; *report != NULL && i < bg_report_count(*report); i++) {
        bg_finding finding = BG_FINDING_INIT;
        RANK_OK(rank, bg_report_get(*report, i, &finding));
        snprintf(rank->error + strlen(rank->error), sizeof rank->error - strlen(rank->error), "%s %s;", finding.kind,
                 finding.call);
    }
}

static void bisect(thread_rank *rank)
{
    bg_compare_options options = BG_COMPARE_OPTIONS_INIT;
    OWNED_REPORT(report);

    begin(rank);
    options.ranks = &rank->table;
    keep(rank, bg_bisect(forward, rank, rank->stream, &options, &report), &report);
}

static void shadow(thread_rank *rank)
{
    bg_compare_options options = BG_COMPARE_OPTIONS_INIT;
    OWNED_REPORT(report);

    begin(rank);
    options.ranks = &rank->table;
    options.outputs_only = true;
    options.repeats = 2;
    keep(rank, bg_shadow(forward, rank, rank->stream, &options, &report), &report);
}

static void expect_same_way(void)
{
    EXPECT_SAME_CALLS();
    for (int i = 1; i < thread_ranks[0].size; i++)
        assert_int_equal(thread_ranks[i].replays, thread_ranks[0].replays);
}

/* Every rank has found these, and has gone the same way. */
static void expect_found(const char *findings)
{
    for (int i = 0; i < thread_ranks[0].size; i++) {
        EXPECT_RANK(i, BG_OK, "");
        assert_string_equal(thread_ranks[i].error, findings);
    }
    expect_same_way();
}

/* The fault is on one rank: its call is every rank's culprit. */
TEST(test_bisect)
{
    for (int at = 0; at < CALLS; at += 4) {
        for (int size = 2; size <= 4; size += 2) {
            char expected[64];
            snprintf(expected, sizeof expected, "culprit tool_turn#%d;", at);
            thread_ranks_run(size, bisect, &(plan){FAULTY, at % size, at});
            expect_found(expected);
        }
    }
}

TEST(test_bisect_sound)
{
    thread_ranks_run(2, bisect, &(plan){SOUND, 0, 0});
    expect_found("");
}

/* One rank's pass is nondeterministic: no rank searches. */
TEST(test_bisect_varying)
{
    thread_ranks_run(2, bisect, &(plan){VARYING, 1, 4});
    assert_non_null(strstr(thread_ranks[0].error, "nondeterministic"));
    assert_string_equal(thread_ranks[1].error, "nondeterministic tool_turn#4;");
    expect_same_way();
}

/* A rank that has to give up tells the others, who do not wait for it. */
static void check_failing(thread_body body, const char *tool)
{
    for (int k = 0; k < 6; k++) {
        thread_ranks_run(2 + k / 3 * 2, body, &(plan){FAILING, 1, 1 + k % 3}); /* eagerly, at capture, eagerly again */
        for (int i = 0; i < thread_ranks[0].size; i++) {
            EXPECT_RANK(i, i == 1 ? BG_ERROR_STOPPED : BG_ERROR_RANKS, "BG_ERROR_STOPPED");
            assert_non_null(strstr(thread_ranks[i].error, tool));
        }
        EXPECT_SAME_CALLS();
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
    for (int size = 2; size <= 4; size += 2) {
        thread_ranks_run(size, shadow, &(plan){FAULTY, 1, 5});
        for (int i = 0; i < size; i++) {
            EXPECT_RANK(i, BG_OK, i == 1 ? "mismatch-origin tool_turn#5;" : "");
            assert_int_equal(thread_ranks[i].error[0] == '\0', i != 1);
        }
        expect_same_way();
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
    OWNED_GRAPH(graph);
    OWNED_REPORT(report);
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
    keep(rank, status, &report);
}

/* A rank that is told to stop in the first segment stops all after it. */
TEST(test_step)
{
    thread_ranks_run(4, step, &(plan){SOUND, 2, 3});
    for (int i = 0; i < 4; i++)
        EXPECT_RANK(i, BG_OK, "stopped");
    EXPECT_SAME_CALLS();
}

/* ---- BG_SHADOW ---- */

static void replay_shadowed(thread_rank *rank)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    const plan *p = rank->argument;
    float factor = p->way == FAULTY && p->odd == rank->rank ? 2.5f : 2;
    OWNED_GRAPH(graph);

    begin(rank);
    options.ranks = &rank->table;
    RANK_OK(rank, bg_capture_forward(&graph, forward, rank, rank->stream, &options));
    for (int i = 0; graph != NULL && i < 3; i++) {
        thread_rank_put(rank, &rank->x, 3);
        RANK_OK(rank, bg_replay(graph, rank->stream));
        RANK_EXPECT(rank, thread_rank_get(rank, &rank->x) == 3 * factor);
        RANK_EXPECT(rank, rank->entered == 0);
    }
    rank->replays = (uint64_t)passes;
}

/* How often each rank ran the pass: at capture, in each replay, and once one rank differs more often on all. */
TEST(test_every_replay)
{
    uint64_t sound = 0;
    for (int k = 0; k < 4; k++) {
        plan p = {k % 2 ? FAULTY : SOUND, 1, 6};
        assert_int_equal(setenv("BG_SHADOW", k >= 2 ? "calls" : "1", 1), 0);
        thread_ranks_run(2 + k / 2 * 2, replay_shadowed, &p);
        assert_int_equal(unsetenv("BG_SHADOW"), 0);
        expect_same_way();
        if (p.way == SOUND)
            sound = thread_ranks[0].replays;
        else
            assert_true(thread_ranks[0].replays > sound);
    }
}
