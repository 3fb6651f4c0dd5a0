#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "debug/cli/output/exits.h"
#include "debug/cli/output/cli_files.h"
#include "debug/files/files.h"
#include "signals.h"
#include "orphans.h"

/* A message of the keeper to the command. */
typedef struct supervisor_message {
    enum { STARTED, UNSTARTED, ENDED, LEFT } what;
    pid_t pid;     /* STARTED, LEFT */
    int code;      /* UNSTARTED: errno; ENDED: exit status or signal */
    bool killed;   /* ENDED, by a signal */
    bool refused;  /* LEFT: another user's */
    char name[16]; /* LEFT */
} supervisor_message;

/* ---- in the child, before exec ---- */

/* Replaces the descriptor by the stream that is given, else by the file; creates an output file. Returns an errno. */
static int redirect_stream(const int *streams, const char *path, int descriptor)
{
    int from = streams != NULL ? streams[descriptor] : -1;
    if (from < 0 && path == NULL)
        return 0;
    if (from < 0)
        from = descriptor == STDIN_FILENO ? open(path, O_RDONLY | O_CLOEXEC) : bg__file_create(path);
    return from >= 0 && dup2(from, descriptor) >= 0 ? 0 : errno;
}

/* Output and errors may go into one file. */
static int redirect_streams(const cli_child *child)
{
    bool one = child->output != NULL && child->errors != NULL && strcmp(child->output, child->errors) == 0;
    int error = redirect_stream(child->streams, child->input, STDIN_FILENO);
    if (error == 0)
        error = redirect_stream(child->streams, child->output, STDOUT_FILENO);
    if (error == 0 && one)
        return dup2(STDOUT_FILENO, STDERR_FILENO) >= 0 ? 0 : errno;
    return error == 0 ? redirect_stream(child->streams, child->errors, STDERR_FILENO) : error;
}

static int set_environment(const char *const *set)
{
    for (; set != NULL && set[0] != NULL; set += 2)
        if ((set[1] != NULL ? setenv(set[0], set[1], 1) : unsetenv(set[0])) != 0)
            return errno;
    return 0;
}

/* Does not return. Executes the program once the other end of `begin` is closed; if that fails, writes the errno to
 * tell. */
static void exec_child(const cli_child *child, pid_t keeper, const int begin[2], int tell)
{
    int error = 0;
    char nothing;
    (void)close(begin[1]);
    if (child->apart)
        (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper)
        _exit(127);
    if (read(begin[0], &nothing, 1) != 0)
        _exit(127);
    cli_signals_restore();
    error = redirect_streams(child);
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

/* ---- in the keeper ---- */

/* Moves the keeper into a process group of its own, so that it gets no signal of a terminal, and none for the command's
 * group. The command has also got the signals that came before. This passes them on to the program, unless the program
 * is `apart`. */
static void leave_group(pid_t program, bool apart)
{
    (void)setpgid(0, 0);
    if (apart)
        (void)setpgid(program, program); /* keeper and program both do it, whichever runs first */
    cli_signals_forward_pending(apart ? 0 : program);
}

/* Returns -1 with errno if it fails. The program runs once the keeper has left the command's group: a signal that the
 * program sends to that group must not reach the command twice. */
static pid_t start_program(const cli_child *child)
{
    int begin[2], told[2], error = 0;
    pid_t pid, keeper = getpid();

    if (pipe2(begin, O_CLOEXEC) != 0 || pipe2(told, O_CLOEXEC) != 0)
        return -1;
    pid = cli_signals_fork();
    if (pid == 0)
        exec_child(child, keeper, begin, told[1]);
    error = pid < 0 ? errno : 0;
    if (pid > 0)
        leave_group(pid, child->apart);
    (void)close(begin[0]);
    (void)close(begin[1]);
    (void)close(told[1]);
    if (pid > 0 && read(told[0], &error, sizeof error) == sizeof error)
        (void)waitpid(pid, NULL, 0);
    (void)close(told[0]);
    errno = error;
    return error == 0 ? pid : -1;
}

static void send_message(int reports, const supervisor_message *what)
{
    ssize_t wrote = write(reports, what, sizeof *what);
    (void)wrote; /* the command may be gone */
}

/* Closes what the keeper has inherited, so that it keeps no output or pipe of a rank open. Its own pipes become 0 and
 * 1, the pipe of signals becomes 2. */
static void close_other_descriptors(int held, int reports)
{
    long most = sysconf(_SC_OPEN_MAX);
    (void)dup2(held, STDIN_FILENO);
    (void)dup2(reports, STDOUT_FILENO);
    cli_signals_move_pipe(STDERR_FILENO);
    if (close_range(STDERR_FILENO + 1, ~0U, 0) != 0)
        for (int descriptor = STDERR_FILENO + 1; descriptor < most; descriptor++)
            (void)close(descriptor);
}

/* Reports the end of the program, and reaps all other children. The program is not reaped: so its process id, which is
 * its group's, too, is not reused. */
static bool reap_children(pid_t program)
{
    siginfo_t info = {0};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
        supervisor_message ended = {.what = ENDED, .code = info.si_status, .killed = info.si_code != CLD_EXITED};
        if (info.si_pid == program) {
            send_message(STDOUT_FILENO, &ended);
            cli_signals_enqueue(SIGCHLD);
            return true;
        }
        (void)waitpid(info.si_pid, NULL, 0);
    }
    return false;
}

