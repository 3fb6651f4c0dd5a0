/* Each rank sends a frame to rank 0. Rank 0 compares the frames, and answers with the bodies of all. */
#include "comm/exchange.h"

#include "comm/agree.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDLE_MS = 1, VERDICT_MS = 10000, NEWS_MS = 1000 };

typedef struct exchange_round {
    bg__link *link;
    bg__frame own;
    bg__frame *theirs;  /* by rank */
    bool *came;         /* by rank: its frame was received */
    struct pollfd *fds; /* by rank, and one for failed_event */
    double until_ms;
} exchange_round;

static const char *operation_name(bg__frame_type type)
{
    switch (type) {
    case BG__BARRIER: return "barrier";
    case BG__AGREE: return "agree";
    case BG__ANY: return "any";
    case BG__LARGEST: return "max";
    default: return "gather";
    }
}

/* ---- what may go wrong ---------------------------------------------------------------------------------------- */

/* The connection of a rank has ended. Waits a little for the watchdog's thread to receive the reason: BYE or a failure.
 */
static bg_status fail_lost_rank(bg__link *link, int rank, const char *what)
{
    double until = bg__now_ms() + NEWS_MS;
    bool left = false;
    while (!left && bg__now_ms() < until && !bg__link_await_failure(link, bg__now_ms() + IDLE_MS)) {
        pthread_mutex_lock(&link->lock);
        left = link->peers[rank].left;
        pthread_mutex_unlock(&link->lock);
    }
    bg__link_fail_text(link, BG_ERROR_RANKS, "rank %d has %s, and rank %d waits for it at \"%s\"", rank,
                       left ? "left the job" : "ended", link->rank, what);
    return bg__link_check(link);
}

/* The timeout has passed. Waits for the watchdog's thread, which asks all ranks where they are. */
static bg_status fail_timeout(bg__link *link, const char *what)
{
    pthread_mutex_lock(&link->lock);
    link->stuck = true;
    pthread_mutex_unlock(&link->lock);
    bg__link_wake_watchdog(link);
    if (!bg__link_await_failure(link, bg__now_ms() + VERDICT_MS))
        bg__link_fail_text(link, BG_ERROR_RANKS, "rank %d has waited %g s at \"%s\"", link->rank,
                           link->timeout_ms / 1e3, what);
    return bg__link_check(link);
}

static bool frames_differ(const bg__frame *zero, const bg__frame *other, int rank, bg__failure *failure)
{
    bool same_kind = zero->type == other->type, same_bytes = zero->bytes == other->bytes;
    if (strcmp(zero->what, other->what) != 0 || zero->sequence != other->sequence)
        snprintf(failure->text, sizeof failure->text,
                 "the ranks make different calls: rank 0 is at \"%s\", rank %d at \"%s\"; make the same calls in "
                 "the same order on all ranks",
                 zero->what, rank, other->what);
    else if (!same_kind)
        snprintf(failure->text, sizeof failure->text,
                 "the ranks make different calls at \"%s\": rank 0 calls %s, rank %d calls %s; make the same calls "
                 "in the same order on all ranks",
                 zero->what, operation_name(zero->type), rank, operation_name(other->type));
    else if (zero->type == BG__AGREE)
        return !bg__agree_compare(zero, other, rank, failure);
    else if (!same_bytes)
        snprintf(failure->text, sizeof failure->text,
                 "the ranks pass different sizes at \"%s\": rank 0: %zu bytes, rank %d: %zu bytes; pass the same "
                 "size on all ranks",
                 zero->what, zero->bytes, rank, other->bytes);
    return !same_kind || !same_bytes || failure->text[0] != '\0';
}

static bg_status compare_with_rank(exchange_round *r, int rank)
{
    bg__failure failure = {.status = BG_ERROR_RANKS};
    if (frames_differ(&r->own, &r->theirs[rank], rank, &failure)) {
        bg__link_fail(r->link, &failure);
        return bg__link_check(r->link);
    }
    r->came[rank] = true;
    return BG_OK;
}

