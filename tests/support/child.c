#include "child.h"

#include "support.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char child_said[4096];

static void run_here(const char *variable, const struct child *child, int out)
{
    if ((variable && setenv(variable, child->value, 1)) || dup2(out, STDERR_FILENO) < 0 ||
        signal(SIGSEGV, SIG_DFL) == SIG_ERR)
        _exit(255); /* cmocka has a handler of its own */
    _exit(child->run());
}

static void read_all(int in)
{
    size_t used = 0;
    ssize_t count = 1;
    while (count > 0 && used < sizeof child_said - 1) {
        count = read(in, child_said + used, sizeof child_said - 1 - used);
        used += count > 0 ? (size_t)count : 0;
    }
    assert_int_equal(count, 0);
    child_said[used] = 0;
}

static int run(const char *variable, const struct child *child)
{
    int ends[2], status = 0;
    fflush(NULL);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        run_here(variable, child, ends[1]);
    close(ends[1]);
    read_all(ends[0]);
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? CHILD_KILLED + WTERMSIG(status) : WEXITSTATUS(status);
}

void expect_child(const char *variable, const struct child *child)
{
    if (strcmp(BG_DEVICE_KIND, "host") != 0) {
        print_message("skipped: %s belongs to the host device\n", variable ? variable : "it");
        skip();
    }
    int status = run(variable, child);
    bool right = child->said ? strstr(child_said, child->said) != NULL : !*child_said;
    if (status != child->status || !right)
        fail_msg("%s=%s: status %d, expected %d (an exit status above 0 is a line); it said \"%s\", expected \"%s\"",
                 variable ? variable : "child", variable ? child->value : "", status, child->status, child_said,
                 child->said ? child->said : "");
}
