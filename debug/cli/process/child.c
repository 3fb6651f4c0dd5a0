#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "debug/report/files.h"
#include "signals.h"

static const double grace = 2; /* seconds between SIGTERM and SIGKILL */
static pid_t command;          /* that is to go on while a child that is apart does */

double cli_now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- in the child ---- */

/* Becomes the descriptor: the one that is given, else the file, which is a new one where it is written. */
static int redirect(const int *streams, const char *path, int descriptor)
{
    int from = streams != NULL ? streams[descriptor] : -1;
    if (from < 0 && path == NULL)
        return 0;
    if (from < 0)
        from = descriptor == STDIN_FILENO ? open(path, O_RDONLY | O_CLOEXEC) : bg__file_create(path);
    return from >= 0 && dup2(from, descriptor) >= 0 ? 0 : errno;
}

/* Both streams may go into one file. */
static int redirect_all(const cli_child *child)
{
    bool one = child->output != NULL && child->errors != NULL && strcmp(child->output, child->errors) == 0;
    int error = redirect(child->streams, child->input, STDIN_FILENO);
    if (error == 0)
        error = redirect(child->streams, child->output, STDOUT_FILENO);
    if (error == 0 && one)
        return dup2(STDOUT_FILENO, STDERR_FILENO) >= 0 ? 0 : errno;
    return error == 0 ? redirect(child->streams, child->errors, STDERR_FILENO) : error;
}

static int set_environment(const char *const *set)
{
    for (; set != NULL && set[0] != NULL; set += 2)
        if ((set[1] != NULL ? setenv(set[0], set[1], 1) : unsetenv(set[0])) != 0)
            return errno;
    return 0;
}

/* Does not return: what goes wrong is written to tell. */
static void become(const cli_child *child, int tell)
{
    int error = 0;
    if (child->apart) {
        (void)setpgid(0, 0);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != command)
            _exit(127);
    }
    cli_signals_restore();
    error = redirect_all(child);
    if (error == 0)
        error = set_environment(child->set);
    if (error == 0 && child->prepare != NULL)
        error = child->prepare(child->user);
    if (error == 0) {
        execvp(child->argv[0], child->argv);
        error = errno;
    }
    if (write(tell, &error, sizeof error) != sizeof error)
        _exit(126);
    _exit(127);
}

/* ---- in the parent ---- */

pid_t cli_child_start(const cli_child *child)
{
    int told[2], error = 0;
    pid_t pid;

    if (pipe2(told, O_CLOEXEC) != 0)
        return -1;
    (void)fflush(NULL);
    command = getpid();
    pid = cli_signals_fork();
    if (pid == 0)
        become(child, told[1]);
    error = pid < 0 ? errno : 0;
    (void)close(told[1]);
    if (pid > 0 && child->apart)
        (void)setpgid(pid, pid); /* whoever comes first */
    if (pid > 0 && read(told[0], &error, sizeof error) == sizeof error)
        (void)waitpid(pid, NULL, 0);
    (void)close(told[0]);
    errno = error;
    return error == 0 ? pid : -1;
}

/* Until the child ended, a signal came (its number is returned), or seconds are over (0). */
static int wait_until(pid_t pid, double seconds, int *status)
{
    double end = cli_now() + seconds, left;
    for (;;) {
        int signal;
        if (waitpid(pid, status, WNOHANG) == pid)
            return SIGCHLD;
        left = end - cli_now();
        if (seconds > 0 && left <= 0)
            return 0;
        cli_signals_wait(seconds > 0 ? left : -1);
        while ((signal = cli_signals_next()) != 0)
            if (signal != SIGCHLD)
                return signal;
    }
}

/* Children that the process had before it was this command: a shell's, that has become it by exec. */
static pid_t *others;
static size_t other_count;

static bool is_other(pid_t pid)
{
    for (size_t i = 0; i < other_count; i++)
        if (others[i] == pid)
            return true;
    return false;
}

/* The first child of the command's of which is returns true; 0: none. */
static pid_t find_child(bool (*is)(const void *user, pid_t pid), const void *user)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    char *word = NULL;
    size_t room = 0;
    pid_t found = 0;

    while (file != NULL && found == 0 && getdelim(&word, &room, ' ', file) > 0) {
        pid_t pid = (pid_t)strtol(word, NULL, 10);
        if (pid > 0 && is(user, pid))
            found = pid;
    }
    free(word);
    if (file != NULL)
        (void)fclose(file);
    return found;
}

static bool add_other(const void *user, pid_t pid)
{
    pid_t *larger = realloc(others, (other_count + 1) * sizeof *others);
    (void)user;
    if (larger == NULL)
        return true;
    others = larger;
    others[other_count++] = pid;
    return false;
}

void cli_child_adopt(void)
{
    static bool adopted;
    if (!adopted)
        (void)find_child(add_other, NULL);
    adopted = true;
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1L);
}

typedef struct keeping {
    bool (*is_ours)(const void *user, pid_t pid);
    const void *user;
} keeping;

static bool is_stray(const void *user, pid_t pid)
{
    const keeping *k = user;
    return !is_other(pid) && (k->is_ours == NULL || !k->is_ours(k->user, pid));
}

void cli_child_end_strays(bool (*is_ours)(const void *user, pid_t pid), const void *user)
{
    const keeping kept = {is_ours, user};
    pid_t stray;
    while ((stray = find_child(is_stray, &kept)) != 0 && (kill(stray, SIGKILL) == 0 || errno != EPERM))
        (void)waitpid(stray, NULL, 0); /* another user's would not end */
}

static void stop(pid_t pid, bool apart)
{
    pid_t whom = apart ? -pid : pid;
    double end = cli_now() + grace, left = grace;
    int status, why = SIGTERM;
    (void)kill(whom, SIGTERM);
    /* timeout sends SIGTERM twice: to the command, and to its group. */
    for (; why == SIGTERM && left > 0; left = end - cli_now())
        why = wait_until(pid, left, &status);
    if (why != SIGCHLD) {
        (void)kill(whom, SIGKILL);
        (void)waitpid(pid, &status, 0);
    }
    if (!apart)
        cli_child_end_strays(NULL, NULL); /* the group is the command's own */
}

void cli_child_run(const cli_child *child, cli_end *end)
{
    double began = cli_now();
    int status = 0, why;
    pid_t pid;

    if (!child->apart)
        cli_child_adopt();
    pid = cli_child_start(child);
    *end = (cli_end){.how = CLI_UNSTARTED, .code = errno};
    if (pid < 0)
        return;
    why = wait_until(pid, child->timeout, &status);
    end->code = 0;
    if (why != SIGCHLD) {
        end->how = why == 0 ? CLI_TIMED_OUT : CLI_STOPPED;
        stop(pid, child->apart);
    } else {
        end->how = WIFSIGNALED(status) ? CLI_KILLED : CLI_EXITED;
        end->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (child->apart)
        (void)kill(-pid, SIGKILL); /* what it left */
    end->seconds = cli_now() - began;
}

bool cli_is_crash(const cli_end *end, int *signal)
{
    *signal = end->how == CLI_KILLED ? end->code : end->code - 128;
    return end->how == CLI_KILLED || (end->how == CLI_EXITED && *signal > 0 && sigabbrev_np(*signal) != NULL);
}
