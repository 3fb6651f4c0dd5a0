#include "nccl_ranks.h"

#ifdef TEST_NCCL
#include "fork_ranks.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)RANKS_MAX == (int)FORK_RANKS_MAX, "as many ranks");
enum { SECONDS_MAX = 120 }; /* a rank that hangs ends by SIGALRM */

int rank_complain(const char *file, int line, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s:%d: %s\n", file, line, text);
    return 1;
}

void rank_expect_cuda(cudaError_t found, const char *call, const char *file, int line)
{
    if (found)
        _exit(rank_complain(file, line, "%s = %s", call, cudaGetErrorName(found)));
}

void rank_expect_nccl(ncclResult_t found, ncclResult_t expected, const char *call, const char *file, int line)
{
    if (found != expected)
        _exit(rank_complain(file, line, "%s = %d: %s", call, (int)found, ncclGetLastError(NULL)));
}

bool on_host(void)
{
    return strcmp(BG_DEVICE_KIND, "host") == 0;
}

int ranks_possible(void)
{
    static int possible = -1;
    if (possible < 0)
        possible = fork_ranks_possible();
    return possible;
}

void need_ranks(int ranks)
{
    if (ranks_possible() >= ranks)
        return;
    print_message("skipped: needs %d GPUs, and there are %d\n", ranks, ranks_possible());
    skip();
}

void need_host(const char *why)
{
    if (on_host())
        return;
    print_message("skipped: %s\n", why);
    skip();
}

/* ---- one rank ------------------------------------------------------------------------------------------------- */

struct job {
    struct rank rank;
    rank_body body;
    bool communicator;
    int result;
};

void rank_get(const struct rank *r, void *host, size_t bytes)
{
    EXPECT_CUDA(cudaStreamSynchronize(r->stream));
    EXPECT_CUDA(cudaMemcpy(host, r->x, bytes, cudaMemcpyDeviceToHost));
}

static int run_body(struct job *job)
{
    struct rank *r = &job->rank;
    EXPECT_CUDA(cudaSetDevice(r->rank));
    EXPECT_CUDA(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaMalloc((void **)&r->x, RANK_NUMBERS * sizeof *r->x));
    EXPECT_CUDA(cudaMemsetAsync(r->x, 0, RANK_NUMBERS * sizeof *r->x, r->stream));
    EXPECT_CUDA(cudaStreamSynchronize(r->stream));
    if (job->communicator)
        EXPECT_NCCL(ncclCommInitRank(&r->comm, r->ranks, r->id, r->rank), ncclSuccess);
    if (job->body(r))
        return 1;
    if (r->comm)
        EXPECT_NCCL(ncclCommDestroy(r->comm), ncclSuccess);
    if (r->x)
        EXPECT_CUDA(cudaFree(r->x));
    EXPECT_CUDA(cudaStreamDestroy(r->stream));
    return 0;
}

/* ---- threads -------------------------------------------------------------------------------------------------- */

static void *run_thread(void *data)
{
    struct job *job = data;
    job->result = run_body(job);
    return NULL;
}

static int run_threads(struct job *like)
{
    struct job jobs[RANKS_MAX];
    pthread_t threads[RANKS_MAX];
    ncclUniqueId id;
    int result = 0, ranks = like->rank.ranks;
    EXPECT_NCCL(ncclGetUniqueId(&id), ncclSuccess);
    for (int i = 0; i < ranks; i++) {
        jobs[i] = *like;
        jobs[i].rank.rank = i;
        jobs[i].rank.id = id;
    }
    for (int i = 0; i < ranks; i++)
        EXPECT(pthread_create(&threads[i], NULL, run_thread, &jobs[i]) == 0);
    for (int i = 0; i < ranks; i++) {
        EXPECT(pthread_join(threads[i], NULL) == 0);
        result |= jobs[i].result;
    }
    return result;
}

/* ---- processes ------------------------------------------------------------------------------------------------ */

