/* The watchdog's thread: reports where this rank is, and fails the job if a rank is stuck. */
#include "comm/watchdog.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ANSWER_MS, RANK_0_MS: how long to wait for answers, and for rank 0's decision. SETTLE_MS: a rank that answers late
 * may only have slept, and its answer may unblock the others. */
enum { ANSWER_MS = 2000, RANK_0_MS = 3000, SETTLE_MS = 500, GRACE_MS = 1000 };
enum { SHORTEST_TICK_MS = 10, LONGEST_TICK_MS = 1000 };

/* ---- where this rank is --------------------------------------------------------------------------------------- */

static void describe_progress(bg__watchdog *w, char text[BG__PLACE_MAX])
{
    bg__link *link = w->link;
    char replay[BG__PLACE_MAX - BG__AT_MAX - 48];
    char at[BG__AT_MAX];
    bg__replay_tracker_describe(w->track, replay, sizeof replay);
    pthread_mutex_lock(&link->lock);
    bg__truncate_text(at, sizeof at, link->at);
    if (link->waiting)
        snprintf(text, BG__PLACE_MAX, "waits at \"%s\"; %s", at, replay);
    else
        snprintf(text, BG__PLACE_MAX, "%s; its last exchange with the others was \"%s\"", replay, at);
    pthread_mutex_unlock(&link->lock);
}

/* ---- where all ranks are -------------------------------------------------------------------------------------- */

static bool has_left(bg__link *link, int rank)
{
    bool left;
    pthread_mutex_lock(&link->lock);
    left = link->peers[rank].left || link->peers[rank].ended;
    pthread_mutex_unlock(&link->lock);
    return left;
}

static void send_place(bg__watchdog *w, uint64_t question)
{
    char place[BG__PLACE_MAX];
    bg__frame frame = {.type = BG__PLACE, .sequence = question, .body = place};
    describe_progress(w, place);
    frame.bytes = strlen(place);
    bg__link_send(w->link, 0, &frame);
}

static void ask_all_ranks(bg__watchdog *w)
{
    const bg__frame question = {.type = BG__ASK, .sequence = ++w->question};
    bg__link *link = w->link;
    w->asked = true;
    w->answered_ms = bg__now_ms();
    w->until_ms = w->answered_ms + ANSWER_MS;
    for (int i = 1; i < link->size; i++) {
        link->peers[i].answered = false;
        bg__link_send(link, i, &question);
    }
}

static bool all_answered(bg__watchdog *w)
{
    for (int i = 1; i < w->link->size; i++)
        if (!w->link->peers[i].answered && !has_left(w->link, i))
            return false;
    return true;
}

static const char *describe_peer(bg__watchdog *w, int rank)
{
    const bg__peer *peer = &w->link->peers[rank];
    return peer->answered ? peer->place : has_left(w->link, rank) ? "has left the job" : "does not answer";
}

/* Rank 0 knows the places of all ranks; the others know their own, and whether rank 0 answers. */
static void fail_with_places(bg__watchdog *w, const char *why)
{
    bg__failure failure = {.status = BG_ERROR_RANKS, .loud = true};
    char own[BG__PLACE_MAX];
    int size = w->link->size;
    describe_progress(w, own);
    for (int i = 0; i < size; i++)
        w->places[i].text = i == w->link->rank ? own : w->link->rank == 0 || i == 0 ? describe_peer(w, i) : NULL;
    bg__format_places(failure.text, sizeof failure.text, why, w->places, size);
    bg__link_fail(w->link, &failure);
}

/* ---- what the others send ------------------------------------------------------------------------------------- */

static void record_place(bg__watchdog *w, bg__peer *peer, const bg__frame *frame)
{
    size_t bytes = frame->bytes < sizeof peer->place ? frame->bytes : sizeof peer->place - 1;
    if (frame->sequence != w->question)
        return;
    memcpy(peer->place, frame->body, bytes);
    peer->place[bytes] = '\0';
    peer->answered = true;
    w->answered_ms = bg__now_ms();
}

static void record_failure(bg__link *link, const bg__frame *frame)
{
    bg__failure failure;
    if (bg__failure_parse(frame, &failure))
        bg__link_fail(link, &failure);
}

static void handle_frame(bg__watchdog *w, int rank, const bg__frame *frame)
{
    bg__peer *peer = &w->link->peers[rank];
    switch (frame->type) {
    case BG__FAILED: record_failure(w->link, frame); break;
    case BG__ASK: send_place(w, frame->sequence); break;
    case BG__PLACE: record_place(w, peer, frame); break;
    case BG__STUCK:
        memcpy(peer->why, frame->what, sizeof peer->why);
        peer->stuck = true;
        break;
    case BG__MOVED: peer->stuck = false; break;
    case BG__BYE:
        peer->stuck = false;
        pthread_mutex_lock(&w->link->lock);
        peer->left = true;
        pthread_mutex_unlock(&w->link->lock);
        break;
    default: break;
    }
}

