#include "hostcuda/src/stream/stream_progress.h"

#include "hostcuda/src/stream/host_function.h"
#include "hostcuda/src/stream/patience.h"
#include "hostcuda/src/stream/queue_run.h"
#include "hostcuda/src/stream/stream_thread.h"

#include <stdlib.h>

enum { LOOKS = 4 }; /* checks within the timeout: a process that was stopped misses at most one of them */
enum { EMPTY_LOOKS = 20, LEAST = 1 };

uint64_t hc_calls;
static unsigned shorter; /* how often the timeout was halved */
static bool asleep;      /* the thread waits until something is queued */
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER;
static struct hc_own_thread watcher;

/* A program that has polled is likely to poll again, so the timeout becomes shorter. */
static unsigned current_patience(void)
{
    unsigned now = hc_patience() >> shorter;
    return now > LEAST ? now : LEAST;
}

static void adapt_patience(bool polled)
{
    static unsigned calling; /* consecutive checks in which the program had made calls */
    calling = polled ? 0 : calling + 1;
    if (polled && hc_patience() >> shorter > LEAST)
        shorter++;
    if (calling < LOOKS * LOOKS || !shorter)
        return;
    shorter--;
    calling = 0;
}

/* Waits for one timeout. Returns false if there was a call, or nothing is queued any more. */
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

/* Runs work until the program calls. Returns false if nothing could run. */
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
    (void)hc_thread(); /* registers this thread */
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

/* ---- fork and process exit ------------------------------------------------------------------------------------- */

static void renew_in_child(void)
{
    hc_run_forked();
    hc_host_functions_forked();
    wanted = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    watcher = (struct hc_own_thread){0};
    asleep = false;
    hc_unlock();
}

/* Nothing may run while the program's own objects are destroyed. */
static void end_progress(void)
{
    hc_lock();
    hc_thread_end(&watcher, &wanted);
    hc_host_functions_end();
    hc_unlock();
}

/* Also runs if a library that contains the host device is unloaded. */
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
        (void)pthread_atfork(hc_lock, hc_unlock, renew_in_child); /* no memory: a child that makes calls may hang */
        (void)atexit(end_progress);                               /* else the destructor, a little later */
    }
    (void)hc_thread_begin(&watcher, watch_program); /* else work waits for calls */
}
