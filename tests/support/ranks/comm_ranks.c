#include "comm_ranks.h"

#ifdef TEST_NCCL
#include "fork_ranks.h"

#include "base/base.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS_MAX = 300, TIMEOUT = 240, MEMBERS_MAX = RANKS_MAX };

char members_said[RANKS_MAX][4096];

void expect_bg(bg_status status, const char *call, const char *file, int line)
{
    if (status != BG_OK)
        _exit(rank_complain(file, line, "%s = %s: %s", call, bg_status_name(status), bg_last_error()));
}

void expect_said(const char *file, int line, bg_status status, bg_status expected, const char *text, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, text);
    vsnprintf(sentence, sizeof sentence, text, arguments);
    va_end(arguments);
    if (status != expected || strstr(bg_last_error(), sentence) == NULL)
        _exit(rank_complain(file, line, "%s: \"%s\", expected was %s: \"%s\"", bg_status_name(status), bg_last_error(),
                            bg_status_name(expected), sentence));
}

double seconds_passed(const struct member *m)
{
    return (bg__now_ms() - m->started) / 1e3;
}

void pass_time(double seconds)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0)
        continue;
}

bool is_last(const struct member *m)
{
    return m->rank == m->size - 1;
}

const char *the_others(const struct member *m)
{
    static char text[16];
    snprintf(text, sizeof text, m->size == 2 ? "rank 0" : "ranks 0-%d", m->size - 2);
    return text;
}

int free_port(void)
{
    for (int tries = 0; tries < 1000; tries++) {
        int port = 0, fd = fork_ranks_hold_port(&port), next = port + 1;
        assert_true(fd >= 0);
        if (fork_ranks_hold_port(&next) >= 0)
            return port;
        close(fd);
    }
    fail_msg("%s", "no two ports in a row are free");
    return -1;
}

