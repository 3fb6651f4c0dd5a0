/* Ranks of one job: what they do together, captured collectives, disagreements, and ends in any order. */
#include "tests/support/test.h"
#include <stdint.h>
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- together ------------------------------------------------------------------------------------------------- */

static int operations(struct member *m, bg_comm *comm)
{
    int64_t largest = 0, all[RANKS_MAX], mine = 100 + m->rank;
    const bg_ranks *ranks = bg_comm_ranks(comm);
    bool any = true;
    EXPECT(bg_comm_rank(comm) == m->rank && bg_comm_size(comm) == m->size);
    EXPECT(ranks->rank == m->rank && ranks->size == m->size && ranks->struct_size == sizeof *ranks);
    for (int round = 0; round < 20; round++) {
        EXPECT_BG(bg_comm_barrier(comm, "before the capture of bucket 8"));
        EXPECT_BG(bg_comm_gather(comm, "numbers", &mine, sizeof mine, all));
        for (int i = 0; i < m->size; i++)
            EXPECT(all[i] == 100 + i);
        EXPECT_BG(bg_comm_max(comm, "padding", round % 2 ? mine : -mine, &largest));
        EXPECT(largest == (round % 2 ? 99 + m->size : -100));
        EXPECT_BG(bg_comm_agree(comm, "the configuration", "schedule=1,2,4"));
        EXPECT_BG(ranks->barrier(ranks->user, "after the warm-up"));
        EXPECT_BG(ranks->agree(ranks->user, "choice", "bucket 8"));
        EXPECT_BG(ranks->any(ranks->user, "failed", m->rank == round % m->size && round < 10, &any));
        EXPECT(any == (round < 10));
        EXPECT_BG(bg_comm_check(comm));
    }
    return 0;
}

static int large(struct member *m, bg_comm *comm)
{
    enum { BYTES = 3 << 20 };
    char *all = malloc((size_t)BYTES * (size_t)m->size), *mine = malloc(BYTES);
    bool good = true;
    EXPECT(all && mine);
    memset(mine, 'a' + m->rank, BYTES);
    EXPECT_BG(bg_comm_gather(comm, "large", mine, BYTES, all));
    for (int i = 0; i < m->size; i++)
        good = good && all[(size_t)i * BYTES] == 'a' + i && all[((size_t)i + 1) * BYTES - 1] == 'a' + i;
    EXPECT(good);
    memset(mine, 'x', BYTES - 1);
    mine[BYTES - 1] = '\0';
    EXPECT_BG(bg_comm_agree(comm, "a long text", mine));
    EXPECT_SAID(bg_comm_gather(comm, "too large", mine, (size_t)1 << 30, all), BG_ERROR_INVALID_ARGUMENT, "too many");
    EXPECT_BG(bg_comm_barrier(comm, "and it goes on"));
    free(all);
    free(mine);
    return 0;
}

static int together(struct member *m)
{
    bg_comm *comm = NULL;
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    if (operations(m, comm) || large(m, comm))
        return 1;
    bg_comm_destroy(comm);
    return 0;
}

TEST(test_together)
{
    need_ranks(1);
    for (int size = 1; size <= ranks_possible(); size *= 2)
        run_members(size, together, NULL);
}

static int wrong_arguments(struct member *m)
{
    bg_comm *comm = NULL;
    int64_t one = 1;
    (void)m;
    EXPECT_SAID(bg_comm_create(NULL, NULL), BG_ERROR_INVALID_ARGUMENT, "comm is NULL");
    EXPECT_BG(bg_comm_create(&comm, NULL)); /* one rank, as nothing says otherwise */
    EXPECT_SAID(bg_comm_barrier(NULL, "x"), BG_ERROR_INVALID_ARGUMENT, "comm is NULL");
    EXPECT_SAID(bg_comm_barrier(comm, NULL), BG_ERROR_INVALID_ARGUMENT, "what is NULL");
    EXPECT_SAID(bg_comm_agree(comm, "x", NULL), BG_ERROR_INVALID_ARGUMENT, "text is NULL");
    EXPECT_SAID(bg_comm_max(comm, "x", 1, NULL), BG_ERROR_INVALID_ARGUMENT, "largest is NULL");
    EXPECT_SAID(bg_comm_gather(comm, "x", NULL, 1, &one), BG_ERROR_INVALID_ARGUMENT, "mine is NULL");
    EXPECT_SAID(bg_comm_ranks(comm)->any(comm, NULL, true, NULL), BG_ERROR_INVALID_ARGUMENT, "what is NULL");
    EXPECT_SAID(bg_comm_ranks(comm)->any(comm, "x", true, NULL), BG_ERROR_INVALID_ARGUMENT, "any is NULL");
    EXPECT_SAID(bg_comm_check(NULL), BG_ERROR_INVALID_ARGUMENT, "comm is NULL");
    EXPECT(!bg_comm_nccl(NULL) && !bg_comm_ranks(NULL));
    bg_comm_abort(NULL, "x");
    bg_comm_destroy(NULL);
    bg_comm_destroy(comm);
    return 0;
}

