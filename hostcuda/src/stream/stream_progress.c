#include "hostcuda/src/stream/stream_progress.h"

#include "hostcuda/src/stream/host_function.h"
#include "hostcuda/src/stream/patience.h"
#include "hostcuda/src/stream/queue_run.h"
#include "hostcuda/src/stream/stream_thread.h"

#include <stdlib.h>

enum { LOOKS = 4 }; /* within the patience: a process that was stopped has missed one of them at most */
enum { EMPTY_LOOKS = 20, LEAST = 1 };

uint64_t hc_calls;
static unsigned shorter; /* how often it has been halved */
static bool asleep;      /* the thread waits until something is queued */
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER;
static struct hc_own_thread watcher;

/* A program that has polled does so again: it need not wait as long as the first time. */
static unsigned current_patience(void)
{
    unsigned now = hc_patience() >> shorter;
    return now > LEAST ? now : LEAST;
}

static void adapt_patience(bool polled)
{
    static unsigned calling; /* times in a row that the program has called */
    calling = polled ? 0 : calling + 1;
    if (polled && hc_patience() >> shorter > LEAST)
        shorter++;
    if (calling < LOOKS * LOOKS || !shorter)
        return;
    shorter--;
    calling = 0;
}

/* One patience without a call. False: there was one, or nothing is left to do. */
static bool is_silent(void)
{
    unsigned look = (current_patience() + LOOKS - 1) / LOOKS;
    uint64_t calls = hc_calls;
    for (int i = 0; i < LOOKS && !watcher.over; i++) {
        (void)hc_sleep_on(&wanted, look);
        if (hc_calls != calls)
            return false;
    }
    return !watcher.over && hc_run_queued();
}

/* Until the program calls. False: nothing could run. */
static bool run_while_silent(void)
{
    uint64_t calls = hc_calls;
    bool ran = false;
    while (hc_calls == calls && !watcher.over && hc_run_uncalled())
        ran = true;
    return ran;
}

static void sleep_until_wanted(void)
{
    asleep = true;
    while (!hc_run_queued() && !watcher.over)
        (void)hc_sleep_on(&wanted, 0);
    asleep = false;
}

static void *watch_program(void *unused)
{
    unsigned empty = 0;
    (void)unused;
    (void)hc_thread(); /* it is known */
    hc_lock();
    while (!watcher.over) {
        bool silent = is_silent(), ran = silent && run_while_silent();
        empty = hc_run_queued() ? 0 : empty + 1;
        if (ran || !silent)
            adapt_patience(ran);
        if (empty == EMPTY_LOOKS)
            sleep_until_wanted();
    }
    hc_unlock();
    return NULL;
}

/* ---- fork, and the end of the process -------------------------------------------------------------------------- */

static void renew_in_child(void)
{
    hc_run_forked();
    hc_host_functions_forked();
    wanted = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    watcher = (struct hc_own_thread){0};
    asleep = false;
    hc_unlock();
}

/* Nothing runs while the program's own objects are destroyed. */
static void end_progress(void)
{
    hc_lock();
    hc_thread_end(&watcher, &wanted);
    hc_host_functions_end();
    hc_unlock();
}

/* Also where a library that holds the host device is unloaded. */
__attribute__((destructor)) static void end_progress_at_last(void)
{
    end_progress();
}

void hc_progress_begin(void)
{
    static bool registered;
    if (asleep && hc_run_queued())
        (void)pthread_cond_signal(&wanted);
    if (watcher.begun || watcher.over || !hc_run_queued() || !hc_patience())
        return;
    if (!registered) {
        registered = true;
        (void)pthread_atfork(hc_lock, hc_unlock, renew_in_child); /* no memory: a child that calls may wait for ever */
        (void)atexit(end_progress);                               /* else at_last, a little later */
    }
    (void)hc_thread_begin(&watcher, watch_program); /* else work waits for calls, as without it */
}