int connect_to_port(int port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bg_status fail_to_join(struct member *m)
{
    bg_status status = bg_comm_create(&m->comm, &m->options);
    EXPECT(!m->comm);
    return status;
}

bg_status join(struct member *m)
{
    bg_status status = bg_comm_create(&m->comm, &m->options);
    if (status == BG_OK)
        m->ranks = bg_comm_ranks(m->comm);
    return status;
}

void join_well(const struct member *m)
{
    bg_comm *comm = NULL;
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    EXPECT_BG(bg_comm_barrier(comm, "here"));
    bg_comm_destroy(comm);
}

void join_in_turn(const struct member *m)
{
    if (m->rank > 0)
        await_ready(m);
    join_well(m);
}

void await_failure(const struct member *m)
{
    while (bg_comm_check(m->comm) == BG_OK)
        pass_time(0.01);
}

void tell_ready(const struct member *m)
{
    EXPECT(write(m->ready[1], "", 1) == 1);
}

void await_ready(const struct member *m)
{
    char byte;
    EXPECT(read(m->ready[0], &byte, 1) == 1);
}

void signal_later(const struct member *m, double seconds, int signal)
{
    pid_t self = getpid();
    if (fork() != 0)
        return;
    pass_time(seconds);
    kill(self, signal);
    tell_ready(m);
    _exit(0);
}

/* ---- all of them ---------------------------------------------------------------------------------------------- */

static _Noreturn void run_body(struct member *m, member_body body)
{
    body(m);
    if (m->graph) {
        bg_graph_destroy(m->graph);
        m->ranks->release(m->ranks->user);
    }
    bg_comm_destroy(m->comm);
    model_free(m);
    exit(0); /* so that what leaks is found */
}

static struct member member_of(int number, int size, int port, const void *argument)
{
    struct member m = {.rank = number, .size = size, .port = port, .started = bg__now_ms(), .argument = argument};
    m.options = fork_rank_options(number, size, port);
    m.options.timeout = TIMEOUT;
    m.options.watchdog = -1;
    return m;
}

static pid_t start(struct member *m, member_body body, int out)
{
    pid_t pid = fork_rank(SECONDS_MAX);
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    if (dup2(out, STDERR_FILENO) < 0)
        _exit(1);
    run_body(m, body);
}

static void take_said(int index, int out)
{
    ssize_t count = pread(out, members_said[index], sizeof members_said[index] - 1, 0);
    assert_true(count >= 0);
    members_said[index][count] = '\0';
    close(out);
}

/* odd: the one that ends with that status; -1: none. */
static void run_crowd(int count, int size, const int *numbers, member_body body, const void *argument, int odd,
                      int odd_status)
{
    pid_t pids[MEMBERS_MAX];
    int outs[MEMBERS_MAX], statuses[MEMBERS_MAX], ready[2], port = free_port();
    bool good = true;
    assert_int_equal(pipe(ready), 0);
    for (int i = 0; i < count; i++) {
        struct member m = member_of(numbers ? numbers[i] : i, size, port, argument);
        memcpy(m.ready, ready, sizeof ready);
        outs[i] = memfd_create("said", MFD_CLOEXEC);
        assert_true(outs[i] >= 0);
        pids[i] = start(&m, body, outs[i]);
    }
    for (int i = 0; i < count; i++)
        if (i != odd)
            statuses[i] = fork_rank_status(pids[i]);
    if (odd >= 0) {
        if (odd_status == SIGKILL)
            kill(pids[odd], SIGKILL);
        statuses[odd] = fork_rank_status(pids[odd]);
    }
    close(ready[0]);
    close(ready[1]);
    for (int i = 0; i < count; i++) {
        take_said(i, outs[i]);
        if (statuses[i] == (i == odd ? odd_status : 0))
            continue;
        print_error("process %d ended with %#x; it said: %s\n", i, (unsigned)statuses[i], members_said[i]);
        good = false;
    }
    assert_true(good);
}

void run_members(int size, member_body body, const void *argument)
{
    run_members_but(size, body, argument, -1, 0);
}

void run_sizes(int fewest, member_body body, const void *argument)
{
    need_ranks(fewest);
    for (int size = fewest; size <= ranks_possible(); size *= 2)
        run_members(size, body, argument);
}

void run_sizes_last_killed(int fewest, member_body body, const void *argument)
{
    need_ranks(fewest);
    for (int size = fewest; size <= ranks_possible(); size *= 2)
        run_members_but(size, body, argument, size - 1, SIGKILL);
}

void run_members_but(int size, member_body body, const void *argument, int odd, int status)
{
    need_ranks(size);
    run_crowd(size, size, NULL, body, argument, odd, status);
}

void run_processes_as(int count, int size, const int *numbers, member_body body, const void *argument)
{
    need_ranks(1);
    run_crowd(count, size, numbers, body, argument, -1, 0);
}

/* ---- a pass with a collective --------------------------------------------------------------------------------- */

bg_status sum_number(void *number, ncclComm_t comm, cudaStream_t stream)
{
    return ncclAllReduce(number, number, 1, ncclInt, ncclSum, comm, stream) == ncclSuccess ? BG_OK : BG_ERROR_NCCL;
}

BG_OP(sum, BG_INOUT(x), BG_VALUE(ncclComm_t, comm))
{
    return sum_number(args->x.data, args->comm, stream);
}

bg_status model_forward(void *user, cudaStream_t stream)
{
    const struct member *m = user;
    return BG_CALL(sum, stream, .x = bg_tensor_1d(m->device, BG_I32, 1), .comm = bg_comm_nccl(m->comm));
}

void model_open(struct member *m)
{
    EXPECT_BG(join(m));
    EXPECT_CUDA(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaMalloc((void **)&m->device, sizeof *m->device));
    EXPECT_BG(model_forward(m, m->stream));
}

void model_prepare(struct member *m)
{
    model_open(m);
    EXPECT_CUDA(cudaStreamSynchronize(m->stream));
    EXPECT_BG(bg_comm_barrier(m->comm, "before the capture of bucket 8"));
    EXPECT_BG(bg_capture_forward(&m->graph, model_forward, m, m->stream, NULL));
    EXPECT_CUDA(cudaStreamSynchronize(m->stream));
    m->ranks->retain(m->ranks->user);
    EXPECT_BG(bg_comm_barrier(m->comm, "after the capture of bucket 8"));
}

bg_status model_try(struct member *m)
{
    bg_status status;
    BG__TRY(m->ranks->enter(m->ranks->user, "bucket 8", m->replays++, 2));
    BG__TRY(bg_replay(m->graph, m->stream));
    BG__TRY(m->ranks->step(m->ranks->user, 0, "segment 0", m->stream));
    BG__TRY(m->ranks->step(m->ranks->user, 1, "sum#0", m->stream));
    m->ranks->leave(m->ranks->user);
done:
    return status;
}

void model_replay(struct member *m)
{
    EXPECT_BG(model_try(m));
}

void model_free(struct member *m)
{
    if (m->stream == NULL)
        return;
    EXPECT_CUDA(cudaFree(m->device));
    EXPECT_CUDA(cudaStreamDestroy(m->stream));
    m->stream = NULL;
}
#else
typedef int comm_ranks_are_not_tested;
#endif