/* Only rank 0 sees which rank has ended. This rank records that end after its own BYE, too: work in flight would wait
 * for the rank that has ended. */
static void record_peer_end(bg__watchdog *w, int rank)
{
    bg__link *link = w->link;
    bool expected;
    link->peers[rank].stuck = false;
    pthread_mutex_lock(&link->lock);
    link->peers[rank].ended = true;
    expected = link->peers[rank].left;
    pthread_mutex_unlock(&link->lock);
    if (!expected)
        bg__link_fail_text(link, BG_ERROR_RANKS,
                           "rank %d has ended without leaving the job: it was killed, or did not call bg_comm_destroy",
                           rank);
}

static void receive_frames(bg__watchdog *w, int rank)
{
    bg__peer *peer = &w->link->peers[rank];
    bg__frame frame;
    bg__read_result read;
    while ((read = bg__frame_read(peer->watch, &peer->from_watch, &frame)) == BG__READ_FRAME)
        handle_frame(w, rank, &frame);
    if (read != BG__READ_NOTHING)
        record_peer_end(w, rank);
}

/* ---- what takes too long -------------------------------------------------------------------------------------- */

static bool is_operation_stuck(bg__watchdog *w, char why[BG__WHAT_MAX])
{
    bg__link *link = w->link;
    char at[BG__AT_MAX];
    bool stuck;
    pthread_mutex_lock(&link->lock);
    bg__truncate_text(at, sizeof at, link->at);
    stuck = link->stuck;
    pthread_mutex_unlock(&link->lock);
    if (stuck)
        snprintf(why, BG__WHAT_MAX, "rank %d has waited %g s at \"%s\"", link->rank, link->timeout_ms / 1e3, at);
    return stuck;
}

static bool is_replay_stuck(bg__watchdog *w, char why[BG__WHAT_MAX])
{
    double still = 0;
    if (w->limit_ms < 0 || !bg__replay_tracker_query(w->track, &still) || still < w->limit_ms)
        return false;
    snprintf(why, BG__WHAT_MAX, "the replay on rank %d has made no progress for %g s", w->link->rank,
             w->limit_ms / 1e3);
    return true;
}

/* An operation that has waited too long has failed; a replay may move again. */
static void check_own_rank(bg__watchdog *w)
{
    char why[BG__WHAT_MAX] = "";
    bg__frame frame = {.type = BG__MOVED};
    bool stuck = is_operation_stuck(w, why) || is_replay_stuck(w, why);
    if (stuck == w->stuck)
        return;
    w->stuck = stuck;
    if (stuck) {
        memcpy(w->why, why, sizeof w->why);
        memcpy(frame.what, why, sizeof frame.what);
        frame.type = BG__STUCK;
    }
    if (w->link->rank > 0) {
        w->until_ms = bg__now_ms() + RANK_0_MS;
        bg__link_send(w->link, 0, &frame);
    }
}

/* Why the job has to fail; NULL: no rank is stuck. */
static const char *find_stuck_reason(const bg__watchdog *w)
{
    const bg__link *link = w->link;
    if (w->stuck)
        return w->why;
    for (int i = 1; link->rank == 0 && i < link->size; i++)
        if (link->peers[i].stuck)
            return link->peers[i].why;
    return NULL;
}

static void check_progress(bg__watchdog *w)
{
    const char *why = find_stuck_reason(w);
    bool zero = w->link->rank == 0;
    double now = bg__now_ms();
    bool again = w->reason != why; /* another rank is stuck: earlier answers are outdated */
    w->reason = why;
    if (why == NULL)
        w->asked = false;
    else if (zero && (!w->asked || again))
        ask_all_ranks(w);
    else if (now >= w->until_ms || (zero && all_answered(w) && now >= w->answered_ms + SETTLE_MS))
        fail_with_places(w, why);
}

static void warn_of_failure(const bg__link *link)
{
    bg__warn("rank %d aborts its communicator: %s", link->rank, link->failure.text);
}

/* Work in flight may finish by itself, unless a rank is known to be stuck. An op that is running may use the
 * communicator, which the abort frees: it gets time to return. */
static void abort_communicator(bg__watchdog *w)
{
    bg__link *link = w->link;
    double still;
    if ((!link->failure.loud || bg__replay_tracker_is_queueing(w->track)) && bg__now_ms() < link->failed_ms + GRACE_MS)
        return;
    if (bg__replay_tracker_query(w->track, &still) || link->failure.loud)
        warn_of_failure(link);
    w->given_up = true;
    w->abort(w->user);
}

