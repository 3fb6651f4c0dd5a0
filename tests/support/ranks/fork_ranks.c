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

int fork_ranks_hold_port(int *port)
{
    const int on = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)*port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &bytes) == 0) {
        *port = ntohs(address.sin_port);
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

pid_t fork_rank(unsigned seconds)
{
    pid_t parent = getpid(), pid;
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

int fork_rank_status(pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

int fork_ranks_possible(void)
{
    pid_t pid = fork_rank(LOOK_SECONDS);
    int count = 0, status;
    if (pid < 0)
        return 0;
    if (pid == 0)
        _exit(cudaGetDeviceCount(&count) != cudaSuccess ? 0 : count < FORK_RANKS_MAX ? count : FORK_RANKS_MAX);
    status = fork_rank_status(pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

bg_comm_options fork_rank_options(int rank, int size, int port)
{
    bg_comm_options options = BG_COMM_OPTIONS_INIT;
    options.rank = options.local_rank = rank;
    options.size = size;
    options.port = port;
    return options;
}

static void run_rank(int rank, int size, int port, fork_body body, void *user)
{
    bg_comm_options options = fork_rank_options(rank, size, port);
    int status = body(&options, user);
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
    pid_t pids[FORK_RANKS_MAX];
    bool good = true;
    int port = 0, started = 0, fd = fork_ranks_hold_port(&port);

    if (fd < 0)
        return complain("no port for the ranks");
    close(fd);
    for (; started < size && (pids[started] = fork_rank(seconds)) >= 0; started++)
        if (pids[started] == 0)
            run_rank(started, size, port, body, user);
    for (int i = 0; i < started; i++) {
        if (started < size) /* they would wait for the one that did not come */
            kill(pids[i], SIGKILL);
        good = ended_well(i, size, fork_rank_status(pids[i])) && good;
    }
    return good && started == size;
}
