#include "cc_process.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void print_command(const struct hcc_list *command)
{
    for (size_t i = 0; i < command->count; i++)
        fprintf(stderr, "%s%s", i ? " " : "", command->items[i]);
    fputc('\n', stderr);
}

static int report_failure(const char *what, const char *why)
{
    fprintf(stderr, "hostcuda-cc: error: %s: %s\n", what, why);
    return 1;
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t child_pid, received_signal;

/* Signals the command's process group, which includes the processes that the command has started. */
static void forward_signal(int number)
{
    received_signal = number;
    if (child_pid > 0)
        kill(-(pid_t)child_pid, number);
}

void hcc_forward_signals(void)
{
    static const int watched[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now, ours = {.sa_handler = forward_signal};
    sigemptyset(&ours.sa_mask);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        if (sigaction(watched[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(watched[i], &ours, NULL);
}

void hcc_end_by_signal(void)
{
    if (!received_signal)
        return;
    signal(received_signal, SIG_DFL);
    raise(received_signal);
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static int wait_for_child(int *status)
{
    int error = 0;
    if (received_signal) /* the signal came before the child existed */
        kill(-(pid_t)child_pid, received_signal);
    while (waitpid((pid_t)child_pid, status, 0) < 0 && error == 0)
        error = errno == EINTR ? 0 : errno;
    child_pid = 0;
    return error;
}

int hcc_run_command(const struct hcc_list *command, bool verbose)
{
    posix_spawnattr_t attributes;
    int status = 0, error;
    pid_t started = 0;
    if (verbose)
        print_command(command);
    if ((error = posix_spawnattr_init(&attributes)) != 0)
        return report_failure(command->items[0], strerror(error));
    error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    error = error ? error : posix_spawnattr_setpgroup(&attributes, 0);
    error = error ? error : posix_spawnp(&started, command->items[0], NULL, &attributes, command->items, environ);
    posix_spawnattr_destroy(&attributes);
    if (!error) {
        child_pid = started;
        error = wait_for_child(&status);
    }
    if (error)
        return report_failure(command->items[0], strerror(error));
    if (received_signal)
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : report_failure(command->items[0], strsignal(WTERMSIG(status)));
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

char *hcc_make_temporary_folder(void)
{
    const char *parent = getenv("TMPDIR");
    char *folder = hcc_format("%s/hostcuda-cc.XXXXXX", parent && *parent ? parent : "/tmp");
    if (mkdtemp(folder))
        return folder;
    report_failure(folder, strerror(errno));
    free(folder);
    return NULL;
}

void hcc_remove_temporary_folder(char *folder)
{
    DIR *open = folder ? opendir(folder) : NULL;
    for (struct dirent *entry; open && (entry = readdir(open));) {
        char *path = hcc_format("%s/%s", folder, entry->d_name);
        unlink(path); /* fails for . and .., which is harmless */
        free(path);
    }
    if (open)
        closedir(open);
    if (folder && rmdir(folder) != 0)
        report_failure(folder, strerror(errno));
    free(folder);
}

char *hcc_program_folder(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) {
        report_failure("/proc/self/exe", strerror(errno));
        return NULL;
    }
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    return hcc_format("%s", path);
}