/* Warns if the program has destroyed its communicator before this thread could abort it. That happens if another rank's
 * abort has let this rank's streams continue. */
static void warn_if_not_aborted(const bg__watchdog *w)
{
    if (!w->given_up && bg__link_failed(w->link) && w->link->failure.loud)
        warn_of_failure(w->link);
}

/* ---- the thread ----------------------------------------------------------------------------------------------- */

static double poll_interval_ms(const bg__watchdog *w)
{
    double limit = w->limit_ms < 0 ? LONGEST_TICK_MS : w->limit_ms / 4;
    if (!w->given_up && (bg__link_failed(w->link) || find_stuck_reason(w) != NULL))
        limit = SHORTEST_TICK_MS;
    return limit < SHORTEST_TICK_MS ? SHORTEST_TICK_MS : limit > LONGEST_TICK_MS ? LONGEST_TICK_MS : limit;
}

static void wait_for_frames(bg__watchdog *w)
{
    bg__link *link = w->link;
    struct pollfd *fds = w->fds;
    double until = bg__now_ms() + poll_interval_ms(w);
    uint64_t news;
    int peers = bg__link_peer_count(link);
    bg_status status;
    for (int i = 0; i < peers; i++)
        fds[i] = (struct pollfd){link->peers[i].ended ? -1 : link->peers[i].watch, POLLIN, 0};
    fds[peers] = (struct pollfd){link->wake_event, POLLIN, 0};
    status = bg__poll(fds, (size_t)peers + 1, until);
    if (status != BG_OK)
        bg__link_fail_text(link, status, "the watchdog of rank %d: %s", link->rank, bg_last_error());
    if (fds[peers].revents)
        (void)!read(link->wake_event, &news, sizeof news); /* only the wake-up matters */
    for (int i = 0; i < peers; i++)
        if (fds[i].revents)
            receive_frames(w, i);
}

static bool is_stopping(bg__watchdog *w)
{
    bool stop;
    pthread_mutex_lock(&w->link->lock);
    stop = w->link->stop;
    pthread_mutex_unlock(&w->link->lock);
    return stop;
}

static void run_watchdog_loop(bg__watchdog *w)
{
    while (!is_stopping(w)) {
        wait_for_frames(w);
        if (bg__link_failed(w->link)) {
            if (!w->given_up)
                abort_communicator(w);
            continue;
        }
        check_own_rank(w);
        check_progress(w);
    }
}

static void *run_watchdog(void *data)
{
    bg__watchdog *w = data;
    enum cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
    /* the watchdog must run even if these fail */
    bg__clear_cuda_error(cudaSetDevice(w->device));
    bg__clear_cuda_error(cudaThreadExchangeStreamCaptureMode(&relaxed));
    run_watchdog_loop(w);
    warn_if_not_aborted(w);
    return NULL;
}

/* Returns the signals that this thread blocks: all except faults. The program's own threads handle its signals. A fault
 * must reach its handler in the thread that caused it; the host device's fenced memory needs that. */
static sigset_t signals_to_block(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&set, faults[i]);
    return set;
}

/* Allocates all memory of the thread here: if the thread allocated, a child after fork() could not know its state. */
bg_status bg__watchdog_start(bg__watchdog *watchdog)
{
    sigset_t others = signals_to_block(), before;
    size_t size = (size_t)watchdog->link->size;
    bool reserved;
    int error;
    watchdog->fds = calloc(size + 1, sizeof *watchdog->fds);
    watchdog->places = calloc(size, sizeof *watchdog->places);
    reserved = watchdog->fds != NULL && watchdog->places != NULL;
    for (size_t i = 0; i < size && reserved; i++)
        if (watchdog->link->peers[i].watch >= 0)
            reserved = bg__reader_reserve(&watchdog->link->peers[i].from_watch);
    if (!reserved)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the watchdog of rank %d", watchdog->link->rank);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    error = pthread_create(&watchdog->thread, NULL, run_watchdog, watchdog);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    watchdog->running = error == 0;
    return error == 0
               ? BG_OK
               : bg__fail(BG_ERROR_OUT_OF_MEMORY, "the watchdog thread could not be started: %s", strerror(error));
}

void bg__watchdog_free(bg__watchdog *watchdog)
{
    free(watchdog->fds);
    free(watchdog->places);
    watchdog->fds = NULL;
    watchdog->places = NULL;
}

void bg__watchdog_stop(bg__watchdog *watchdog)
{
    if (watchdog->running) {
        pthread_mutex_lock(&watchdog->link->lock);
        watchdog->link->stop = true;
        pthread_mutex_unlock(&watchdog->link->lock);
        bg__link_wake_watchdog(watchdog->link);
        pthread_join(watchdog->thread, NULL);
    }
    watchdog->running = false;
    bg__watchdog_free(watchdog);
}
