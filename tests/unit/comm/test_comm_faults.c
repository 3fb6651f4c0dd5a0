/* A rank that dies, stops, leaves, is slow or does something else: an error that names it on every rank, and no hang.
 */
#include "tests/support/test.h"
#include <stdint.h>
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- ranks that go -------------------------------------------------------------------------------------------- */

static int killed_before_barrier(struct member *m)
{
    bg_comm *comm = NULL;
    double start = seconds_now();
    char sentence[160];
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    if (is_last(m))
        raise(SIGKILL);
    (void)snprintf(sentence, sizeof sentence, "rank %d has ended", m->size - 1);
    EXPECT_SAID(bg_comm_barrier(comm, "before the capture"), BG_ERROR_RANKS, sentence);
    EXPECT(seconds_now() - start < SOON);
    bg_comm_destroy(comm);
    return 0;
}

/* It waits in the barrier when it is killed, by a process of its own; the first rank comes to it later, and may find
 * that all have come. */
static int killed_in_barrier(struct member *m)
{
    bg_comm *comm = NULL;
    char sentence[160];
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    if (is_last(m)) {
        pid_t self = getpid();
        if (fork() == 0) {
            pass_time(0.2);
            kill(self, SIGKILL);
            _exit(tell_ready(m));
        }
    }
    if (m->rank == 0 && await_ready(m))
        return 1;
    (void)snprintf(sentence, sizeof sentence, "rank %d has ended", m->size - 1);
    (void)bg_comm_barrier(comm, "before the capture");
    EXPECT_SAID(bg_comm_barrier(comm, "after the capture"), BG_ERROR_RANKS, sentence);
    bg_comm_destroy(comm);
    return 0;
}

/* Rank 0, which all others are connected to. */
static int zero_killed(struct member *m)
{
    bg_comm *comm = NULL;
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    if (m->rank == 0)
        raise(SIGKILL);
    EXPECT_SAID(bg_comm_barrier(comm, "before the capture"), BG_ERROR_RANKS, "rank 0 has ended");
    bg_comm_destroy(comm);
    return 0;
}

static int leaves(struct member *m)
{
    bg_comm *comm = NULL;
    char sentence[160];
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    EXPECT_BG(bg_comm_barrier(comm, "the first"));
    if (is_last(m)) {
        bg_comm_destroy(comm);
        return 0;
    }
    (void)snprintf(sentence, sizeof sentence, "rank %d has left the job, and rank 0 waits for it at \"the second\"",
                   m->size - 1);
    EXPECT_SAID(bg_comm_barrier(comm, "the second"), BG_ERROR_RANKS, sentence);
    bg_comm_destroy(comm);
    return 0;
}

TEST(test_ranks_that_go)
{
    need_ranks(2);
    for (int size = 2; size <= ranks_possible(); size *= 2) {
        run_members_but(size, killed_before_barrier, NULL, size - 1, SIGKILL);
        run_members_but(size, killed_in_barrier, NULL, size - 1, SIGKILL);
        run_members_but(size, zero_killed, NULL, 0, SIGKILL);
        run_members(size, leaves, NULL);
    }
}

/* The others are in a stream's wait, which ends with the communicator. */
static int killed_at_replay(struct member *m)
{
    struct member_model model = {0};
    double start = seconds_now();
    char sentence[160];
    if (model_prepare(m, &model) || model_replay(&model))
        return 1;
    EXPECT_CUDA(cudaStreamSynchronize(model.stream));
    EXPECT_BG(bg_comm_barrier(model.comm, "between"));
    if (is_last(m))
        raise(SIGKILL);
    (void)snprintf(sentence, sizeof sentence, "rank %d has ended", m->size - 1);
    if (model_replay(&model)) /* it may be known already */
        EXPECT_SAID(bg_comm_check(model.comm), BG_ERROR_RANKS, sentence);
    (void)cudaStreamSynchronize(model.stream);
    EXPECT_SAID(bg_comm_check(model.comm), BG_ERROR_RANKS, sentence);
    EXPECT(seconds_now() - start < SOON);
    return model_end(&model);
}

TEST(test_killed_at_replay)
{
    need_ranks(2);
    for (int size = 2; size <= ranks_possible(); size *= 2)
        run_members_but(size, killed_at_replay, NULL, size - 1, SIGKILL);
}

