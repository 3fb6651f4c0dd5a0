/* A rank that dies, stops, leaves, is slow or does something else: an error that names it on every rank, and no hang.
 */
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- ranks that go -------------------------------------------------------------------------------------------- */

static void killed_before_barrier(struct member *m)
{
    EXPECT_BG(join(m));
    if (is_last(m))
        raise(SIGKILL);
    EXPECT_RANKS(bg_comm_barrier(m->comm, "before the capture"), "rank %d has ended", m->size - 1);
    EXPECT(seconds_passed(m) < SOON);
}

/* It waits in the barrier when it is killed, by a process of its own; the first rank comes to it later, and may find
 * that all have come. */
static void killed_in_barrier(struct member *m)
{
    EXPECT_BG(join(m));
    if (is_last(m))
        signal_later(m, 0.2, SIGKILL);
    if (m->rank == 0)
        await_ready(m);
    (void)bg_comm_barrier(m->comm, "before the capture");
    EXPECT_RANKS(bg_comm_barrier(m->comm, "after the capture"), "rank %d has ended", m->size - 1);
}

/* Rank 0, which all others are connected to. */
static void zero_killed(struct member *m)
{
    EXPECT_BG(join(m));
    if (m->rank == 0)
        raise(SIGKILL);
    EXPECT_RANKS(bg_comm_barrier(m->comm, "before the capture"), "rank 0 has ended");
}

static void leaves(struct member *m)
{
    EXPECT_BG(join(m));
    EXPECT_BG(bg_comm_barrier(m->comm, "the first"));
    if (!is_last(m))
        EXPECT_RANKS(bg_comm_barrier(m->comm, "the second"),
                     "rank %d has left the job, and rank 0 waits for it at \"the second\"", m->size - 1);
}

TEST(test_ranks_that_go)
{
    run_sizes_last_killed(2, killed_before_barrier, NULL);
    run_sizes_last_killed(2, killed_in_barrier, NULL);
    for (int size = 2; size <= ranks_possible(); size *= 2)
        run_members_but(size, zero_killed, NULL, 0, SIGKILL);
    run_sizes(2, leaves, NULL);
}

/* The others are in a stream's wait, which ends with the communicator. */
RANKS_TEST(test_killed_at_replay, run_sizes_last_killed, 2)
{
    model_prepare(m);
    model_replay(m);
    EXPECT_CUDA(cudaStreamSynchronize(m->stream));
    EXPECT_BG(bg_comm_barrier(m->comm, "between"));
    if (is_last(m))
        raise(SIGKILL);
    if (model_try(m) != BG_OK) /* it may be known already */
        EXPECT_FAILED(m, "rank %d has ended", m->size - 1);
    (void)cudaStreamSynchronize(m->stream);
    EXPECT_FAILED(m, "rank %d has ended", m->size - 1);
    EXPECT(seconds_passed(m) < SOON);
}

/* ---- ranks that take too long --------------------------------------------------------------------------------- */

/* With a timeout of a second, and one call made together. */
static void join_in_haste(struct member *m)
{
    m->options.timeout = 1;
    EXPECT_BG(join(m));
    EXPECT_BG(bg_comm_barrier(m->comm, "the first"));
}

/* All hear where each rank is. */
static void does_not_come(struct member *m)
{
    join_in_haste(m);
    if (is_last(m)) {
        await_failure(m);
        EXPECT_FAILED(m, "has waited 1 s at \"the second\"");
    }
    EXPECT_RANKS(bg_comm_barrier(m->comm, "the second"), "has waited 1 s at \"the second\"");
    EXPECT_RANKS(bg_comm_barrier(m->comm, "the third"), " %s: waits at \"the second\"", the_others(m));
    EXPECT_RANKS(bg_comm_barrier(m->comm, "the third"),
                 "rank %d: not in a replay; its last exchange with the others was \"the first\"", m->size - 1);
}

