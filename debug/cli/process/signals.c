/* Handlers that write to a pipe: a library may have started a thread, and a signal that reaches that thread must
 * neither get lost, as with signalfd, nor end the command. */
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const int held[] = {SIGCHLD, SIGINT, SIGTERM, SIGQUIT, SIGHUP};
enum { COUNT = sizeof held / sizeof *held };

static int ends[2] = {-1, -1};
static struct sigaction before[COUNT], before_pipe;
static sigset_t mask_before;

double cli_now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void cli_signals_note(int signal)
{
    int error = errno;
    unsigned char byte = (unsigned char)signal;
    ssize_t wrote = write(ends[1], &byte, 1);
    (void)wrote; /* full: thousands wait already */
    errno = error;
}

static void set(int signal, void (*handler)(int), struct sigaction *old)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
    sigemptyset(&action.sa_mask);
    (void)sigaction(signal, &action, old);
}

cli_status cli_signals_hold(void)
{
    sigset_t freed;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return cli_say(CLI_FAILED, "the pipe for signals cannot be created: %s", strerror(errno));
    sigemptyset(&freed);
    for (int i = 0; i < COUNT; i++) {
        set(held[i], cli_signals_note, &before[i]);
        if ((held[i] == SIGQUIT || held[i] == SIGHUP) && before[i].sa_handler == SIG_IGN) /* nohup */
            set(held[i], SIG_IGN, NULL);
        sigaddset(&freed, held[i]);
    }
    set(SIGPIPE, SIG_IGN, &before_pipe);
    (void)sigprocmask(SIG_UNBLOCK, &freed, &mask_before);
    return CLI_OK;
}

int cli_signals_descriptor(void)
{
    return ends[0];
}

int cli_signals_next(void)
{
    unsigned char byte;
    return read(ends[0], &byte, 1) == 1 ? byte : 0;
}

void cli_signals_wait(double seconds)
{
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    int milliseconds = seconds < 0 ? -1 : (int)((seconds < 1e6 ? seconds : 1e6) * 1000) + 1;
    (void)poll(&polled, 1, milliseconds);
}

pid_t cli_signals_fork(void)
{
    sigset_t all, mask;
    pid_t pid;
    int error;

    sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &mask);
    pid = fork();
    error = errno;
    if (pid != 0)
        (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    errno = error;
    return pid;
}

void cli_signals_move(int descriptor)
{
    (void)dup2(ends[1], descriptor);
    ends[1] = descriptor;
}

bool cli_signals_poll(int descriptor)
{
    struct pollfd polled = {.fd = descriptor, .events = POLLIN};
    sigset_t mask;
    sigfillset(&mask);
    for (int i = 0; i < COUNT; i++)
        sigdelset(&mask, held[i]);
    return ppoll(&polled, 1, NULL, &mask) > 0;
}

void cli_signals_restore(void)
{
    for (int i = 0; i < COUNT; i++)
        (void)sigaction(held[i], &before[i], NULL);
    (void)sigaction(SIGPIPE, &before_pipe, NULL);
    (void)sigprocmask(SIG_SETMASK, &mask_before, NULL);
}
