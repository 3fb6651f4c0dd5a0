#include "process.h"

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

/* A signal from the terminal ends the command; this program goes on, and tidies up. */
int hcc_run(const struct hcc_list *command, bool verbose)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before[2];
    int status = 0, error, signals[] = {SIGINT, SIGQUIT};
    posix_spawnattr_t attributes;
    sigset_t defaults;
    pid_t child;
    if (verbose)
        print_command(command);
    if ((error = posix_spawnattr_init(&attributes)) != 0)
        return fail(command->items[0], strerror(error));
    sigemptyset(&defaults);
    for (int i = 0; i < 2; i++) {
        sigaction(signals[i], &ignore, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaddset(&defaults, signals[i]);
    }
    error = posix_spawnattr_setsigdefault(&attributes, &defaults);
    error = error ? error : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    error = error ? error : posix_spawnp(&child, command->items[0], NULL, &attributes, command->items, environ);
    while (error == 0 && waitpid(child, &status, 0) < 0)
        error = errno == EINTR ? 0 : errno;
    posix_spawnattr_destroy(&attributes);
    for (int i = 0; i < 2; i++)
        sigaction(signals[i], &before[i], NULL);
    if (error)
        return fail(command->items[0], strerror(error));
    return WIFEXITED(status) ? WEXITSTATUS(status) : fail(command->items[0], strsignal(WTERMSIG(status)));
}

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
        unlink(path); /* fails for . and .. */
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