/* Rank 0 is the one that does not come. */
static void zero_does_not_come(struct member *m)
{
    join_in_haste(m);
    if (m->rank == 0)
        await_failure(m);
    EXPECT_RANKS(bg_comm_barrier(m->comm, "the second"), "has waited 1 s at \"the second\"");
    EXPECT_FAILED(m, "rank 0: not in a replay; its last exchange with the others was \"the first\"");
    EXPECT_FAILED(m, m->size == 2 ? " rank 1: waits at \"the second\"" : " ranks 1-3: waits at \"the second\"");
}

/* A stopped process does not answer; it is killed at the end. */
static void stops(struct member *m)
{
    const int *odd = m->argument;
    join_in_haste(m);
    if (m->rank == *odd)
        raise(SIGSTOP);
    EXPECT_RANKS(bg_comm_barrier(m->comm, "the second"), "rank %d: does not answer", *odd);
}

/* The second rank has sent its part, and stops before it reads what rank 0 has gathered, which no socket holds. */
static void stops_at_answer(struct member *m)
{
    const size_t bytes = (size_t)16 << 20;
    char *mine = calloc(bytes, 1), *all = calloc(bytes, (size_t)m->size);
    EXPECT(mine && all);
    m->options.timeout = 2;
    EXPECT_BG(join(m));
    if (m->rank == 1)
        signal_later(m, 0.7, SIGSTOP);
    if (m->rank == 2)
        pass_time(1);
    EXPECT_RANKS(bg_comm_gather(m->comm, "a lot", mine, bytes, all), "rank 1: does not answer");
    free(mine);
    free(all);
}

TEST(test_stops_at_answer)
{
    run_members_but(3, stops_at_answer, NULL, 1, SIGKILL);
}

static void slow(struct member *m)
{
    m->options.timeout = 5;
    EXPECT_BG(join(m));
    for (int i = 0; i < m->size; i++) {
        if (m->rank == i)
            pass_time(0.5);
        EXPECT_BG(bg_comm_barrier(m->comm, "with a slow rank"));
    }
}

DEEP_TEST(test_too_late);
TEST(test_too_late)
{
    run_sizes(2, slow, NULL);
    run_sizes(2, does_not_come, NULL);
    run_sizes(2, zero_does_not_come, NULL);
    for (int size = 2; size <= ranks_possible(); size *= 2)
        for (int odd = 0; odd < size; odd += size - 1)
            run_members_but(size, stops, &odd, odd, SIGKILL);
}

/* ---- the watchdog --------------------------------------------------------------------------------------------- */

/* The last rank does not replay. The others wait for their streams, and get out. */
static void replays_alone(struct member *m)
{
    m->options.watchdog = 1;
    model_prepare(m);
    model_replay(m);
    EXPECT_CUDA(cudaStreamSynchronize(m->stream));
    EXPECT_BG(bg_comm_barrier(m->comm, "the choice of batch 1"));
    if (is_last(m))
        await_failure(m);
    else
        model_replay(m);
    (void)cudaStreamSynchronize(m->stream);
    EXPECT_FAILED(m, "has made no progress for 1 s");
    EXPECT_FAILED(m, " %s: bucket 8, replay 1, step 1 of 2 (segment 0) has not finished; its last", the_others(m));
    EXPECT_FAILED(m,
                  "rank %d: not in a replay; the last was bucket 8, replay 0; its last exchange with the others was "
                  "\"the choice of batch",
                  m->size - 1);
    EXPECT_RANKS(m->ranks->enter(m->ranks->user, "bucket 8", 9, 1), "has made no progress for 1 s");
    EXPECT(seconds_passed(m) < SOON);
}

TEST(test_watchdog)
{
    need_ranks(2);
    for (int size = 2; size <= ranks_possible(); size *= 2) {
        int given_up = 0;
        run_members(size, replays_alone, NULL);
        for (int i = 0; i < size; i++) {
            bool gives_up = strstr(members_said[i], "aborts its communicator: the replay on rank ") != NULL;
            given_up += gives_up;
            if (!gives_up && !strstr(members_said[i], "has aborted its communicator")) /* an earlier one has */
                fail_msg("rank %d said: %s", i, members_said[i]);
        }
        assert_true(given_up > 0);
    }
}

