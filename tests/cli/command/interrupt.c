/* Starts a command on a terminal of its own and types Ctrl-C when one of its processes is at a point, as held.c makes
 * it wait: interrupt DIRECTORY COMMAND ARG... Prints what the command prints, and exits as it does. */
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool put(const char *directory, const char *name)
{
    char path[4096];
    int file;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    return file >= 0 && close(file) == 0;
}

static bool is_there(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

int main(int count, char **arguments)
{
    bool typed = false, ended = false;
    int terminal, status = 0;
    pid_t pid;

    if (count < 3)
        return 99;
    pid = forkpty(&terminal, NULL, NULL, NULL);
    if (pid == 0) {
        execv(arguments[2], arguments + 2);
        _exit(99);
    }
    if (pid < 0 || fcntl(terminal, F_SETFL, O_NONBLOCK) != 0)
        return 99;
    while (!ended) {
        char text[4096];
        ssize_t got = read(terminal, text, sizeof text);
        ended = got < 0 && errno != EAGAIN;
        if (got > 0)
            (void)!write(STDOUT_FILENO, text, (size_t)got);
        /* The terminal prints ^C when it has sent the signal. */
        if (got > 0 && typed && memmem(text, (size_t)got, "^C", 2) != NULL && !put(arguments[1], "go"))
            return 99;
        if (!typed && is_there(arguments[1], "at"))
            typed = write(terminal, "\003", 1) == 1;
        if (got <= 0)
            (void)usleep(1000);
    }
    if (waitpid(pid, &status, 0) != pid)
        return 99;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
