/* Queues signals in a pipe that their handlers write to. A signal may reach a thread that a library has started. There
 * it must neither get lost, as with signalfd, nor end the command. */
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The last two are caught only where signals are forwarded. */
static const int caught_signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2};
enum { MOST = sizeof caught_signals / sizeof *caught_signals, ALWAYS = MOST - 2, FROM_TERMINAL = 0x80 };
static int caught_count = ALWAYS;

static int pipe_ends[2] = {-1, -1};
static struct sigaction actions_before[MOST], pipe_action_before;
static sigset_t mask_before;

double cli_monotonic_seconds(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void enqueue_byte(int byte)
{
    int error = errno;
    unsigned char noted = (unsigned char)byte;
    ssize_t wrote = write(pipe_ends[1], &noted, 1);
    (void)wrote; /* the pipe is full: thousands of signals are queued */
    errno = error;
}

void cli_signals_enqueue(int signal)
{
    enqueue_byte(signal);
}

/* The kernel itself sends the signals of a terminal's keys. */
static void handle_signal(int signal, siginfo_t *info, void *context)
{
    (void)context;
    enqueue_byte(signal | (info->si_code == SI_KERNEL ? FROM_TERMINAL : 0));
}

static void catch_signal(int signal, struct sigaction *old)
{
    struct sigaction action = {.sa_sigaction = handle_signal, .sa_flags = SA_RESTART | SA_NOCLDSTOP | SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    (void)sigaction(signal, &action, old);
}

static void ignore_signal(int signal, struct sigaction *old)
{
    struct sigaction action = {.sa_handler = SIG_IGN};
    sigemptyset(&action.sa_mask);
    (void)sigaction(signal, &action, old);
}

cli_status cli_signals_catch(void)
{
    sigset_t freed;
    if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return cli_print_message(CLI_FAILED, "the pipe for signals cannot be created: %s", strerror(errno));
    sigemptyset(&freed);
    for (int i = 0; i < caught_count; i++) {
        catch_signal(caught_signals[i], &actions_before[i]);
        if ((caught_signals[i] == SIGQUIT || caught_signals[i] == SIGHUP) &&
            actions_before[i].sa_handler == SIG_IGN) /* nohup */
            ignore_signal(caught_signals[i], NULL);
        sigaddset(&freed, caught_signals[i]);
    }
    ignore_signal(SIGPIPE, &pipe_action_before);
    (void)sigprocmask(SIG_UNBLOCK, &freed, &mask_before);
    return CLI_OK;
}

cli_status cli_signals_catch_all(void)
{
    caught_count = MOST;
    return cli_signals_catch();
}

int cli_signals_descriptor(void)
{
    return pipe_ends[0];
}

int cli_signals_pop(bool *terminal)
{
    unsigned char byte = 0;
    if (read(pipe_ends[0], &byte, 1) != 1)
        byte = 0;
    if (terminal != NULL)
        *terminal = (byte & FROM_TERMINAL) != 0;
    return byte & ~FROM_TERMINAL;
}

void cli_signals_wait(double seconds)
{
    struct pollfd polled = {.fd = pipe_ends[0], .events = POLLIN};
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

void cli_signals_forward_pending(pid_t pid)
{
    const struct timespec now = {0};
    for (int i = 0; i < caught_count; i++) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, caught_signals[i]);
        if (caught_signals[i] != SIGCHLD && sigtimedwait(&one, NULL, &now) == caught_signals[i] && pid > 0)
            (void)kill(pid, caught_signals[i]);
    }
}

void cli_signals_move_pipe(int descriptor)
{
    (void)dup2(pipe_ends[1], descriptor);
    pipe_ends[1] = descriptor;
}

bool cli_signals_poll_readable(int descriptor)
{
    struct pollfd polled = {.fd = descriptor, .events = POLLIN};
    sigset_t mask;
    sigfillset(&mask);
    for (int i = 0; i < caught_count; i++)
        sigdelset(&mask, caught_signals[i]);
    return ppoll(&polled, 1, NULL, &mask) > 0;
}

void cli_signals_restore(void)
{
    for (int i = 0; i < caught_count; i++)
        (void)sigaction(caught_signals[i], &actions_before[i], NULL);
    (void)sigaction(SIGPIPE, &pipe_action_before, NULL);
    (void)sigprocmask(SIG_SETMASK, &mask_before, NULL);
}