/* A replay within an eager run: when it is queued, the run is not. */
MEMBERS_TEST(test_nested, 1)
{
    m->options.watchdog = 0.3;
    model_prepare(m);
    EXPECT_BG(m->ranks->enter(m->ranks->user, "the outer", 7, 3));
    EXPECT_BG(m->ranks->enter(m->ranks->user, "the inner", 0, 1));
    EXPECT_BG(m->ranks->step(m->ranks->user, 0, "segment 0", m->stream));
    EXPECT_CUDA(cudaStreamSynchronize(m->stream));
    m->ranks->leave(m->ranks->user);
    await_failure(m);
    EXPECT_FAILED(m, "rank 0: the outer, replay 7, has queued none of its 3 steps");
    m->ranks->leave(m->ranks->user);
}

/* Slower than usual, and no fault. */
static void slow_replay(struct member *m)
{
    m->options.watchdog = 3;
    model_prepare(m);
    for (int round = 0; round < 2; round++) {
        if (m->rank == round)
            pass_time(1);
        model_replay(m);
        EXPECT_CUDA(cudaStreamSynchronize(m->stream));
    }
    EXPECT_BG(bg_comm_barrier(m->comm, "the end"));
}

TEST(test_slow_replay)
{
    run_members(2, slow_replay, NULL);
    assert_string_equal(members_said[0], "");
    assert_string_equal(members_said[1], "");
}

/* A replay moves again after its rank has called for a verdict, which waits for the last rank: that one sleeps. Nothing
 * has failed on any rank. The next one that does not move fails, and the sentence tells where the ranks are then. */
static void moves_again(struct member *m)
{
    const bool is_slow = m->rank == *(const int *)m->argument;
    m->options.watchdog = 1;
    EXPECT_BG(join(m));
    EXPECT_BG(bg_comm_barrier(m->comm, "the first"));
    if (is_last(m)) {
        signal_later(m, 4, SIGCONT);
        raise(SIGSTOP);
    } else if (is_slow) {
        EXPECT_BG(m->ranks->enter(m->ranks->user, "bucket 4", 0, 1));
        pass_time(2);
        m->ranks->leave(m->ranks->user);
    }
    EXPECT_BG(bg_comm_barrier(m->comm, "the second"));
    if (is_slow)
        EXPECT_BG(m->ranks->enter(m->ranks->user, "bucket 8", 1, 1));
    await_failure(m);
    EXPECT_FAILED(m, "has made no progress for 1 s");
    EXPECT_FAILED(m, "bucket 8, replay 1, has queued none of its 1 steps");
    EXPECT_FAILED(m, "2: not in a replay; its last exchange with the others was \"the second\"");
    if (is_slow)
        m->ranks->leave(m->ranks->user);
}

DEEP_TEST(test_moves_again);
TEST(test_moves_again)
{
    for (int slow = 0; slow < 2; slow++)
        run_members(3, moves_again, &slow);
}

/* The last rank gives up; the others are freed from their streams. */
SIZES_TEST(test_abort, 2)
{
    static const char sentence[] = "rank %d has aborted: its input is gone";
    model_prepare(m);
    if (is_last(m))
        bg_comm_abort(m->comm, "its input is gone");
    else if (model_try(m) == BG_OK)
        (void)cudaStreamSynchronize(m->stream);
    EXPECT_RANKS(bg_comm_barrier(m->comm, "x"), sentence, m->size - 1);
    EXPECT_FAILED(m, sentence, m->size - 1);
    while (bg_comm_nccl(m->comm))
        pass_time(0.01);
    EXPECT_SAID(bg_comm_check(NULL), BG_ERROR_INVALID_ARGUMENT, "comm is NULL");
    EXPECT_RANKS(bg_comm_nccl(m->comm) ? BG_OK : BG_ERROR_RANKS, sentence, m->size - 1); /* for the op */
}