/* ---- ranks that take too long --------------------------------------------------------------------------------- */

/* All hear where each rank is. */
static int does_not_come(struct member *m)
{
    bg_comm *comm = NULL;
    char sentence[160];
    m->options.timeout = 1;
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    EXPECT_BG(bg_comm_barrier(comm, "the first"));
    if (is_last(m)) {
        while (bg_comm_check(comm) == BG_OK)
            pass_time(0.01);
        EXPECT_SAID(bg_comm_check(comm), BG_ERROR_RANKS, "has waited 1 s at \"the second\"");
    }
    EXPECT_SAID(bg_comm_barrier(comm, "the second"), BG_ERROR_RANKS, "has waited 1 s at \"the second\"");
    EXPECT_SAID(bg_comm_barrier(comm, "the third"), BG_ERROR_RANKS,
                m->size == 2 ? " rank 0: waits at \"the second\"" : " ranks 0-2: waits at \"the second\"");
    (void)snprintf(sentence, sizeof sentence,
                   "rank %d: not in a replay; the last call made with the others was \"the first\"", m->size - 1);
    EXPECT_SAID(bg_comm_barrier(comm, "the third"), BG_ERROR_RANKS, sentence);
    bg_comm_destroy(comm);
    return 0;
}

/* Rank 0 is the one that does not come. */
static int zero_does_not_come(struct member *m)
{
    bg_comm *comm = NULL;
    m->options.timeout = 1;
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    EXPECT_BG(bg_comm_barrier(comm, "the first"));
    while (m->rank == 0 && bg_comm_check(comm) == BG_OK)
        pass_time(0.01);
    EXPECT_SAID(bg_comm_barrier(comm, "the second"), BG_ERROR_RANKS, "has waited 1 s at \"the second\"");
    EXPECT_SAID(bg_comm_check(comm), BG_ERROR_RANKS,
                "rank 0: not in a replay; the last call made with the others was \"the first\"");
    EXPECT_SAID(bg_comm_check(comm), BG_ERROR_RANKS,
                m->size == 2 ? " rank 1: waits at \"the second\"" : " ranks 1-3: waits at \"the second\"");
    bg_comm_destroy(comm);
    return 0;
}

/* A stopped process does not answer; it is killed at the end. */
static int stops(struct member *m)
{
    bg_comm *comm = NULL;
    const int *odd = m->argument;
    char sentence[160];
    m->options.timeout = 1;
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    EXPECT_BG(bg_comm_barrier(comm, "the first"));
    if (m->rank == *odd)
        raise(SIGSTOP);
    (void)snprintf(sentence, sizeof sentence, "rank %d: does not answer", *odd);
    EXPECT_SAID(bg_comm_barrier(comm, "the second"), BG_ERROR_RANKS, sentence);
    bg_comm_destroy(comm);
    return 0;
}

/* The second rank has sent its part, and stops before it reads what rank 0 has gathered, which no socket holds. */
static int stops_at_answer(struct member *m)
{
    const size_t bytes = (size_t)16 << 20;
    bg_comm *comm = NULL;
    char *mine = calloc(bytes, 1), *all = calloc(bytes, (size_t)m->size);
    EXPECT(mine && all);
    m->options.timeout = 2;
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    if (m->rank == 1 && fork() == 0) {
        pass_time(0.7);
        kill(getppid(), SIGSTOP);
        _exit(0);
    }
    if (m->rank == 2)
        pass_time(1);
    EXPECT_SAID(bg_comm_gather(comm, "a lot", mine, bytes, all), BG_ERROR_RANKS, "rank 1: does not answer");
    bg_comm_destroy(comm);
    free(mine);
    free(all);
    return 0;
}

TEST(test_stops_at_answer)
{
    need_ranks(3);
    run_members_but(3, stops_at_answer, NULL, 1, SIGKILL);
}

static int slow(struct member *m)
{
    bg_comm *comm = NULL;
    m->options.timeout = 5;
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    for (int i = 0; i < m->size; i++) {
        if (m->rank == i)
            pass_time(0.5);
        EXPECT_BG(bg_comm_barrier(comm, "with a slow rank"));
    }
    bg_comm_destroy(comm);
    return 0;
}

