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

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "hostcuda-cc: error: %s: %s\n", what, why);
    return 1;
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t child, received;

/* Signals the command's process group, which includes the processes that the command has started. */
static void pass_on(int number)
{
    received = number;
    if (child > 0)
        kill(-(pid_t)child, number);
}

void hcc_watch_signals(void)
{
    static const int watched[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now, ours = {.sa_handler = pass_on};
    sigemptyset(&ours.sa_mask);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        if (sigaction(watched[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(watched[i], &ours, NULL);
}

void hcc_end_by_signal(void)
{
    if (!received)
        return;
    signal(received, SIG_DFL);
    raise(received);
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static int wait_for_child(int *status)
{
    int error = 0;
    if (received) /* the signal came before the child existed */
        kill(-(pid_t)child, received);
    while (waitpid((pid_t)child, status, 0) < 0 && error == 0)
        error = errno == EINTR ? 0 : errno;
    child = 0;
    return error;
}

int hcc_run(const struct hcc_list *command, bool verbose)
{
    posix_spawnattr_t attributes;
    int status = 0, error;
    pid_t started = 0;
    if (verbose)
        print_command(command);
    if ((error = posix_spawnattr_init(&attributes)) != 0)
        return fail(command->items[0], strerror(error));
    error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    error = error ? error : posix_spawnattr_setpgroup(&attributes, 0);
    error = error ? error : posix_spawnp(&started, command->items[0], NULL, &attributes, command->items, environ);
    posix_spawnattr_destroy(&attributes);
    if (!error) {
        child = started;
        error = wait_for_child(&status);
    }
    if (error)
        return fail(command->items[0], strerror(error));
    if (received)
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : fail(command->items[0], strsignal(WTERMSIG(status)));
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

char *hcc_folder_make(void)
{
    const char *parent = getenv("TMPDIR");
    char *folder = hcc_text("%s/hostcuda-cc.XXXXXX", parent && *parent ? parent : "/tmp");
    if (mkdtemp(folder))
        return folder;
    fail(folder, strerror(errno));
    free(folder);
    return NULL;
}

void hcc_folder_remove(char *folder)
{
    DIR *open = folder ? opendir(folder) : NULL;
    for (struct dirent *entry; open && (entry = readdir(open));) {
        char *path = hcc_text("%s/%s", folder, entry->d_name);
        unlink(path); /* fails for . and .., which is harmless */
        free(path);
    }
    if (open)
        closedir(open);
    if (folder && rmdir(folder) != 0)
        fail(folder, strerror(errno));
    free(folder);
}

char *hcc_own_folder(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) {
        fail("/proc/self/exe", strerror(errno));
        return NULL;
    }
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    return hcc_text("%s", path);
}
