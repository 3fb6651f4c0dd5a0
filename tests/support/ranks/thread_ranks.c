#include "thread_ranks.h"

#include "base/base.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

thread_rank thread_ranks[THREAD_RANKS_MAX];

/* A call of one rank's; the job ends it when all have come. */
typedef struct arrival {
    const char *function;
    char what[1200], text[1200];
    bool flag;
} arrival;

struct thread_job {
    pthread_mutex_t lock;
    pthread_cond_t all;
    int size, arrived;
    double timeout;
    uint64_t rounds;
    bool broken; /* a rank did not come: nobody waits for it again */
    arrival at[THREAD_RANKS_MAX];
    bool here[THREAD_RANKS_MAX];
    bg_status status; /* of the last round */
    char error[1024];
    bool any;
};

/* ---- meetings ---- */

static bool differ(const thread_job *job, bool texts)
{
    for (int i = 1; i < job->size; i++) {
        const arrival *a = &job->at[0], *b = &job->at[i];
        if (texts ? strcmp(a->text, b->text) != 0 : a->function != b->function || strcmp(a->what, b->what) != 0)
            return true;
    }
    return false;
}

/* What each does, or has to say, or that it is not there. */
static void tell(thread_job *job, const char *first, bool texts)
{
    size_t used = (size_t)snprintf(job->error, sizeof job->error, "%.200s", first);
    for (int i = 0; i < job->size && used < sizeof job->error; i++) {
        const char *said = !job->here[i] ? "did not come" : texts ? job->at[i].text : job->at[i].what;
        used += (size_t)snprintf(job->error + used, sizeof job->error - used, "; rank %d: %.300s", i, said);
    }
}

static void end_round(thread_job *job)
{
    const bool apart = differ(job, false), texts = !apart && differ(job, true);
    job->status = apart || texts ? BG_ERROR_RANKS : BG_OK;
    if (job->status != BG_OK)
        tell(job, texts ? job->at[0].what : "ranks are apart", texts);
    job->any = false;
    for (int i = 0; i < job->size; i++)
        job->any |= job->at[i].flag;
    memset(job->here, 0, sizeof job->here);
    job->arrived = 0;
    job->rounds++;
    pthread_cond_broadcast(&job->all);
}

static void give_up(thread_job *job)
{
    char first[40];
    snprintf(first, sizeof first, "after %g s", job->timeout);
    tell(job, first, false);
    job->broken = true;
    pthread_cond_broadcast(&job->all);
}

static struct timespec deadline_of(const thread_job *job)
{
    const long long ns = (long long)(bg__now_ms() * 1e6 + job->timeout * 1e9);
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

static bg_status meet(thread_rank *rank, const char *function, const char *what, const char *text, bool flag, bool *any)
{
    thread_job *job = rank->job;
    struct timespec deadline = deadline_of(job);
    arrival *mine = &job->at[rank->rank];
    bg_status status;
    uint64_t round;

    rank->calls++;
    pthread_mutex_lock(&job->lock);
    round = job->rounds;
    mine->function = function;
    mine->flag = flag;
    snprintf(mine->what, sizeof mine->what, "%s", what);
    snprintf(mine->text, sizeof mine->text, "%s", text);
    job->here[rank->rank] = true;
    if (!job->broken && ++job->arrived == job->size)
        end_round(job);
    while (job->rounds == round && !job->broken)
        if (pthread_cond_timedwait(&job->all, &job->lock, &deadline) == ETIMEDOUT && job->rounds == round)
            give_up(job);
    status = job->rounds == round ? BG_ERROR_RANKS : job->status;
    if (any != NULL)
        *any = job->any;
    if (status != BG_OK)
        bg__fail(status, "%s", job->error);
    pthread_mutex_unlock(&job->lock);
    return status;
}

static bg_status barrier(void *user, const char *what)
{
    return meet(user, "barrier", what, "", false, NULL);
}

static bg_status agree(void *user, const char *what, const char *text)
{
    return meet(user, "agree", what, text, false, NULL);
}

static bg_status any(void *user, const char *what, bool mine, bool *result)
{
    return meet(user, "any", what, "", mine, result);
}

/* ---- what graphs hold, and replays tell ---- */

static void retain(void *user)
{
    thread_rank *rank = user;
    rank->holds++;
}

static void release(void *user)
{
    thread_rank *rank = user;
    rank->holds--;
}

static bg_status enter(void *user, const char *graph, uint64_t replay, int steps)
{
    thread_rank *rank = user;
    RANK_EXPECT(rank, rank->entered++ == 0 && graph[0] != '\0' && steps > 0);
    rank->replays = replay;
    rank->steps = 0;
    return BG_OK;
}

static bg_status step(void *user, int number, const char *text, cudaStream_t stream)
{
    thread_rank *rank = user;
    RANK_EXPECT(rank, rank->entered == 1 && stream == rank->stream && number >= 0);
    rank->steps++;
    snprintf(rank->text, sizeof rank->text, "%s", text);
    return BG_OK;
}

static void leave(void *user)
{
    thread_rank *rank = user;
    RANK_EXPECT(rank, --rank->entered == 0);
}

/* ---- in a body ---- */

void thread_rank_complain(thread_rank *rank, const char *file, int line, const char *what)
{
    if (rank->complaint[0] == '\0')
        snprintf(rank->complaint, sizeof rank->complaint, "rank %d of %d, %s:%d: %.100s (%.200s)", rank->rank,
                 rank->size, file, line, what, bg_last_error());
}

void thread_rank_keep(thread_rank *rank, bg_status status)
{
    rank->status = status;
    snprintf(rank->error, sizeof rank->error, "%s", status != BG_OK ? bg_last_error() : "");
}

void thread_rank_put(thread_rank *rank, const bg_tensor *tensor, float value)
{
    float values[N];
    for (int i = 0; i < N; i++)
        values[i] = value;
    RANK_EXPECT(rank, !cudaMemcpyAsync(tensor->data, values, sizeof values, cudaMemcpyHostToDevice, rank->stream));
    RANK_EXPECT(rank, !cudaStreamSynchronize(rank->stream));
}

float thread_rank_get(thread_rank *rank, const bg_tensor *tensor)
{
    float values[N];
    RANK_EXPECT(rank, !cudaMemcpyAsync(values, tensor->data, sizeof values, cudaMemcpyDeviceToHost, rank->stream));
    RANK_EXPECT(rank, !cudaStreamSynchronize(rank->stream));
    for (int i = 1; i < N; i++)
        if (values[i] != values[0])
            return -1;
    return values[0];
}

/* ---- all of them ---- */

static void *run(void *user)
{
    thread_rank *rank = user;
    float *memory = NULL;

    RANK_EXPECT(rank, !cudaStreamCreateWithFlags(&rank->stream, cudaStreamNonBlocking));
    RANK_EXPECT(rank, !cudaMalloc((void **)&memory, 2 * N * sizeof *memory));
    RANK_EXPECT(rank, !cudaMemsetAsync(memory, 0, 2 * N * sizeof *memory, rank->stream));
    rank->x = bg_tensor_1d(memory, BG_F32, N);
    rank->y = bg_tensor_1d(memory + N, BG_F32, N);
    if (rank->complaint[0] == '\0')
        rank->body(rank);
    /* Whatever has failed, the stream is out of captures and runs what it is given. */
    thread_rank_put(rank, &rank->y, 7);
    RANK_EXPECT(rank, thread_rank_get(rank, &rank->y) == 7);
    RANK_EXPECT(rank, bg_current_phase() == BG_PHASE_PLAIN);
    RANK_EXPECT(rank, rank->holds == 0 && rank->entered == 0);
    RANK_EXPECT(rank, !cudaFree(memory) && !cudaStreamDestroy(rank->stream));
    return NULL;
}

static void init_job(thread_job *job, int size, double timeout)
{
    pthread_condattr_t attributes;
    *job = (thread_job){.size = size, .timeout = timeout};
    assert_int_equal(pthread_mutex_init(&job->lock, NULL), 0);
    assert_int_equal(pthread_condattr_init(&attributes), 0);
    assert_int_equal(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC), 0);
    assert_int_equal(pthread_cond_init(&job->all, &attributes), 0);
    assert_int_equal(pthread_condattr_destroy(&attributes), 0);
}