TEST(test_too_late)
{
    need_ranks(2);
    for (int size = 2; size <= ranks_possible(); size *= 2) {
        int last = size - 1, zero = 0;
        run_members(size, slow, NULL);
        run_members(size, does_not_come, NULL);
        run_members(size, zero_does_not_come, NULL);
        run_members_but(size, stops, &last, last, SIGKILL);
        run_members_but(size, stops, &zero, zero, SIGKILL);
    }
}

/* ---- the watchdog --------------------------------------------------------------------------------------------- */

/* The last rank does not replay. The others wait for their streams, and get out. */
static int replays_alone(struct member *m)
{
    struct member_model model = {0};
    double start = seconds_now();
    char sentence[160];
    m->options.watchdog = 1;
    if (model_prepare(m, &model) || model_replay(&model))
        return 1;
    EXPECT_CUDA(cudaStreamSynchronize(model.stream));
    EXPECT_BG(bg_comm_barrier(model.comm, "the choice of batch 1"));
    if (!is_last(m) && model_replay(&model))
        return 1;
    while (is_last(m) && bg_comm_check(model.comm) == BG_OK)
        pass_time(0.01);
    (void)cudaStreamSynchronize(model.stream);
    EXPECT_SAID(bg_comm_check(model.comm), BG_ERROR_RANKS, "has made no progress for 1 s");
    EXPECT_SAID(bg_comm_check(model.comm), BG_ERROR_RANKS,
                m->size == 2 ? " rank 0: bucket 8, replay 1, step 1 of 2 (segment 0) has not finished; the last"
                             : " ranks 0-2: bucket 8, replay 1, step 1 of 2 (segment 0) has not finished; the last");
    (void)snprintf(sentence, sizeof sentence,
                   "rank %d: not in a replay; the last was bucket 8, replay 0; the last call made with the others "
                   "was \"the choice of batch",
                   m->size - 1);
    EXPECT_SAID(bg_comm_check(model.comm), BG_ERROR_RANKS, sentence);
    EXPECT_SAID(model.ranks->enter(model.ranks->user, "bucket 8", 9, 1), BG_ERROR_RANKS,
                "has made no progress for 1 s");
    EXPECT(seconds_now() - start < SOON);
    return model_end(&model);
}

TEST(test_watchdog)
{
    need_ranks(2);
    for (int size = 2; size <= ranks_possible(); size *= 2) {
        int given_up = 0;
        run_members(size, replays_alone, NULL);
        for (int i = 0; i < size; i++) {
            bool gives_up = strstr(members_said[i], "gives up: the replay on rank ") != NULL;
            given_up += gives_up;
            if (!gives_up && !strstr(members_said[i], "has aborted its communicator")) /* an earlier one has */
                fail_msg("rank %d said: %s", i, members_said[i]);
        }
        assert_true(given_up > 0);
    }
}

/* A replay within an eager run: when it is queued, the run is not. */
static int nested(struct member *m)
{
    struct member_model model = {0};
    m->options.watchdog = 0.3;
    if (model_prepare(m, &model))
        return 1;
    EXPECT_BG(model.ranks->enter(model.ranks->user, "the outer", 7, 3));
    EXPECT_BG(model.ranks->enter(model.ranks->user, "the inner", 0, 1));
    EXPECT_BG(model.ranks->step(model.ranks->user, 0, "segment 0", model.stream));
    EXPECT_CUDA(cudaStreamSynchronize(model.stream));
    model.ranks->leave(model.ranks->user);
    while (bg_comm_check(model.comm) == BG_OK)
        pass_time(0.01);
    EXPECT_SAID(bg_comm_check(model.comm), BG_ERROR_RANKS,
                "rank 0: the outer, replay 7, has queued none of its 3 steps");
    model.ranks->leave(model.ranks->user);
    return model_end(&model);
}

TEST(test_nested)
{
    need_ranks(1);
    run_members(1, nested, NULL);
}

/* Slower than usual, and no fault. */
static int slow_replay(struct member *m)
{
    struct member_model model = {0};
    m->options.watchdog = 3;
    if (model_prepare(m, &model))
        return 1;
    for (int round = 0; round < 2; round++) {
        if (m->rank == round)
            pass_time(1);
        if (model_replay(&model))
            return 1;
        EXPECT_CUDA(cudaStreamSynchronize(model.stream));
    }
    EXPECT_BG(bg_comm_barrier(model.comm, "the end"));
    return model_end(&model);
}

