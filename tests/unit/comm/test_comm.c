/* Ranks of one job: what they do together, captured collectives, disagreements, and ends in any order. */
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- together ------------------------------------------------------------------------------------------------- */

static void operations(const struct member *m)
{
    int64_t largest = 0, all[RANKS_MAX], mine = 100 + m->rank;
    const bg_ranks *ranks = m->ranks;
    bg_comm *comm = m->comm;
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
}

static void large(const struct member *m)
{
    enum { BYTES = 3 << 20 };
    char *all = malloc((size_t)BYTES * (size_t)m->size), *mine = malloc(BYTES);
    bool good = true;
    EXPECT(all && mine);
    memset(mine, 'a' + m->rank, BYTES);
    EXPECT_BG(bg_comm_gather(m->comm, "large", mine, BYTES, all));
    for (int i = 0; i < m->size; i++)
        good = good && all[(size_t)i * BYTES] == 'a' + i && all[((size_t)i + 1) * BYTES - 1] == 'a' + i;
    EXPECT(good);
    memset(mine, 'x', BYTES - 1);
    mine[BYTES - 1] = '\0';
    EXPECT_BG(bg_comm_agree(m->comm, "a long text", mine));
    EXPECT_SAID(bg_comm_gather(m->comm, "too large", mine, (size_t)1 << 30, all), BG_ERROR_INVALID_ARGUMENT,
                "too many");
    EXPECT_BG(bg_comm_barrier(m->comm, "and it goes on"));
    free(all);
    free(mine);
}

SIZES_TEST(test_together, 1)
{
    EXPECT_BG(join(m));
    operations(m);
    large(m);
}

MEMBERS_TEST(test_wrong_arguments, 1)
{
    bg_comm *comm = NULL;
    int64_t one = 1;
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
}

/* ---- collectives in graphs ------------------------------------------------------------------------------------ */

static void replay_once(const struct member *m, int round)
{
    const bg_ranks *ranks = m->ranks;
    int host = round + m->rank, expected = 0;
    for (int i = 0; i < m->size; i++)
        expected += round + i;
    EXPECT_CUDA(cudaMemcpyAsync(m->device, &host, sizeof host, cudaMemcpyHostToDevice, m->stream));
    EXPECT_BG(ranks->enter(ranks->user, "bucket 1", (uint64_t)round, 1));
    EXPECT_BG(bg_replay(m->graph, m->stream));
    EXPECT_BG(ranks->step(ranks->user, 0, "segment 0", m->stream));
    ranks->leave(ranks->user);
    EXPECT_CUDA(cudaMemcpyAsync(&host, m->device, sizeof host, cudaMemcpyDeviceToHost, m->stream));
    EXPECT_CUDA(cudaStreamSynchronize(m->stream));
    EXPECT(host == expected);
}

/* More replays than the watchdog has events, with a watchdog that looks all the time. */
SIZES_TEST(test_captured, 1)
{
    m->options.watchdog = 0.5;
    model_prepare(m);
    for (int round = 0; round < 300; round++)
        replay_once(m, round);
    EXPECT_BG(bg_comm_check(m->comm));
}

/* A rank that waits for the others on the host must not keep them waiting for its device. */
MEMBERS_TEST(test_one_waits, 2)
{
    model_open(m);
    if (m->rank > 0)
        EXPECT_CUDA(cudaStreamSynchronize(m->stream));
    EXPECT_BG(bg_comm_barrier(m->comm, "the end"));
    EXPECT(seconds_passed(m) < SOON);
    model_free(m);
}

/* ---- disagreements -------------------------------------------------------------------------------------------- */

enum difference { WHAT, KIND, TEXT, BYTES, TAIL, DIFFERENCES };

/* %d: the odd rank */
static const char *const sentences[DIFFERENCES] = {
    [WHAT] = "rank 0 is at \"before the capture of bucket 8\", rank %d at \"choice of batch 3\"",
    [KIND] = "at \"bucket 8\": rank 0 calls barrier, rank %d calls max",
    [TEXT] = "at \"choice of batch 3\": rank 0: \"bucket 4, full\"; rank %d: \"bucket 8, full\"",
    [BYTES] = "at \"names\": rank 0: 4 bytes, rank %d: 8 bytes",
    [TAIL] = "warmups=2\"",
};

