#include "hostcuda/src/stream/stream_progress.h"

#include "hostcuda/src/stream/host_function.h"
#include "hostcuda/src/stream/progress_timeout.h"
#include "hostcuda/src/stream/queue_run.h"
#include "hostcuda/src/stream/stream_thread.h"

#include <stdlib.h>

/* A wait for the timeout has this many slices, so that a process that was stopped (SIGSTOP) loses at most one slice of
 * it. */
enum { CHECKS = 4 };
enum { EMPTY_CHECKS = 20, TIMEOUT_MIN = 1 };

uint64_t hc_call_count;
static unsigned halvings; /* how often the timeout was halved */
static bool asleep;       /* the thread waits until something is queued */
static pthread_cond_t work_queued = PTHREAD_COND_INITIALIZER;
static struct hc_own_thread progress_thread;

/* A program that has polled is likely to poll again, so the timeout becomes shorter. */
static unsigned current_timeout(void)
{
    unsigned now = hc_progress_timeout() >> halvings;
    return now > TIMEOUT_MIN ? now : TIMEOUT_MIN;
}

static void adapt_timeout(bool polled)
{
    static unsigned polls_in_row; /* consecutive checks in which the program had made calls */
    polls_in_row = polled ? 0 : polls_in_row + 1;
    if (polled && hc_progress_timeout() >> halvings > TIMEOUT_MIN)
        halvings++;
    if (polls_in_row < CHECKS * CHECKS || !halvings)
        return;
    halvings--;
    polls_in_row = 0;
}

/* Waits for one timeout. Returns false if there was a call, or nothing is queued any more. */
static bool is_silent(void)
{
    unsigned look = (current_timeout() + CHECKS - 1) / CHECKS;
    uint64_t calls = hc_call_count;
    for (int i = 0; i < CHECKS && !progress_thread.over; i++) {
        (void)hc_wait_on_condition(&work_queued, look);
        if (hc_call_count != calls)
            return false;
    }
    return !progress_thread.over && hc_run_has_work();
}

/* Runs work until the program calls. Returns false if nothing could run. */
static bool run_while_silent(void)
{
    uint64_t calls = hc_call_count;
    bool ran = false;
    while (hc_call_count == calls && !progress_thread.over && hc_run_without_call())
        ran = true;
    return ran;
}

static void sleep_until_queued(void)
{
    asleep = true;
    while (!hc_run_has_work() && !progress_thread.over)
        (void)hc_wait_on_condition(&work_queued, 0);
    asleep = false;
}

static void *run_progress(void *unused)
{
    unsigned empty = 0;
    (void)unused;
    (void)hc_thread(); /* registers this thread */
    hc_lock();
    while (!progress_thread.over) {
        bool silent = is_silent(), ran = silent && run_while_silent();
        empty = hc_run_has_work() ? 0 : empty + 1;
        if (ran || !silent)
            adapt_timeout(ran);
        if (empty == EMPTY_CHECKS)
            sleep_until_queued();
    }
    hc_unlock();
    return NULL;
}

/* ---- fork and process exit ------------------------------------------------------------------------------------- */

static void reset_in_child(void)
{
    hc_run_reset_in_child();
    hc_host_functions_reset_in_child();
    work_queued = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    progress_thread = (struct hc_own_thread){0};
    asleep = false;
    hc_unlock();
}

/* Runs before any thread of the program makes a call: a thread that forks meanwhile would not run the new handlers. */
__attribute__((constructor)) static void register_fork_handlers(void)
{
    (void)pthread_atfork(hc_lock, hc_unlock, reset_in_child); /* if there is no memory, a child may hang */
}

/* Nothing may run while the program's own objects are destroyed. */
static void end_progress(void)
{
    hc_lock();
    hc_own_thread_stop(&progress_thread, &work_queued);
    hc_host_functions_stop();
    hc_unlock();
}

/* Also runs if a library that contains the host device is unloaded. */
__attribute__((destructor)) static void end_progress_at_last(void)
{
    end_progress();
}

void hc_progress_start_if_queued(void)
{
    static bool registered;
    if (asleep && hc_run_has_work())
        (void)pthread_cond_signal(&work_queued);
    if (progress_thread.begun || progress_thread.over || !hc_run_has_work() || !hc_progress_timeout())
        return;
    if (!registered) {
        registered = true;
        (void)atexit(end_progress); /* on failure, the destructor ends progress, a little later */
    }
    (void)hc_own_thread_start(&progress_thread, run_progress); /* on failure, work waits for calls */
}
