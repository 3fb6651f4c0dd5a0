#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "debug/cli/process/signals.h"
#include "job.h"

/* Until the command says that all is done (0), or is gone. */
static void keep(int told)
{
    pid_t groups[CLI_RANKS_MOST], group = 0;
    int count = 0;
    ssize_t got;

    do {
        got = read(told, &group, sizeof group);
        if (got == sizeof group && group > 0 && count < CLI_RANKS_MOST)
            groups[count++] = group;
    } while ((got < 0 && errno == EINTR) || (got == sizeof group && group > 0));
    if (got != sizeof group)
        for (int i = 0; i < count; i++)
            (void)kill(-groups[i], SIGKILL);
    _exit(0);
}

bool cli_keeper_start(cli_keeper *keeper)
{
    int told[2];
    if (pipe2(told, O_CLOEXEC) != 0)
        return false;
    keeper->pid = cli_signals_fork();
    if (keeper->pid == 0) {
        /* No signal of a terminal reaches it, none of others is taken, and no one waits for its output to end. */
        (void)setpgid(0, 0);
        (void)prctl(PR_SET_NAME, "keeper");
        (void)close(told[1]);
        for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++)
            (void)close(descriptor);
        keep(told[0]);
    }
    (void)close(told[0]);
    keeper->told = told[1];
    if (keeper->pid > 0)
        return true;
    (void)close(told[1]);
    return false;
}

static bool tell(const cli_keeper *keeper, pid_t group)
{
    return write(keeper->told, &group, sizeof group) == sizeof group;
}

bool cli_keeper_add(const cli_keeper *keeper, pid_t group)
{
    return tell(keeper, group);
}

void cli_keeper_end(cli_keeper *keeper)
{
    (void)tell(keeper, 0);
    (void)close(keeper->told);
    (void)waitpid(keeper->pid, NULL, 0);
}
