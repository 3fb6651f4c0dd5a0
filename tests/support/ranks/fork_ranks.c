#include "fork_ranks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_SECONDS = 60 };

static bool complain(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    return false;
}

/* One that was free a moment ago. */
static bool ask_port(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                getsockname(fd, (struct sockaddr *)&address, &bytes) == 0;
    if (!good)
        complain("no port for the ranks");
    if (fd >= 0)
        close(fd);
    *port = ntohs(address.sin_port);
    return good;
}

/* The child's side returns 0. */
static pid_t start(pid_t parent, unsigned seconds)
{
    pid_t pid;
    fflush(NULL);
    pid = fork();
    if (pid < 0)
        complain("no process for a rank");
    if (pid != 0)
        return pid;
    alarm(seconds);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || setenv("HOSTCUDA_DEVICES", "4", 0) != 0)
        _exit(1);
    return 0;
}

static int end_of(pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

int fork_ranks_possible(void)
{
    pid_t pid = start(getpid(), LOOK_SECONDS);
    int count = 0, status;
    if (pid < 0)
        return 0;
    if (pid == 0)
        _exit(cudaGetDeviceCount(&count) != cudaSuccess ? 0 : count < FORK_RANKS_MAX ? count : FORK_RANKS_MAX);
    status = end_of(pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static void run_rank(int rank, int size, int port, fork_body body, void *user)
{
    bg_comm_options options = BG_COMM_OPTIONS_INIT;
    int status;
    options.rank = options.local_rank = rank;
    options.size = size;
    options.port = port;
    status = body(&options, user);
    exit(fflush(NULL) == 0 ? status : 1); /* as a program of its own, so that tools look for leaks */
}

static bool ended_well(int rank, int size, int status)
{
    if (status == 0)
        return true;
    if (WIFEXITED(status))
        fprintf(stderr, "rank %d of %d ended with exit status %d\n", rank, size, WEXITSTATUS(status));
    else
        fprintf(stderr, "rank %d of %d was ended by signal %d%s\n", rank, size, WTERMSIG(status),
                WTERMSIG(status) == SIGALRM ? " (its time was over)" : "");
    return false;
}

bool fork_ranks(int size, unsigned seconds, fork_body body, void *user)
{
    pid_t parent = getpid(), pids[FORK_RANKS_MAX];
    bool all = true, good = true;
    int port, started = 0;

    if (!ask_port(&port))
        return false;
    for (; started < size && all; started++) {
        pids[started] = start(parent, seconds);
        if (pids[started] == 0)
            run_rank(started, size, port, body, user);
        all = pids[started] > 0;
    }
    if (!all)
        started--;
    for (int i = 0; i < started; i++) {
        if (!all) /* they would wait for the one that did not come */
            kill(pids[i], SIGKILL);
        good = ended_well(i, size, end_of(pids[i])) && good;
    }
    return all && good;
}
