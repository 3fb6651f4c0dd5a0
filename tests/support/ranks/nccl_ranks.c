#include "nccl_ranks.h"

#ifdef TEST_NCCL
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

bool on_host(void)
{
    return strcmp(BG_DEVICE_KIND, "host") == 0;
}

static void prepare_process(void)
{
    alarm(SECONDS_MAX);
    if (setenv("HOSTCUDA_DEVICES", "4", 0) != 0)
        _exit(1);
}

static int exit_status(pid_t pid)
{
    int status = 0;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

int ranks_possible(void)
{
    static int possible = -1;
    int count = 0;
    if (possible >= 0)
        return possible;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prepare_process();
        _exit(cudaGetDeviceCount(&count) ? 0 : count < RANKS_MAX ? count : RANKS_MAX);
    }
    int status = exit_status(pid);
    possible = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
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

static int run_body(struct rank *rank, rank_body body, bool communicator)
{
    EXPECT_CUDA(cudaSetDevice(rank->rank));
    EXPECT_CUDA(cudaStreamCreateWithFlags(&rank->stream, cudaStreamNonBlocking));
    if (communicator)
        EXPECT_NCCL(ncclCommInitRank(&rank->comm, rank->ranks, rank->id, rank->rank), ncclSuccess);
    int result = body(rank);
    if (!result && rank->comm)
        EXPECT_NCCL(ncclCommDestroy(rank->comm), ncclSuccess);
    if (!result)
        EXPECT_CUDA(cudaStreamDestroy(rank->stream));
    return result;
}

/* ---- threads -------------------------------------------------------------------------------------------------- */

struct job {
    struct rank rank;
    rank_body body;
    bool communicator;
    int result;
};

static void *run_thread(void *data)
{
    struct job *job = data;
    job->result = run_body(&job->rank, job->body, job->communicator);
    return NULL;
}

static int run_threads(int ranks, const struct job *like)
{
    struct job jobs[RANKS_MAX];
    pthread_t threads[RANKS_MAX];
    ncclUniqueId id;
    int result = 0;
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
static int share_id(struct rank *rank, const int *ids)
{
    if (rank->rank > 0) {
        EXPECT(read(ids[0], &rank->id, sizeof rank->id) == (ssize_t)sizeof rank->id);
        return 0;
    }
    EXPECT_NCCL(ncclGetUniqueId(&rank->id), ncclSuccess);
    for (int i = 1; i < rank->ranks; i++)
        EXPECT(write(ids[1], &rank->id, sizeof rank->id) == (ssize_t)sizeof rank->id);
    return 0;
}

/* Pipes that the processes have in common: for the id, and two that end with a rank's process, which alone keeps the
 * end to write to. */
struct pipes {
    int id[2], first[2], last[2];
};

static void open_pipes(struct pipes *pipes)
{
    assert_int_equal(pipe(pipes->id), 0);
    assert_int_equal(pipe(pipes->first), 0);
    assert_int_equal(pipe(pipes->last), 0);
}

static void close_pipes(const struct pipes *pipes)
{
    for (int i = 0; i < 2; i++) {
        close(pipes->id[i]);
        close(pipes->first[i]);
        close(pipes->last[i]);
    }
}

static pid_t start_process(struct job job, const struct pipes *pipes)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid)
        return pid;
    prepare_process();
    if (job.rank.rank > 0)
        close(pipes->first[1]);
    if (job.rank.rank < job.rank.ranks - 1)
        close(pipes->last[1]);
    job.rank.first_ends = pipes->first[0];
    job.rank.last_ends = pipes->last[0];
    int result = share_id(&job.rank, pipes->id);
    _exit(result ? result : run_body(&job.rank, job.body, job.communicator));
}

static void run_processes(int ranks, struct job like, bool last_is_killed)
{
    struct pipes pipes;
    int statuses[RANKS_MAX];
    pid_t pids[RANKS_MAX];
    open_pipes(&pipes);
    for (int i = 0; i < ranks; i++) {
        like.rank.rank = i;
        pids[i] = start_process(like, &pipes);
    }
    close_pipes(&pipes);
    for (int i = 0; i < ranks; i++)
        statuses[i] = exit_status(pids[i]);
    for (int i = 0; i < ranks; i++)
        assert_int_equal(statuses[i], last_is_killed && i == ranks - 1 ? SIGKILL : 0);
}

/* ---- tests ---------------------------------------------------------------------------------------------------- */

static struct job job_of(enum ranks_as as, int ranks, rank_body body, const void *argument)
{
    return (struct job){.rank = {.ranks = ranks, .as = as, .argument = argument}, .body = body};
}

static void run_job(int ranks, struct job job)
{
    if (job.rank.as == AS_PROCESSES) {
        run_processes(ranks, job, false);
        return;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prepare_process();
        _exit(run_threads(ranks, &job));
    }
    assert_int_equal(exit_status(pid), 0);
}

void run_ranks(enum ranks_as as, int ranks, rank_body body, const void *argument)
{
    struct job job = job_of(as, ranks, body, argument);
    job.communicator = true;
    run_job(ranks, job);
}

void run_ranks_without(enum ranks_as as, int ranks, rank_body body, const void *argument)
{
    run_job(ranks, job_of(as, ranks, body, argument));
}

void run_alone(int ranks, rank_body body, const void *argument)
{
    struct job job = job_of(AS_THREADS, ranks, body, argument);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prepare_process();
        _exit(run_body(&job.rank, body, false));
    }
    assert_int_equal(exit_status(pid), 0);
}

void run_ranks_one_killed(int ranks, rank_body body, const void *argument)
{
    struct job job = job_of(AS_PROCESSES, ranks, body, argument);
    job.communicator = true;
    run_processes(ranks, job, true);
}
#else
typedef int nccl_ranks_are_not_tested;
#endif