/* ---- rank 0 --------------------------------------------------------------------------------------------------- */

static bg_status read_rank(exchange_round *r, int rank)
{
    bg__peer *peer = &r->link->peers[rank];
    switch (bg__frame_read(peer->work, &peer->from_work, &r->theirs[rank])) {
    case BG__READ_NOTHING: return BG_OK;
    case BG__READ_FRAME: return compare_with_rank(r, rank);
    default: return fail_lost_rank(r->link, rank, r->own.what);
    }
}

static bool all_received(const exchange_round *r)
{
    for (int i = 1; i < r->link->size; i++)
        if (!r->came[i])
            return false;
    return true;
}

/* Waits a little for some of these connections, or for a failure. */
static bg_status wait_for_frames(bg__link *link, struct pollfd *fds, int count)
{
    bg_status status;
    fds[count] = (struct pollfd){link->failed_event, POLLIN, 0};
    status = bg__poll(fds, (size_t)count + 1, bg__now_ms() + IDLE_MS);
    if (status != BG_OK) {
        bg__link_fail_text(link, status, "rank %d: %s", link->rank, bg_last_error());
        return bg__link_check(link);
    }
    if (link->idle != NULL)
        link->idle(link->idle_user);
    return BG_OK;
}

static bg_status collect_frames(exchange_round *r)
{
    int size = r->link->size;
    bg_status status = BG_OK;
    while (!all_received(r)) {
        if (bg__now_ms() >= r->until_ms) {
            status = fail_timeout(r->link, r->own.what);
            goto done;
        }
        for (int i = 0; i < size; i++)
            r->fds[i] = (struct pollfd){r->came[i] ? -1 : r->link->peers[i].work, POLLIN, 0};
        BG__TRY(wait_for_frames(r->link, r->fds, size));
        for (int i = 1; i < size; i++)
            if (!r->came[i])
                BG__TRY(read_rank(r, i));
        if (r->fds[size].revents && !all_received(r))
            BG__TRY(bg__link_check(r->link));
    }
done:
    return status;
}

static bg_status send_round_result(exchange_round *r, const void *all, size_t bytes)
{
    const bg__frame frame = {.type = BG__RESULT, .sequence = r->own.sequence, .body = all, .bytes = bytes};
    bg_status status = BG_OK;
    for (int i = 1; i < r->link->size; i++)
        if (!bg__frame_send(r->link->peers[i].work, &frame, r->until_ms))
            BG__TRY(bg__now_ms() < r->until_ms ? fail_lost_rank(r->link, i, r->own.what)
                                               : fail_timeout(r->link, r->own.what));
done:
    return status;
}

static void join_bodies(const exchange_round *r, char *all)
{
    memcpy(all, r->own.body, r->own.bytes);
    for (int i = 1; i < r->link->size; i++)
        if (r->theirs[i].body != NULL)
            memcpy(all + (size_t)i * r->own.bytes, r->theirs[i].body, r->own.bytes);
}

static bg_status exchange_bodies(exchange_round *r, void *all)
{
    size_t bytes = all != NULL ? r->own.bytes * (size_t)r->link->size : 0;
    bg_status status = BG_OK;
    BG__TRY(collect_frames(r));
    if (bytes > 0)
        join_bodies(r, all);
    status = send_round_result(r, all, bytes);
done:
    return status;
}

static bg_status lead_exchange(bg__link *link, const bg__frame *own, double until_ms, void *all)
{
    size_t size = (size_t)link->size;
    exchange_round r = {.link = link, .own = *own, .until_ms = until_ms};
    bg_status status = BG_OK;
    r.theirs = calloc(size, sizeof *r.theirs);
    r.came = calloc(size, sizeof *r.came);
    r.fds = calloc(size + 1, sizeof *r.fds);
    if (r.theirs == NULL || r.came == NULL || r.fds == NULL) {
        bg__link_fail_text(link, BG_ERROR_OUT_OF_MEMORY, "rank 0 is out of host memory for the answers at \"%s\"",
                           own->what);
        status = bg__link_check(link);
    } else {
        status = exchange_bodies(&r, all);
    }
    free(r.theirs);
    free(r.came);
    free(r.fds);
    return status;
}

