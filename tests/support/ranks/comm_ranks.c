#include "comm_ranks.h"

#ifdef TEST_NCCL
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS_MAX = 120, TIMEOUT = 60, MEMBERS_MAX = RANKS_MAX };

char members_said[RANKS_MAX][4096];

int said(const char *file, int line, bg_status status, bg_status expected, const char *text)
{
    if (status == expected && strstr(bg_last_error(), text))
        return 0;
    return rank_complain(file, line, "%s: \"%s\", expected was %s: \"%s\"", bg_status_name(status), bg_last_error(),
                         bg_status_name(expected), text);
}

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
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

static struct sockaddr_in here(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* Bound to the port, 0: to any, to the end of the test program: no other process is given it. -1: it is taken. */
static int hold_port(int port)
{
    const int on = 1;
    struct sockaddr_in address = here(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

int free_port(void)
{
    for (int tries = 0; tries < 1000; tries++) {
        struct sockaddr_in address;
        socklen_t bytes = sizeof address;
        int fd = hold_port(0);
        assert_true(fd >= 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
        if (hold_port(ntohs(address.sin_port) + 1) >= 0)
            return ntohs(address.sin_port);
        close(fd);
    }
    fail_msg("%s", "no two ports in a row are free");
    return -1;
}

int connect_to_port(int port)
{
    struct sockaddr_in address = here(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

int join_well(const struct member *m)
{
    bg_comm *comm = NULL;
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    EXPECT_BG(bg_comm_barrier(comm, "here"));
    bg_comm_destroy(comm);
    return 0;
}

int tell_ready(const struct member *m)
{
    EXPECT(write(m->ready[1], "", 1) == 1);
    return 0;
}

int await_ready(const struct member *m)
{
    char byte;
    EXPECT(read(m->ready[0], &byte, 1) == 1);
    return 0;
}

static void run_member(struct member *m, member_body body, int out)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(SECONDS_MAX);
    if (setenv("HOSTCUDA_DEVICES", "4", 0) || dup2(out, STDERR_FILENO) < 0)
        _exit(1);
    exit(body(m)); /* so that what leaks is found */
}

static pid_t start(struct member *m, member_body body, int out)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        run_member(m, body, out);
    return pid;
}

static void take_said(int index, int out)
{
    ssize_t count = pread(out, members_said[index], sizeof members_said[index] - 1, 0);
    assert_true(count >= 0);
    members_said[index][count] = '\0';
    close(out);
}

static int end_of(pid_t pid, bool kill_it)
{
    int status = 0;
    if (kill_it)
        kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static struct member member_of(int number, int size, int port, const void *argument)
{
    static const bg_comm_options options = BG_COMM_OPTIONS_INIT;
    struct member m = {.rank = number, .size = size, .port = port, .options = options, .argument = argument};
    m.options.rank = m.options.local_rank = number;
    m.options.size = size;
    m.options.port = port;
    m.options.timeout = TIMEOUT;
    m.options.watchdog = -1;
    return m;
}

struct crowd {
    int count, size;
    const int *numbers;
    int odd, odd_status;
};

static void run_crowd(const struct crowd *c, member_body body, const void *argument)
{
    pid_t pids[MEMBERS_MAX];
    int outs[MEMBERS_MAX], statuses[MEMBERS_MAX], ready[2], port = free_port();
    bool good = true;
    assert_int_equal(pipe(ready), 0);
    for (int i = 0; i < c->count; i++) {
        struct member m = member_of(c->numbers ? c->numbers[i] : i, c->size, port, argument);
        memcpy(m.ready, ready, sizeof ready);
        outs[i] = memfd_create("said", MFD_CLOEXEC);
        assert_true(outs[i] >= 0);
        pids[i] = start(&m, body, outs[i]);
    }
    for (int i = 0; i < c->count; i++)
        if (i != c->odd)
            statuses[i] = end_of(pids[i], false);
    if (c->odd >= 0)
        statuses[c->odd] = end_of(pids[c->odd], c->odd_status == SIGKILL);
    close(ready[0]);
    close(ready[1]);
    for (int i = 0; i < c->count; i++) {
        take_said(i, outs[i]);
        if (statuses[i] == (i == c->odd ? c->odd_status : 0))
            continue;
        print_error("process %d ended with %#x; it said: %s\n", i, (unsigned)statuses[i], members_said[i]);
        good = false;
    }
    assert_true(good);
}

void run_members(int size, member_body body, const void *argument)
{
    run_crowd(&(struct crowd){.count = size, .size = size, .odd = -1}, body, argument);
}

void run_members_but(int size, member_body body, const void *argument, int odd, int status)
{
    run_crowd(&(struct crowd){.count = size, .size = size, .odd = odd, .odd_status = status}, body, argument);
}

void run_processes_as(int count, int size, const int *numbers, member_body body, const void *argument)
{
    run_crowd(&(struct crowd){.count = count, .size = size, .numbers = numbers, .odd = -1}, body, argument);
}

/* ---- a pass with a collective --------------------------------------------------------------------------------- */

BG_OP(sum, BG_INOUT(x), BG_VALUE(ncclComm_t, comm))
{
    size_t count = (size_t)args->x.dim[0];
    return ncclAllReduce(args->x.data, args->x.data, count, ncclInt, ncclSum, args->comm, stream) == ncclSuccess
               ? BG_OK
               : BG_ERROR_NCCL;
}

bg_status model_forward(void *user, cudaStream_t stream)
{
    const struct member_model *model = user;
    return BG_CALL(sum, stream, .x = bg_tensor_1d(model->device, BG_I32, 1), .comm = bg_comm_nccl(model->comm));
}

int model_open(struct member *m, struct member_model *model)
{
    EXPECT_BG(bg_comm_create(&model->comm, &m->options));
    model->ranks = bg_comm_ranks(model->comm);
    EXPECT_CUDA(cudaStreamCreateWithFlags(&model->stream, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaMalloc((void **)&model->device, sizeof *model->device));
    EXPECT_BG(model_forward(model, model->stream));
    return 0;
}

int model_prepare(struct member *m, struct member_model *model)
{
    if (model_open(m, model))
        return 1;
    EXPECT_CUDA(cudaStreamSynchronize(model->stream));
    EXPECT_BG(bg_comm_barrier(model->comm, "before the capture of bucket 8"));
    EXPECT_BG(bg_capture_forward(&model->graph, model_forward, model, model->stream, NULL));
    EXPECT_CUDA(cudaStreamSynchronize(model->stream));
    model->ranks->retain(model->ranks->user);
    EXPECT_BG(bg_comm_barrier(model->comm, "after the capture of bucket 8"));
    return 0;
}

int model_replay(struct member_model *model)
{
    EXPECT_BG(model->ranks->enter(model->ranks->user, "bucket 8", model->replays++, 2));
    EXPECT_BG(bg_replay(model->graph, model->stream));
    EXPECT_BG(model->ranks->step(model->ranks->user, 0, "segment 0", model->stream));
    EXPECT_BG(model->ranks->step(model->ranks->user, 1, "sum#0", model->stream));
    model->ranks->leave(model->ranks->user);
    return 0;
}

int model_free(struct member_model *model)
{
    EXPECT_CUDA(cudaFree(model->device));
    EXPECT_CUDA(cudaStreamDestroy(model->stream));
    return 0;
}

int model_end(struct member_model *model)
{
    bg_graph_destroy(model->graph);
    model->ranks->release(model->ranks->user);
    bg_comm_destroy(model->comm);
    return model_free(model);
}
#else
typedef int comm_ranks_are_not_tested;
#endif