void thread_ranks_run(int size, thread_body body, void *argument)
{
    thread_ranks_run_within(20, size, body, argument);
}

void thread_ranks_run_within(double timeout, int size, thread_body body, void *argument)
{
    enum { WHOLE_TEST_S = 120 };
    const bg_ranks table = {.struct_size = sizeof table,
                            .size = size,
                            .barrier = barrier,
                            .agree = agree,
                            .any = any,
                            .retain = retain,
                            .release = release,
                            .enter = enter,
                            .step = step,
                            .leave = leave};
    pthread_t threads[THREAD_RANKS_MAX];
    thread_job job;

    alarm(WHOLE_TEST_S);
    init_job(&job, size, timeout);
    for (int i = 0; i < size; i++) {
        thread_rank *rank = &thread_ranks[i];
        *rank = (thread_rank){.job = &job, .table = table, .rank = i, .size = size, .body = body, .argument = argument};
        rank->table.rank = i;
        rank->table.user = rank;
        assert_int_equal(pthread_create(&threads[i], NULL, run, rank), 0);
    }
    for (int i = 0; i < size; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    alarm(0);
    assert_int_equal(pthread_cond_destroy(&job.all), 0);
    assert_int_equal(pthread_mutex_destroy(&job.lock), 0);
    for (int i = 0; i < size; i++)
        if (thread_ranks[i].complaint[0] != '\0')
            fail_msg("%s", thread_ranks[i].complaint);
}

/* ---- what they left ---- */

void expect_rank(int rank, bg_status expected, const char *text, const char *file, int line)
{
    const thread_rank *r = &thread_ranks[rank];
    if (r->status == expected && strstr(r->error, text) != NULL)
        return;
    print_error("rank %d of %d: %s, \"%s\", expected was %s, \"%s\"\n", rank, r->size, bg_status_name(r->status),
                r->error, bg_status_name(expected), text);
    _fail(file, line);
}

void expect_apart(bg_status own, const char *mine, const char *theirs, const char *file, int line)
{
    for (int i = 0, size = thread_ranks[0].size; i < size; i++) {
        bool has_own = i == size - 1 && own != BG_OK;
        expect_rank(i, has_own ? own : BG_ERROR_RANKS, theirs, file, line);
        if (!has_own)
            expect_rank(i, BG_ERROR_RANKS, mine, file, line);
    }
    expect_same_calls(file, line);
}

void expect_same_calls(const char *file, int line)
{
    for (int i = 1; i < thread_ranks[0].size; i++)
        _assert_int_equal((uintmax_t)thread_ranks[i].calls, (uintmax_t)thread_ranks[0].calls, file, line);
}