TEST(test_slow_replay)
{
    need_ranks(2);
    run_members(2, slow_replay, NULL);
    assert_string_equal(members_said[0], "");
    assert_string_equal(members_said[1], "");
}

/* A replay moves again after its rank has called for a verdict, which waits for the last rank: that one sleeps. Nothing
 * has failed on any rank. The next one that does not move fails, and the sentence tells where the ranks are then. */
static int moves_again(struct member *m)
{
    const int *slow = m->argument;
    const bg_ranks *ranks;
    bg_comm *comm = NULL;
    m->options.watchdog = 1;
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    ranks = bg_comm_ranks(comm);
    EXPECT_BG(bg_comm_barrier(comm, "the first"));
    if (is_last(m)) {
        if (fork() == 0) {
            pass_time(4);
            kill(getppid(), SIGCONT);
            _exit(0);
        }
        raise(SIGSTOP);
    } else if (m->rank == *slow) {
        EXPECT_BG(ranks->enter(ranks->user, "bucket 4", 0, 1));
        pass_time(2);
        ranks->leave(ranks->user);
    }
    EXPECT_BG(bg_comm_barrier(comm, "the second"));
    if (m->rank == *slow)
        EXPECT_BG(ranks->enter(ranks->user, "bucket 8", 1, 1));
    while (bg_comm_check(comm) == BG_OK)
        pass_time(0.01);
    EXPECT_SAID(bg_comm_check(comm), BG_ERROR_RANKS, "has made no progress for 1 s");
    EXPECT_SAID(bg_comm_check(comm), BG_ERROR_RANKS, "bucket 8, replay 1, has queued none of its 1 steps");
    EXPECT_SAID(bg_comm_check(comm), BG_ERROR_RANKS,
                "2: not in a replay; the last call made with the others was \"the second\"");
    if (m->rank == *slow)
        ranks->leave(ranks->user);
    bg_comm_destroy(comm);
    return 0;
}

TEST(test_moves_again)
{
    need_ranks(3);
    for (int slow = 0; slow < 2; slow++)
        run_members(3, moves_again, &slow);
}

/* The last rank gives up; the others are freed from their streams. */
static int aborted(struct member *m)
{
    struct member_model model = {0};
    char sentence[160];
    if (model_prepare(m, &model))
        return 1;
    if (is_last(m))
        bg_comm_abort(model.comm, "its input is gone");
    else if (model_replay(&model) == 0)
        (void)cudaStreamSynchronize(model.stream);
    (void)snprintf(sentence, sizeof sentence, "rank %d has aborted: its input is gone", m->size - 1);
    EXPECT_SAID(bg_comm_barrier(model.comm, "x"), BG_ERROR_RANKS, sentence);
    EXPECT_SAID(bg_comm_check(model.comm), BG_ERROR_RANKS, sentence);
    while (bg_comm_nccl(model.comm))
        pass_time(0.01);
    EXPECT_SAID(bg_comm_check(NULL), BG_ERROR_INVALID_ARGUMENT, "comm is NULL");
    EXPECT(!bg_comm_nccl(model.comm) && strstr(bg_last_error(), sentence)); /* for the op that asks */
    return model_end(&model);
}

TEST(test_abort)
{
    need_ranks(2);
    for (int size = 2; size <= ranks_possible(); size *= 2)
        run_members(size, aborted, NULL);
}

/* ---- after the abort -------------------------------------------------------------------------------------------- */

static int bodies;

/* A call's values are its graph's for as long as that lives: not NCCL's communicator, which goes with a failure. */
BG_EAGER_OP(asking_sum, BG_INOUT(x), BG_VALUE(bg_comm *, comm))
{
    ncclComm_t nccl = bg_comm_nccl(args->comm);
    bodies++;
    if (!nccl)
        return bg_comm_check(args->comm);
    return ncclAllReduce(args->x.data, args->x.data, 1, ncclInt, ncclSum, nccl, stream) == ncclSuccess ? BG_OK
                                                                                                       : BG_ERROR_NCCL;
}

