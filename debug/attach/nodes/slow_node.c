#include "slow_node.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

enum { SLOW_SECONDS = 10 }; /* seconds */

static struct timespec next_limit(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += SLOW_SECONDS;
    return at;
}

static bool is_past(const struct timespec *limit)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > limit->tv_sec || (now.tv_sec == limit->tv_sec && now.tv_nsec >= limit->tv_nsec);
}

static void warn_slow(const bg__slow_node *slow)
{
    const bg__call *call = slow->node->call;
    const char *file = call != NULL ? call->site.file : NULL;
    char line[24] = "";

    if (file != NULL && call->site.line > 0)
        snprintf(line, sizeof line, ":%d", call->site.line);
    bg__warn("--attach: the step through %s has waited more than %d s for %s%s%s%s. If that node waits for something "
             "that the program does only after the launch, it never ends: leave this graph out (--graphs)",
             bg__graph_name(slow->graph), SLOW_SECONDS, call != NULL ? call->name : bg__node_kind(slow->node),
             file != NULL ? " at " : "", file != NULL ? file : "", line);
}

/* The thread is not woken for each node: it wakes when the last limit that it has seen is over. */
static void *run_watchdog(void *user)
{
    bg__slow_node *slow = user;

    pthread_mutex_lock(&slow->lock);
    while (!slow->end && !slow->warned) {
        struct timespec limit = slow->until;
        if (pthread_cond_clockwait(&slow->ended, &slow->lock, CLOCK_MONOTONIC, &limit) != ETIMEDOUT ||
            !is_past(&slow->until))
            continue;
        slow->warned = slow->node != NULL;
        if (slow->warned)
            warn_slow(slow);
        slow->until = next_limit();
    }
    pthread_mutex_unlock(&slow->lock);
    return NULL;
}

bg_status bg__slow_node_create(bg__slow_node *slow, const bg_graph *graph)
{
    *slow = (bg__slow_node){.graph = graph};
    if (pthread_mutex_init(&slow->lock, NULL) == 0) {
        if (pthread_cond_init(&slow->ended, NULL) == 0)
            return BG_OK;
        pthread_mutex_destroy(&slow->lock);
    }
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the steps of %s", bg__graph_name(graph));
}

/* If the thread cannot be created, only a warning is lost. */
static void start_watchdog(bg__slow_node *slow)
{
    sigset_t all, before;

    slow->end = false;
    slow->process = getpid();
    slow->until = next_limit();
    (void)sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* this thread must not get the program's signals */
    slow->running = pthread_create(&slow->thread, NULL, run_watchdog, slow) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void bg__slow_node_set_running(bg__slow_node *slow, const bg__node *node)
{
    if (!slow->running && node != NULL && !slow->warned)
        start_watchdog(slow);
    if (!slow->running || slow->process != getpid())
        return;
    pthread_mutex_lock(&slow->lock);
    slow->node = node;
    slow->until = next_limit();
    pthread_mutex_unlock(&slow->lock);
}

void bg__slow_node_stop(bg__slow_node *slow)
{
    if (!slow->running || slow->process != getpid())
        return;
    pthread_mutex_lock(&slow->lock);
    slow->end = true;
    slow->node = NULL;
    pthread_cond_signal(&slow->ended);
    pthread_mutex_unlock(&slow->lock);
    pthread_join(slow->thread, NULL);
    slow->running = false;
}

void bg__slow_node_free(bg__slow_node *slow)
{
    bg__slow_node_stop(slow);
    if (slow->running) /* a forked child: the parent's thread may have had the lock */
        return;
    pthread_cond_destroy(&slow->ended);
    pthread_mutex_destroy(&slow->lock);
}