static bg_status differ(bg_comm *comm, enum difference difference, bool odd)
{
    int64_t largest;
    char mine[8] = {0}, all[RANKS_MAX * 8], text[3000];
    switch (difference) {
    case WHAT: return bg_comm_barrier(comm, odd ? "choice of batch 3" : "before the capture of bucket 8");
    case KIND: return odd ? bg_comm_max(comm, "bucket 8", 1, &largest) : bg_comm_barrier(comm, "bucket 8");
    case TEXT: return bg_comm_agree(comm, "choice of batch 3", odd ? "bucket 8, full" : "bucket 4, full");
    case BYTES: return bg_comm_gather(comm, "names", mine, odd ? 8 : 4, all);
    default: /* they part beyond what a sentence can hold */
        memset(text, 'x', sizeof text);
        snprintf(text + 2500, 100, "warmups=%d", odd ? 2 : 3);
        return bg_comm_agree(comm, "the configuration", text);
    }
}

/* Each rank gets the sentence, and again at every later call. */
static void disagree(struct member *m)
{
    const enum difference *difference = m->argument;
    char sentence[200];
    bool any;
    EXPECT_BG(join(m));
    EXPECT_BG(bg_comm_barrier(m->comm, "the beginning"));
    (void)snprintf(sentence, sizeof sentence, sentences[*difference], m->size - 1);
    EXPECT_RANKS(differ(m->comm, *difference, is_last(m)), "%s", sentence);
    EXPECT_RANKS(bg_comm_barrier(m->comm, "later"), "%s", sentence);
    EXPECT_FAILED(m, "%s", sentence);
    EXPECT_RANKS(m->ranks->any(m->ranks->user, "later", true, &any), "%s", sentence);
    EXPECT_RANKS(m->ranks->enter(m->ranks->user, "bucket 8", 0, 1), "%s", sentence);
}

TEST(test_disagreements)
{
    for (enum difference difference = WHAT; difference < DIFFERENCES; difference++)
        run_sizes(2, disagree, &difference);
}

/* ---- the end, in any order ------------------------------------------------------------------------------------ */

enum { GRAPHS = 3 };

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/* The graphs and the communicator go in an order that the seed tells, the same on all ranks or each rank's own. */
static void end_in_order(struct member *m)
{
    unsigned seed = *(const unsigned *)m->argument, random = seed % 2 ? seed : seed * 8 + (unsigned)m->rank;
    bg_graph *graphs[GRAPHS] = {NULL};
    model_open(m);
    EXPECT_CUDA(cudaStreamSynchronize(m->stream));
    for (int i = 0; i < GRAPHS; i++) {
        EXPECT_BG(bg_capture_forward(&graphs[i], model_forward, m, m->stream, NULL));
        m->ranks->retain(m->ranks->user);
        EXPECT_BG(bg_replay(graphs[i], m->stream));
    }
    if (next_random(&random) % 2)
        EXPECT_CUDA(cudaStreamSynchronize(m->stream));
    for (unsigned left = (1u << (GRAPHS + 1)) - 1; left;) {
        unsigned which = next_random(&random) % (GRAPHS + 1);
        if (!(left >> which & 1))
            continue;
        left &= ~(1u << which);
        if (which == GRAPHS) {
            bg_comm_destroy(m->comm);
            m->comm = NULL;
        } else {
            bg_graph_destroy(graphs[which]);
            m->ranks->release(m->ranks->user);
        }
    }
    EXPECT_CUDA(cudaStreamSynchronize(m->stream));
}

TEST(test_ends)
{
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

static void set_all(const char *text, int port)
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
}

static void wrong_environment(struct member *m)
{
    const struct environment *environment = m->argument;
    set_all(environment->set, m->port);
    EXPECT_SAID(bg_comm_create(&m->comm, NULL), BG_ERROR_INVALID_ARGUMENT, "%s", environment->error);
    EXPECT(!m->comm);
}

TEST(test_wrong_environment)
{
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

static void launched(struct member *m)
{
    const char *const *set = m->argument;
    int device = -1;
    set_all(set[m->rank], m->port);
    EXPECT_BG(bg_comm_create(&m->comm, NULL));
    EXPECT(bg_comm_rank(m->comm) == m->rank && bg_comm_size(m->comm) == 2);
    EXPECT_CUDA(cudaGetDevice(&device));
    EXPECT(device == m->rank);
    EXPECT(bg_comm_ranks(m->comm)->compare_choices == (getenv("BG_RANKS_COMPARE") != NULL));
    EXPECT_BG(bg_comm_barrier(m->comm, "here"));
}

TEST(test_launchers)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        run_members(2, launched, launchers[i]);
}

/* A batch script is no task of its job. */
static void in_batch_script(struct member *m)
{
    set_all(m->argument, m->port);
    EXPECT_BG(bg_comm_create(&m->comm, NULL));
    EXPECT(bg_comm_rank(m->comm) == 0 && bg_comm_size(m->comm) == 1);
}

TEST(test_batch_script)
{
    run_members(1, in_batch_script, "SLURM_JOB_ID=5 SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_LOCALID=0");
    run_members(1, in_batch_script, "SLURM_JOB_ID=5 SLURM_NTASKS=4");
}
#endif