TEST(test_wrong_arguments)
{
    need_ranks(1);
    run_members(1, wrong_arguments, NULL);
}

/* ---- collectives in graphs ------------------------------------------------------------------------------------ */

static int replay_once(struct member *m, const struct member_model *model, int round)
{
    const bg_ranks *ranks = model->ranks;
    int host = round + m->rank, expected = 0;
    for (int i = 0; i < m->size; i++)
        expected += round + i;
    EXPECT_CUDA(cudaMemcpyAsync(model->device, &host, sizeof host, cudaMemcpyHostToDevice, model->stream));
    EXPECT_BG(ranks->enter(ranks->user, "bucket 1", (uint64_t)round, 1));
    EXPECT_BG(bg_replay(model->graph, model->stream));
    EXPECT_BG(ranks->step(ranks->user, 0, "segment 0", model->stream));
    ranks->leave(ranks->user);
    EXPECT_CUDA(cudaMemcpyAsync(&host, model->device, sizeof host, cudaMemcpyDeviceToHost, model->stream));
    EXPECT_CUDA(cudaStreamSynchronize(model->stream));
    EXPECT(host == expected);
    return 0;
}

/* More replays than the watchdog has events, with a watchdog that looks all the time. */
static int captured(struct member *m)
{
    struct member_model model = {0};
    m->options.watchdog = 0.5;
    if (model_prepare(m, &model))
        return 1;
    for (int round = 0; round < 300; round++)
        if (replay_once(m, &model, round))
            return 1;
    EXPECT_BG(bg_comm_check(model.comm));
    return model_end(&model);
}

TEST(test_captured)
{
    need_ranks(1);
    for (int size = 1; size <= ranks_possible(); size *= 2)
        run_members(size, captured, NULL);
}

/* A rank that waits for the others on the host must not keep them waiting for its device. */
static int one_waits(struct member *m)
{
    struct member_model model = {0};
    double start = seconds_now();
    if (model_open(m, &model))
        return 1;
    if (m->rank > 0)
        EXPECT_CUDA(cudaStreamSynchronize(model.stream));
    EXPECT_BG(bg_comm_barrier(model.comm, "the end"));
    EXPECT(seconds_now() - start < 30);
    if (model_free(&model))
        return 1;
    bg_comm_destroy(model.comm);
    return 0;
}

TEST(test_one_waits)
{
    need_ranks(2);
    run_members(2, one_waits, NULL);
}

/* ---- disagreements -------------------------------------------------------------------------------------------- */

struct difference {
    bg_status (*do_one)(bg_comm *comm, bool odd);
    const char *sentence; /* %d: the odd rank */
};

static bg_status other_what(bg_comm *comm, bool odd)
{
    return bg_comm_barrier(comm, odd ? "choice of batch 3" : "before the capture of bucket 8");
}

static bg_status other_kind(bg_comm *comm, bool odd)
{
    int64_t largest;
    return odd ? bg_comm_max(comm, "bucket 8", 1, &largest) : bg_comm_barrier(comm, "bucket 8");
}

static bg_status other_text(bg_comm *comm, bool odd)
{
    return bg_comm_agree(comm, "choice of batch 3", odd ? "bucket 8, full" : "bucket 4, full");
}

static bg_status other_bytes(bg_comm *comm, bool odd)
{
    char mine[8] = {0}, all[RANKS_MAX * 8];
    return bg_comm_gather(comm, "names", mine, odd ? 8 : 4, all);
}

/* They part beyond what a sentence can hold. */
static bg_status other_tail(bg_comm *comm, bool odd)
{
    char text[3000];
    memset(text, 'x', sizeof text);
    snprintf(text + 2500, 100, "warmups=%d", odd ? 2 : 3);
    return bg_comm_agree(comm, "the configuration", text);
}

