#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "debug/report/running_file.h"
#include "hang.h"
#include "hang_copies.h"

enum { TICK_MS = 100 };

static atomic_bool is_ending; /* the process is exiting normally */
static pid_t process;         /* the process that started the thread; a forked child has no thread */

/* ---- the thread ------------------------------------------------------------------------------------------------- */

static bool is_pending(const bg__hang_copy *w)
{
    return !w->broken && atomic_load(&w->launched) != w->marked.marks.words[BG__MARK_ENDED];
}

static bool has_begun(const bg__hang_copy *w)
{
    return w->marked.marks.words[BG__MARK_BEGUN] != w->marked.marks.words[BG__MARK_ENDED];
}

static bool update_progress(bg__hang_copy *w, double now)
{
    const uint32_t begun = w->marked.marks.words[BG__MARK_BEGUN], ended = w->marked.marks.words[BG__MARK_ENDED];
    const size_t nodes = is_pending(w) ? bg__hang_copy_count_ended(w) : 0;
    const bool moved = !is_pending(w) || begun != w->begun || ended != w->ended || nodes != w->nodes;

    w->begun = begun;
    w->ended = ended;
    w->nodes = nodes;
    if (moved)
        w->moved = now;
    return moved;
}

/* Reports launches without progress. If one launch hangs, launches that wait for it are not reported. */
static void check_copies(double now, bool writes)
{
    bool any = false;

    pthread_mutex_lock(&bg__hang_copies_lock);
    for (bg__hang_copy *w = bg__hang_copies; w != NULL; w = w->next) {
        if (update_progress(w, now))
            bg__hang_remove_row(&w->place);
        any = any || (is_pending(w) && has_begun(w));
    }
    for (bg__hang_copy *w = bg__hang_copies; w != NULL && !atomic_load(&is_ending); w = w->next)
        if (is_pending(w) && now - w->moved >= BG__HANG_LONG_MS && (has_begun(w) || !any) && (writes || w->place == 0))
            bg__hang_replace_row(&w->place, bg__hang_format_row(w, has_begun(w), w->moved), atomic_load(&w->launched));
    pthread_mutex_unlock(&bg__hang_copies_lock);
}

/* The thread ends with the process. */
static void *run_hang_thread(void *user)
{
    const struct timespec tick = {0, TICK_MS * 1000000L};
    for (unsigned i = 0;; i++) {
        check_copies(bg__now_ms(), i % 10 == 0);
        if (!atomic_load(&is_ending))
            bg__hang_check_nodes(bg__now_ms(), i % 10 == 0);
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &tick, NULL);
    }
    return user;
}

static void start_hang_thread(void)
{
    sigset_t all, before;
    pthread_t thread;
    int error;

    process = getpid();
    (void)sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* this thread must not handle the program's signals */
    error = pthread_create(&thread, NULL, run_hang_thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        error = pthread_detach(thread);
    if (error != 0)
        bg__warn("BG_HANG: hangs are not reported, since the thread cannot be started: %s", strerror(error));
}

bg_status bg__hangs_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    bg_status status;

    BG__TRY(bg__hangs_read_environment());
    if (!bg__hangs_wanted())
        return BG_OK;
    bg__running_create_file();
    pthread_once(&once, start_hang_thread);
done:
    return status;
}

static const struct timespec *one_second_from_now(void)
{
    static struct timespec at;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec++;
    return &at;
}

/* A launch that takes long while the program exits is no hang. */
__attribute__((destructor)) static void remove_rows_at_exit(void)
{
    if (process != getpid() || pthread_mutex_timedlock(&bg__hang_copies_lock, one_second_from_now()) != 0)
        return;
    atomic_store(&is_ending, true);
    for (bg__hang_copy *w = bg__hang_copies; w != NULL; w = w->next)
        bg__hang_remove_row(&w->place);
    pthread_mutex_unlock(&bg__hang_copies_lock);
    bg__hang_remove_node_rows();
}
