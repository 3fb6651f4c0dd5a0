#include "orphans.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "signals.h"

static const double patience_seconds = 10; /* seconds: a stray may start others faster than they can be ended */
enum { NAMED_MOST = 8 };

/* Children that this process had when it became a subreaper. */
static pid_t *spared;
static size_t spared_count, spared_capacity;

static bool is_spared(pid_t pid)
{
    for (size_t i = 0; i < spared_count; i++)
        if (spared[i] == pid)
            return true;
    return false;
}

/* False: the kernel has no list of them (CONFIG_PROC_CHILDREN). */
static bool for_each_child(void (*visit)(void *user, pid_t pid), void *user)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    char *word = NULL;
    size_t room = 0;

    if (file == NULL)
        return false;
    while (getdelim(&word, &room, ' ', file) > 0) {
        pid_t pid = (pid_t)strtol(word, NULL, 10);
        if (pid > 0)
            visit(user, pid);
    }
    free(word);
    (void)fclose(file);
    return true;
}

static void add_spared(void *user, pid_t pid)
{
    (void)user;
    if (BG__ARRAY_GROW(spared, spared_count, spared_capacity, "processes") == BG_OK)
        spared[spared_count++] = pid;
}

void cli_orphans_adopt(void)
{
    static pid_t adopter; /* the last caller's process: a forked child is another one, and inherits no children */
    if (adopter != getpid()) {
        spared_count = 0;
        (void)for_each_child(add_spared, NULL);
    }
    adopter = getpid();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1L);
}

/* ---- ending them ---- */

typedef struct sweep {
    int reaped, killed, refused;
    cli_orphan_visit *left; /* NULL: the sweep kills processes */
    const void *user;
} sweep;

/* A process id is not reused before its process is reaped, which happens only here: so kill reaches no other
 * process. */
static void kill_child(void *user, pid_t pid)
{
    sweep *s = user;
    if (is_spared(pid))
        return;
    if (waitpid(pid, NULL, WNOHANG) == pid)
        s->reaped++;
    else if (kill(pid, SIGKILL) == 0)
        s->killed++;
    else
        s->refused++;
}

static void visit_survivor(void *user, pid_t pid)
{
    sweep *s = user;
    if (is_spared(pid) || s->killed + s->refused >= NAMED_MOST || waitpid(pid, NULL, WNOHANG) == pid)
        return;
    bool refused = kill(pid, 0) != 0;
    s->killed += !refused;
    s->refused += refused;
    s->left(s->user, pid, refused);
}

static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Waits until a child has ended, or seconds are over. SIGCHLD is blocked here, but a library's thread may receive it,
 * so the wait is short. */
static void wait_for_child(const sigset_t *ends, double seconds)
{
    const double most = 0.05;
    const struct timespec wait = {.tv_nsec = (long)((seconds < most ? seconds : most) * 1e9)};
    (void)sigtimedwait(ends, NULL, &wait);
}

/* false: no child is left that can be killed. */
static bool kill_children(const sigset_t *ends, double left)
{
    sweep s = {0};
    if (!for_each_child(kill_child, &s))
        return false;
    if (s.reaped > 0)
        return true; /* its children are children of this process now */
    if (s.killed > 0)
        wait_for_child(ends, left);
    /* The list may lack some while others end (man 5 proc). */
    return s.killed > 0 || (s.refused == 0 && spared_count == 0 && has_children());
}

void cli_orphans_kill(cli_orphan_visit *left, const void *user)
{
    double end = cli_monotonic_seconds() + patience_seconds, now = cli_monotonic_seconds();
    sweep s = {.left = left, .user = user};
    sigset_t ends, mask;

    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &ends, &mask);
    while (now < end && kill_children(&ends, end - now))
        now = cli_monotonic_seconds();
    if (left != NULL)
        (void)for_each_child(visit_survivor, &s);
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
}