static const struct difference differences[] = {
    {other_what, "rank 0 is at \"before the capture of bucket 8\", rank %d at \"choice of batch 3\""},
    {other_kind, "at \"bucket 8\": rank 0 calls barrier, rank %d calls max"},
    {other_text, "at \"choice of batch 3\": rank 0: \"bucket 4, full\"; rank %d: \"bucket 8, full\""},
    {other_bytes, "at \"names\": rank 0: 4 bytes, rank %d: 8 bytes"},
    {other_tail, "warmups=2\""},
};

/* Each rank gets the sentence, and again at every later call. */
static int disagree(struct member *m)
{
    const struct difference *difference = m->argument;
    char sentence[200];
    bool any;
    bg_comm *comm = NULL;
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    EXPECT_BG(bg_comm_barrier(comm, "the beginning"));
    (void)snprintf(sentence, sizeof sentence, difference->sentence, m->size - 1);
    EXPECT_SAID(difference->do_one(comm, is_last(m)), BG_ERROR_RANKS, sentence);
    EXPECT_SAID(bg_comm_barrier(comm, "later"), BG_ERROR_RANKS, sentence);
    EXPECT_SAID(bg_comm_check(comm), BG_ERROR_RANKS, sentence);
    const bg_ranks *ranks = bg_comm_ranks(comm);
    EXPECT_SAID(ranks->any(ranks->user, "later", true, &any), BG_ERROR_RANKS, sentence);
    EXPECT_SAID(ranks->enter(ranks->user, "bucket 8", 0, 1), BG_ERROR_RANKS, sentence);
    bg_comm_destroy(comm);
    return 0;
}

TEST(test_disagreements)
{
    need_ranks(2);
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++)
        for (int size = 2; size <= ranks_possible(); size *= 2)
            run_members(size, disagree, &differences[i]);
}

/* ---- the end, in any order ------------------------------------------------------------------------------------ */

enum { GRAPHS = 3 };

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/* The graphs and the communicator go in an order that the seed tells, the same on all ranks or each rank's own. */
static int end_in_order(struct member *m)
{
    unsigned seed = *(const unsigned *)m->argument, random = seed % 2 ? seed : seed * 8 + (unsigned)m->rank;
    struct member_model model = {0};
    bg_graph *graphs[GRAPHS] = {NULL};
    if (model_open(m, &model))
        return 1;
    EXPECT_CUDA(cudaStreamSynchronize(model.stream));
    for (int i = 0; i < GRAPHS; i++) {
        EXPECT_BG(bg_capture_forward(&graphs[i], model_forward, &model, model.stream, NULL));
        model.ranks->retain(model.ranks->user);
        EXPECT_BG(bg_replay(graphs[i], model.stream));
    }
    if (next_random(&random) % 2)
        EXPECT_CUDA(cudaStreamSynchronize(model.stream));
    for (unsigned left = (1u << (GRAPHS + 1)) - 1; left;) {
        unsigned which = next_random(&random) % (GRAPHS + 1);
        if (!(left >> which & 1))
            continue;
        left &= ~(1u << which);
        if (which == GRAPHS) {
            bg_comm_destroy(model.comm);
        } else {
            bg_graph_destroy(graphs[which]);
            model.ranks->release(model.ranks->user);
        }
    }
    EXPECT_CUDA(cudaStreamSynchronize(model.stream));
    return model_free(&model);
}

TEST(test_ends)
{
    need_ranks(2);
    for (unsigned seed = 1; seed <= 10; seed++) {
        print_message("seed %u\n", seed);
        run_members(2, end_in_order, &seed);
    }
    unsigned seed = 11;
    if (ranks_possible() >= RANKS_MAX)
        run_members(RANKS_MAX, end_in_order, &seed);
}

/* ---- the environment ------------------------------------------------------------------------------------------ */

struct environment {
    const char *set; /* NAME=VALUE NAME=VALUE */
    const char *error;
};