static void read_process_name(pid_t pid, char name[16])
{
    char path[32];
    FILE *file;
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
    file = fopen(path, "re");
    if (file == NULL || fgets(name, 16, file) == NULL)
        memcpy(name, "?", 2);
    name[strcspn(name, "\n")] = '\0';
    if (file != NULL)
        (void)fclose(file);
}

static void send_survivor(const void *user, pid_t pid, bool refused)
{
    supervisor_message left = {.what = LEFT, .pid = pid, .refused = refused};
    (void)user;
    read_process_name(pid, left.name);
    send_message(STDOUT_FILENO, &left);
}

/* Does not return. */
static void run_supervisor(const cli_child *child, int held, int reports)
{
    bool ended = false;
    char released;
    pid_t program;

    cli_orphans_adopt();
    program = start_program(child);
    send_message(reports,
                 &(supervisor_message){.what = program > 0 ? STARTED : UNSTARTED, .pid = program, .code = errno});
    if (program < 0)
        _exit(0);
    (void)prctl(PR_SET_NAME, "keeper");
    close_other_descriptors(held, reports);
    do
        ended = ended || reap_children(program);
    while (!cli_signals_poll_readable(STDIN_FILENO));
    if (child->apart)
        (void)kill(-program, SIGKILL);
    cli_orphans_kill(send_survivor, NULL);
    if (read(STDIN_FILENO, &released, 1) != 1) /* the command was killed, and cannot remove its directories itself */
        cli_temporary_directories_remove();
    _exit(0);
}

/* ---- in the command ---- */

/* Forks the keeper, which uses held[0] and reports[1]. */
static bool fork_supervisor(cli_supervisor *keeper, const cli_child *child, const int held[2], const int reports[2])
{
    (void)fflush(NULL);
    cli_orphans_adopt();
    keeper->pid = cli_signals_fork();
    if (keeper->pid == 0) {
        (void)close(held[1]);
        (void)close(reports[0]);
        run_supervisor(child, held[0], reports[1]);
    }
    return keeper->pid > 0;
}

bool cli_supervisor_start(cli_supervisor *keeper, const cli_child *child)
{
    int held[2] = {-1, -1}, reports[2] = {-1, -1}, error;
    supervisor_message first = {.what = UNSTARTED, .code = ECHILD};

    keeper->pid = -1;
    if (pipe2(held, O_CLOEXEC) != 0 || pipe2(reports, O_CLOEXEC) != 0 || !fork_supervisor(keeper, child, held, reports))
        first.code = errno;
    keeper->held = held[1];
    keeper->reports = reports[0];
    for (int i = 0; i < 2; i++) {
        int descriptor = i == 0 ? held[0] : reports[1];
        if (descriptor >= 0)
            (void)close(descriptor);
    }
    if (keeper->pid > 0 && read(keeper->reports, &first, sizeof first) != sizeof first)
        first = (supervisor_message){.what = STARTED,
                                     .pid = keeper->pid}; /* the program killed the keeper before its report */
    keeper->program = first.pid;
    if (first.what == STARTED)
        return fcntl(keeper->reports, F_SETFL, O_NONBLOCK) == 0;
    error = first.code;
    if (keeper->held >= 0)
        (void)close(keeper->held);
    if (keeper->reports >= 0)
        (void)close(keeper->reports);
    if (keeper->pid > 0)
        (void)waitpid(keeper->pid, NULL, 0);
    errno = error;
    return false;
}

bool cli_supervisor_poll_end(const cli_supervisor *keeper, cli_end *end)
{
    supervisor_message ended;
    ssize_t got = read(keeper->reports, &ended, sizeof ended);
    if (got < 0)
        return false;
    if (got != sizeof ended) /* the keeper was killed, and the program with it (PR_SET_PDEATHSIG) */
        ended = (supervisor_message){.code = SIGKILL, .killed = true};
    end->how = ended.killed ? CLI_KILLED : CLI_EXITED;
    end->code = ended.code;
    return true;
}

void cli_supervisor_kill_all(cli_supervisor *keeper)
{
    ssize_t wrote = write(keeper->held, "", 1);
    (void)wrote; /* the keeper may be gone */
    (void)close(keeper->held);
}

static void print_survivor(const supervisor_message *left, const char *program)
{
    const char *why = left->refused ? "it is another user's" : "it is still there after 10 s";
    (void)cli_print_message(CLI_OK, "process %ld (%s), left running by '%s', cannot be ended: %s; end it yourself",
                            (long)left->pid, left->name, program, why);
}

bool cli_supervisor_wait(cli_supervisor *keeper, const char *program)
{
    supervisor_message left;
    int status = 0;
    (void)fcntl(keeper->reports, F_SETFL, 0);
    while (read(keeper->reports, &left, sizeof left) == sizeof left)
        if (left.what == LEFT)
            print_survivor(&left, program);
    (void)close(keeper->reports);
    return waitpid(keeper->pid, &status, 0) == keeper->pid && status == 0;
}
