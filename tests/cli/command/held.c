/* Preloaded into a command: holds one of its processes at HELD_AT until the file go is in the directory HELD_IN, or,
 * where HELD_FOR is given, for so many milliseconds. HELD_AT is the depth of the process (0: the command, 1: its
 * keeper, 2: the program), the call and whether before or after it: "1 setpgid before". The file at says that it has
 * come there. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int depth;

static void hold(const char *call, const char *when)
{
    const char *point = getenv("HELD_AT"), *directory = getenv("HELD_IN"), *milliseconds = getenv("HELD_FOR");
    char here[64], path[4096];
    snprintf(here, sizeof here, "%d %s %s", depth, call, when);
    if (point == NULL || directory == NULL || strcmp(point, here) != 0)
        return;
    snprintf(path, sizeof path, "%s/at", directory);
    (void)close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    snprintf(path, sizeof path, "%s/go", directory);
    for (int i = 0; access(path, F_OK) != 0 && (milliseconds == NULL || i < atoi(milliseconds)); i++)
        (void)usleep(1000);
}

pid_t fork(void)
{
    pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
    pid_t pid;
    hold("fork", "before");
    pid = real();
    depth += pid == 0;
    hold("fork", "after");
    return pid;
}

int setpgid(pid_t pid, pid_t group)
{
    int (*real)(pid_t, pid_t) = (int (*)(pid_t, pid_t))dlsym(RTLD_NEXT, "setpgid");
    int status;
    hold("setpgid", "before");
    status = real(pid, group);
    hold("setpgid", "after");
    return status;
}

int execvp(const char *file, char *const *arguments)
{
    int (*real)(const char *, char *const *) = (int (*)(const char *, char *const *))dlsym(RTLD_NEXT, "execvp");
    hold("execvp", "before");
    return real(file, arguments);
}