static const struct environment wrong[] = {
    {"RANK=0", "RANK is set and WORLD_SIZE is not"},
    {"WORLD_SIZE=2", "WORLD_SIZE is set and RANK is not"},
    {"RANK=x WORLD_SIZE=2", "RANK is \"x\""},
    {"RANK=2 WORLD_SIZE=2 MASTER_PORT=4000", "rank 2 of 2"},
    {"RANK=0 WORLD_SIZE=2", "ranks and no port"},
    {"RANK=0 WORLD_SIZE=2 MASTER_PORT=0", "MASTER_PORT is \"0\""},
    {"RANK=0 WORLD_SIZE=2 MASTER_PORT=70000", "MASTER_PORT is \"70000\""},
    {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=0", "OMPI_COMM_WORLD_SIZE is \"0\""},
    {"SLURM_PROCID=-1 SLURM_NTASKS=1", "SLURM_PROCID is \"-1\""},
    {"BG_RANKS_TIMEOUT=0", "BG_RANKS_TIMEOUT is \"0\""},
    {"BG_RANKS_TIMEOUT=0x10", "BG_RANKS_TIMEOUT is \"0x10\""},
    {"BG_RANKS_TIMEOUT=nan", "BG_RANKS_TIMEOUT is \"nan\""},
    {"BG_RANKS_WATCHDOG=soon", "BG_RANKS_WATCHDOG is \"soon\""},
    {"BG_RANKS_COMPARE=yes", "BG_RANKS_COMPARE is \"yes\""},
    {"RANK=0 WORLD_SIZE=2 MASTER_PORT=4000 MASTER_ADDR=192.0.2.1", "set BG_RANKS_BIND"},
    {"RANK=1 WORLD_SIZE=2 MASTER_PORT=4000 MASTER_ADDR=192.0.2.1", "set BG_RANKS_TOKEN"},
    {"RANK=0 WORLD_SIZE=2 MASTER_PORT=4000 BG_RANKS_BIND=0.0.0.0", "set BG_RANKS_TOKEN"},
};

static int set_all(const char *text, int port)
{
    char copy[400], *rest = copy, *one;
    (void)snprintf(copy, sizeof copy, "%s", text);
    while ((one = strtok_r(rest, " ", &rest))) {
        char *value = strchr(one, '=');
        char number[16];
        *value++ = '\0';
        (void)snprintf(number, sizeof number, "%d", port);
        EXPECT(setenv(one, strcmp(value, "PORT") == 0 ? number : value, 1) == 0);
    }
    return 0;
}

static int wrong_environment(struct member *m)
{
    const struct environment *environment = m->argument;
    bg_comm *comm = NULL;
    if (set_all(environment->set, m->port))
        return 1;
    EXPECT_SAID(bg_comm_create(&comm, NULL), BG_ERROR_INVALID_ARGUMENT, environment->error);
    EXPECT(!comm);
    return 0;
}

TEST(test_wrong_environment)
{
    need_ranks(1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        run_members(1, wrong_environment, &wrong[i]);
}

static const char *const launchers[][2] = {
    {"RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=localhost MASTER_PORT=PORT",
     "RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 MASTER_ADDR=localhost MASTER_PORT=PORT SLURM_PROCID=7 SLURM_NTASKS=9"},
    {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 MASTER_PORT=PORT TORCHELASTIC_RUN_ID=x BG_RANKS_COMPARE=1",
     "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 MASTER_PORT=PORT TORCHELASTIC_RUN_ID=x BG_RANKS_COMPARE=1"},
    {"SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_LOCALID=0 MASTER_PORT=PORT BG_RANKS_BIND=0.0.0.0 BG_RANKS_TOKEN=secret",
     "SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=1 MASTER_PORT=PORT "
     "BG_RANKS_TOKEN=secret"},
};

static int launched(struct member *m)
{
    const char *const *set = m->argument;
    bg_comm *comm = NULL;
    int device = -1;
    if (set_all(set[m->rank], m->port))
        return 1;
    EXPECT_BG(bg_comm_create(&comm, NULL));
    EXPECT(bg_comm_rank(comm) == m->rank && bg_comm_size(comm) == 2);
    EXPECT_CUDA(cudaGetDevice(&device));
    EXPECT(device == m->rank);
    EXPECT(bg_comm_ranks(comm)->compare_choices == (getenv("BG_RANKS_COMPARE") != NULL));
    EXPECT_BG(bg_comm_barrier(comm, "here"));
    bg_comm_destroy(comm);
    return 0;
}

TEST(test_launchers)
{
    need_ranks(2);
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        run_members(2, launched, launchers[i]);
}

/* A batch script is no task of its job. */
static int in_batch_script(struct member *m)
{
    bg_comm *comm = NULL;
    if (set_all(m->argument, m->port))
        return 1;
    EXPECT_BG(bg_comm_create(&comm, NULL));
    EXPECT(bg_comm_rank(comm) == 0 && bg_comm_size(comm) == 1);
    bg_comm_destroy(comm);
    return 0;
}

TEST(test_batch_script)
{
    need_ranks(1);
    run_members(1, in_batch_script, "SLURM_JOB_ID=5 SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_LOCALID=0");
    run_members(1, in_batch_script, "SLURM_JOB_ID=5 SLURM_NTASKS=4");
}
#else
SKIP_PROGRAM("there is no NCCL");
#endif