static bg_status forward_asking(void *user, cudaStream_t stream)
{
    const struct member_model *model = user;
    bg_tensor x = bg_tensor_1d(model->device, BG_I32, 1);
    bg_status status = model_forward(user, stream);
    return status == BG_OK ? BG_CALL(asking_sum, stream, .x = x, .comm = model->comm) : status;
}

/* Graphs and the communicator go in either order; nothing asks NCCL for what it has freed. */
static int used_after_abort(struct member *m)
{
    const bool *graph_first = m->argument;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    struct member_model model = {0};
    bg_graph *graph = NULL;
    int before;
    if (model_prepare(m, &model))
        return 1;
    options.ranks = model.ranks;
    EXPECT_BG(forward_asking(&model, model.stream));
    EXPECT_BG(bg_capture_forward(&graph, forward_asking, &model, model.stream, &options));
    EXPECT_BG(bg_replay(graph, model.stream));
    EXPECT_CUDA(cudaStreamSynchronize(model.stream));
    EXPECT_BG(bg_comm_barrier(model.comm, "the last"));
    if (is_last(m))
        bg_comm_abort(model.comm, "its input is gone");
    while (bg_comm_nccl(model.comm))
        pass_time(0.01);
    before = bodies;
    EXPECT_SAID(bg_replay(graph, model.stream), BG_ERROR_RANKS, "has aborted: its input is gone");
    EXPECT(bodies == before);
    EXPECT_SAID(BG_CALL(asking_sum, model.stream, .x = bg_tensor_1d(model.device, BG_I32, 1), .comm = model.comm),
                BG_ERROR_RANKS, "has aborted: its input is gone");
    bg_comm_abort(model.comm, "again");
    if (*graph_first)
        bg_graph_destroy(graph);
    bg_comm_destroy(model.comm);
    model.comm = NULL;
    if (!*graph_first) {
        EXPECT_SAID(bg_replay(graph, model.stream), BG_ERROR_RANKS, "has aborted: its input is gone");
        bg_graph_destroy(graph);
    }
    return model_end(&model);
}

TEST(test_used_after_abort)
{
    const bool graph_first[] = {true, false};
    need_ranks(2);
    for (int i = 0; i < 2; i++)
        run_members(2, used_after_abort, &graph_first[i]);
}

/* ---- other replays --------------------------------------------------------------------------------------------- */

/* The last rank replays another graph, whose collective has the same size. */
static int replays_another(struct member *m)
{
    static const char *const names[] = {"bucket 8", "bucket 4"};
    struct member_model model = {0};
    bg_graph *graphs[2] = {NULL, NULL};
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;

    EXPECT(setenv("BG_RANKS_COMPARE", "1", 1) == 0);
    if (model_prepare(m, &model))
        return 1;
    options.ranks = model.ranks;
    for (int i = 0; i < 2; i++) {
        options.name = names[i];
        EXPECT_BG(bg_capture_forward(&graphs[i], model_forward, &model, model.stream, &options));
        EXPECT_BG(bg_replay(graphs[i], model.stream));
    }
    EXPECT_SAID(bg_replay(graphs[is_last(m)], model.stream), BG_ERROR_RANKS, "rank 0: \"a replay of bucket 8\"");
    EXPECT(strstr(bg_last_error(), "\"a replay of bucket 4\""));
    bg_graph_destroy(graphs[0]);
    bg_graph_destroy(graphs[1]);
    return model_end(&model);
}

TEST(test_another_replay)
{
    need_ranks(2);
    run_members(2, replays_another, NULL);
}

/* Destroyed with a replay in flight that the others never join: the watchdog ends it. */
static int destroyed_in_flight(struct member *m)
{
    struct member_model model = {0};
    m->options.watchdog = 1;
    if (model_prepare(m, &model))
        return 1;
    if (m->rank > 0 && model_replay(&model))
        return 1;
    while (m->rank == 0 && bg_comm_check(model.comm) == BG_OK)
        pass_time(0.01);
    return model_end(&model);
}

TEST(test_destroyed_in_flight)
{
    need_ranks(2);
    run_members(2, destroyed_in_flight, NULL);
}
#else
SKIP_PROGRAM("there is no NCCL");
#endif