/* ---- after the abort -------------------------------------------------------------------------------------------- */

static int bodies;

/* A call's values are its graph's for as long as that lives: not NCCL's communicator, which goes with a failure. */
BG_EAGER_OP(asking_sum, BG_INOUT(x), BG_VALUE(bg_comm *, comm))
{
    ncclComm_t nccl = bg_comm_nccl(args->comm);
    bodies++;
    return nccl ? sum_number(args->x.data, nccl, stream) : bg_comm_check(args->comm);
}

static bg_status forward_asking(void *user, cudaStream_t stream)
{
    const struct member *m = user;
    bg_tensor x = bg_tensor_1d(m->device, BG_I32, 1);
    bg_status status = model_forward(user, stream);
    return status == BG_OK ? BG_CALL(asking_sum, stream, .x = x, .comm = m->comm) : status;
}

/* Graphs and the communicator go in either order; nothing asks NCCL for what it has freed. */
static void used_after_abort(struct member *m)
{
    const bool *graph_first = m->argument;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *graph = NULL;
    int before;
    model_prepare(m);
    options.ranks = m->ranks;
    EXPECT_BG(forward_asking(m, m->stream));
    EXPECT_BG(bg_capture_forward(&graph, forward_asking, m, m->stream, &options));
    EXPECT_BG(bg_replay(graph, m->stream));
    EXPECT_CUDA(cudaStreamSynchronize(m->stream));
    EXPECT_BG(bg_comm_barrier(m->comm, "the last"));
    if (is_last(m))
        bg_comm_abort(m->comm, "its input is gone");
    while (bg_comm_nccl(m->comm))
        pass_time(0.01);
    before = bodies;
    EXPECT_RANKS(bg_replay(graph, m->stream), "has aborted: its input is gone");
    EXPECT(bodies == before);
    EXPECT_RANKS(BG_CALL(asking_sum, m->stream, .x = bg_tensor_1d(m->device, BG_I32, 1), .comm = m->comm),
                 "has aborted: its input is gone");
    bg_comm_abort(m->comm, "again");
    if (*graph_first)
        bg_graph_destroy(graph);
    bg_comm_destroy(m->comm);
    m->comm = NULL;
    if (!*graph_first) {
        EXPECT_RANKS(bg_replay(graph, m->stream), "has aborted: its input is gone");
        bg_graph_destroy(graph);
    }
}

TEST(test_used_after_abort)
{
    for (int i = 0; i < 2; i++)
        run_members(2, used_after_abort, &(const bool){i == 0});
}

/* ---- other replays --------------------------------------------------------------------------------------------- */

/* The last rank replays another graph, whose collective has the same size. */
MEMBERS_TEST(test_another_replay, 2)
{
    static const char *const names[] = {"bucket 8", "bucket 4"};
    bg_graph *graphs[2] = {NULL, NULL};
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;

    EXPECT(setenv("BG_RANKS_COMPARE", "1", 1) == 0);
    model_prepare(m);
    options.ranks = m->ranks;
    for (int i = 0; i < 2; i++) {
        options.name = names[i];
        EXPECT_BG(bg_capture_forward(&graphs[i], model_forward, m, m->stream, &options));
        EXPECT_BG(bg_replay(graphs[i], m->stream));
    }
    EXPECT_RANKS(bg_replay(graphs[is_last(m)], m->stream), "rank 0: \"a replay of bucket 8\"");
    EXPECT(strstr(bg_last_error(), "\"a replay of bucket 4\""));
    bg_graph_destroy(graphs[0]);
    bg_graph_destroy(graphs[1]);
}

/* Destroyed with a replay in flight that the others never join: the watchdog ends it. */
MEMBERS_TEST(test_destroyed_in_flight, 2)
{
    m->options.watchdog = 1;
    model_prepare(m);
    if (m->rank > 0)
        model_replay(m);
    else
        await_failure(m);
}
#endif