/* ---- the others ----------------------------------------------------------------------------------------------- */

static bg_status copy_result(bg__link *link, const bg__frame *own, const bg__frame *frame, void *all)
{
    size_t bytes = all != NULL ? own->bytes * (size_t)link->size : 0;
    if (frame->type != BG__RESULT || frame->sequence != own->sequence || frame->bytes != bytes) {
        bg__link_fail_text(link, BG_ERROR_RANKS, "rank %d received an unexpected answer from rank 0 at \"%s\"",
                           link->rank, own->what);
        return bg__link_check(link);
    }
    if (bytes > 0)
        memcpy(all, frame->body, bytes);
    return BG_OK;
}

static bg_status follow_exchange(bg__link *link, const bg__frame *own, double until_ms, void *all)
{
    bg__peer *zero = &link->peers[0];
    bg_status status = BG_OK;
    if (!bg__frame_send(zero->work, own, until_ms))
        return bg__now_ms() < until_ms ? fail_lost_rank(link, 0, own->what) : fail_timeout(link, own->what);
    for (;;) {
        struct pollfd fds[2] = {{zero->work, POLLIN, 0}};
        bg__frame frame;
        BG__TRY(wait_for_frames(link, fds, 1));
        /* read the result first: this exchange may have succeeded although a later one has failed */
        switch (bg__frame_read(zero->work, &zero->from_work, &frame)) {
        case BG__READ_FRAME: return copy_result(link, own, &frame, all);
        case BG__READ_NOTHING: break;
        default: return fail_lost_rank(link, 0, own->what);
        }
        if (fds[1].revents)
            BG__TRY(bg__link_check(link));
        if (bg__now_ms() >= until_ms)
            return fail_timeout(link, own->what);
    }
done:
    return status;
}

/* ---- all ------------------------------------------------------------------------------------------------------ */

static void begin_operation(bg__link *link, const char *what)
{
    pthread_mutex_lock(&link->lock);
    snprintf(link->at, sizeof link->at, "%s", what);
    link->waiting = true;
    link->waiting_ms = bg__now_ms();
    pthread_mutex_unlock(&link->lock);
}

static void end_operation(bg__link *link)
{
    pthread_mutex_lock(&link->lock);
    link->waiting = false;
    pthread_mutex_unlock(&link->lock);
}

bg_status bg__exchange(bg__link *link, bg__frame_type type, const char *what, const void *mine, size_t bytes, void *all)
{
    bg__frame own = {.type = type, .body = mine, .bytes = bytes};
    double until = bg__now_ms() + link->timeout_ms;
    bg_status status = BG_OK;

    /* rank 0's answer holds the bodies of all ranks, if all is not NULL */
    if (all != NULL && bytes > BG__BODY_MAX / (size_t)link->size)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "%s: %zu bytes from each of %d ranks are too many; allowed are %d in total, %zu from each",
                        what, bytes, link->size, BG__BODY_MAX, BG__BODY_MAX / (size_t)link->size);
    BG__TRY(bg__link_check(link));
    begin_operation(link, what);
    own.sequence = link->sequence++;
    snprintf(own.what, sizeof own.what, "%s", what);
    if (link->size == 1 && all != NULL && bytes > 0)
        memcpy(all, mine, bytes);
    if (link->size > 1)
        status = link->rank == 0 ? lead_exchange(link, &own, until, all) : follow_exchange(link, &own, until, all);
    end_operation(link);
done:
    return status;
}

bg_status bg__agree(bg__link *link, const char *what, const char *text)
{
    void *body = NULL;
    size_t bytes = 0;
    bg_status status;

    BG__TRY(bg__agree_make_body(what, text, &body, &bytes));
    status = bg__exchange(link, BG__AGREE, what, body, bytes, NULL);
done:
    free(body);
    return status;
}