/* The first rank makes the id and hands it to the others. */
static void share_id(struct rank *rank, const int *ids)
{
    if (rank->rank > 0) {
        EXPECT(read(ids[0], &rank->id, sizeof rank->id) == (ssize_t)sizeof rank->id);
        return;
    }
    EXPECT_NCCL(ncclGetUniqueId(&rank->id), ncclSuccess);
    for (int i = 1; i < rank->ranks; i++)
        EXPECT(write(ids[1], &rank->id, sizeof rank->id) == (ssize_t)sizeof rank->id);
}

/* Pipes that the processes have in common: for the id, and two that end with the first and the last rank's process,
 * which alone keeps the end to write to. */
enum { ID, FIRST, LAST, PIPES };

static pid_t start_process(struct job job, int pipes[PIPES][2])
{
    struct rank *r = &job.rank;
    pid_t pid = fork_rank(SECONDS_MAX);
    assert_true(pid >= 0);
    if (pid)
        return pid;
    if (r->rank > 0)
        close(pipes[FIRST][1]);
    if (r->rank < r->ranks - 1)
        close(pipes[LAST][1]);
    r->first_ends = pipes[FIRST][0];
    r->last_ends = pipes[LAST][0];
    share_id(r, pipes[ID]);
    _exit(run_body(&job));
}

static void run_processes(struct job job, bool last_is_killed)
{
    int pipes[PIPES][2], statuses[RANKS_MAX], ranks = job.rank.ranks;
    pid_t pids[RANKS_MAX];
    for (int i = 0; i < PIPES; i++)
        assert_int_equal(pipe(pipes[i]), 0);
    for (int i = 0; i < ranks; i++) {
        job.rank.rank = i;
        pids[i] = start_process(job, pipes);
    }
    for (int i = 0; i < 2 * PIPES; i++)
        close(pipes[i / 2][i % 2]);
    for (int i = 0; i < ranks; i++)
        statuses[i] = fork_rank_status(pids[i]);
    for (int i = 0; i < ranks; i++)
        assert_int_equal(statuses[i], last_is_killed && i == ranks - 1 ? SIGKILL : 0);
}

/* ---- tests ---------------------------------------------------------------------------------------------------- */

static struct job job_of(enum ranks_as as, int ranks, rank_body body, const void *argument, bool communicator)
{
    need_ranks(ranks);
    return (struct job){{.ranks = ranks, .as = as, .argument = argument}, body, communicator, 0};
}

static void run_in_process(struct job job, int (*run)(struct job *job))
{
    pid_t pid = fork_rank(SECONDS_MAX);
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(run(&job));
    assert_int_equal(fork_rank_status(pid), 0);
}

static void run_job(struct job job)
{
    if (job.rank.as == AS_PROCESSES)
        run_processes(job, false);
    else
        run_in_process(job, run_threads);
}

void run_ranks(enum ranks_as as, int ranks, rank_body body, const void *argument)
{
    run_job(job_of(as, ranks, body, argument, true));
}

void run_ranks_without(enum ranks_as as, int ranks, rank_body body, const void *argument)
{
    run_job(job_of(as, ranks, body, argument, false));
}

void run_both_ways(int ranks, rank_body body, const void *argument)
{
    run_ranks(AS_THREADS, ranks, body, argument);
    run_ranks(AS_PROCESSES, ranks, body, argument);
}

void run_ranks_from(int fewest, enum ranks_as as, rank_body body)
{
    need_ranks(fewest);
    for (int ranks = fewest; ranks <= ranks_possible(); ranks++)
        run_ranks(as, ranks, body, NULL);
    if (ranks_possible() < RANKS_MAX)
        print_message("%d ranks at most: there are no more GPUs\n", ranks_possible());
}

void run_alone(int ranks, rank_body body, const void *argument)
{
    run_in_process(job_of(AS_THREADS, ranks, body, argument, false), run_body);
}

void run_rank_test(int ranks, rank_body body, const char *host_only)
{
    if (host_only)
        need_host(host_only);
    run_ranks(AS_THREADS, ranks, body, NULL);
}

void run_ranks_one_killed(int ranks, rank_body body, const void *argument)
{
    run_processes(job_of(AS_PROCESSES, ranks, body, argument, true), true);
}
#else
typedef int nccl_ranks_are_not_tested;
#endif
