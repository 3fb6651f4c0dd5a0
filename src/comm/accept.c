/* Rank 0 accepts the others. A process that does not belong to the job is rejected, and does not delay it. */
#include "comm/handshake.h"
#include "comm/peer_owner.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

/* Without free descriptors, a joining rank still gets a second for its handshake, and rank 0 tries again every 20 ms.
 */
enum { JOINING_MAX = 32, HANDSHAKE_TIMEOUT_MS = 5000, HANDSHAKE_LEAST_MS = 1000, ACCEPT_RETRY_MS = 20, BODY_MAX = 512 };

typedef struct joining_rank {
    int fd; /* -1: none */
    double until_ms;
    bg__reader reader; /* large enough for the first bytes of other protocols */
    bool challenged;   /* its HELLO was received */
    bg__hello hello;
    bg__nonce nonce; /* rank 0's nonce for this connection */
} joining_rank;

typedef struct acceptor {
    bg__link *link;
    const bg__job *job;
    const bg__rendezvous *meeting;
    int listener;
    char name[BG__NAME_MAX];
    double until_ms;
    joining_rank joining[JOINING_MAX];
    char refused[300];   /* the last rejection, for the message of a timeout */
    bg__failure failure; /* not BG_OK: the job has failed; sent to ranks that connect from now on */
} acceptor;

static void drop_connection(joining_rank *one)
{
    bg__close_fd(&one->fd);
    bg__reader_free(&one->reader);
}

static void reject_rank(acceptor *a, joining_rank *one, const char *why)
{
    char peer[BG__NAME_MAX];
    bg__frame frame = {.type = BG__REFUSED};
    snprintf(frame.what, sizeof frame.what, "%s", why);
    bg__peer_name(one->fd, peer);
    snprintf(a->refused, sizeof a->refused, "; rejected %s: %.90s", peer, why);
    (void)bg__frame_send(one->fd, &frame, 0); /* only if it can be sent at once */
    drop_connection(one);
}

static bool is_missing(const bg__link *link, int rank)
{
    return rank < link->size && (link->peers[rank].work < 0 || link->peers[rank].watch < 0);
}

static bool all_joined(const bg__link *link)
{
    for (int i = 1; i < link->size; i++)
        if (is_missing(link, i))
            return false;
    return true;
}

/* "1, 3-64"; "..." at the end if there is no room for all. */
static void list_missing(const bg__link *link, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (int from = 1, to; from < link->size && used < room; from = to + 1) {
        const char *comma = used > 0 ? ", " : "";
        to = from;
        while (is_missing(link, to))
            to++;
        if (used + sizeof ", 1000-1000, ..." > room && to > from) {
            snprintf(text + used, room - used, "%s...", comma);
            return;
        }
        if (to - from > 1)
            used += (size_t)snprintf(text + used, room - used, "%s%d-%d", comma, from, to - 1);
        else if (to > from)
            used += (size_t)snprintf(text + used, room - used, "%s%d", comma, from);
    }
}

/* A rank with the job's token that cannot join fails the job, which could never be complete. */
static bg_status check_version(const bg__hello *from)
{
    bg__hello text = *from;
    text.version[sizeof text.version - 1] = '\0';
    if (strcmp(text.version, BG_VERSION) != 0)
        return bg__fail(BG_ERROR_RANKS,
                        "rank %d has version %s of breakgraph, rank 0 has %s; install one version on all ranks",
                        from->rank, text.version, BG_VERSION);
    return BG_OK;
}

static bg_status check_size(const bg__hello *from, const bg__link *link)
{
    if (from->size != link->size)
        return bg__fail(BG_ERROR_RANKS,
                        "the job has %d ranks on rank 0, but on rank %d it has %d; set the same size on all ranks",
                        link->size, from->rank, from->size);
    if (from->rank < 1 || from->rank >= link->size)
        return bg__fail(BG_ERROR_RANKS,
                        "a process joined as rank %d; allowed are 1 to %d, since this process is rank 0", from->rank,
                        link->size - 1);
    return BG_OK;
}

/* A rank that lost its watch connection before its work connection was made connects anew with both: close the old one.
 */
static void forget_gone_peer(bg__peer *peer)
{
    bg__frame frame;
    if (peer->work >= 0 || peer->watch < 0 ||
        bg__frame_read(peer->watch, &peer->from_watch, &frame) == BG__READ_NOTHING)
        return;
    bg__close_fd(&peer->watch);
    bg__reader_free(&peer->from_watch);
}

static void add_connection(acceptor *a, joining_rank *one, const bg__hello *from)
{
    bg__peer *peer = &a->link->peers[from->rank];
    int *place = from->watch ? &peer->watch : &peer->work;
    bool another;

    forget_gone_peer(peer);
    another = (peer->work >= 0 || peer->watch >= 0) && peer->instance != from->instance;
    if (another || *place >= 0) {
        char why[64];
        snprintf(why, sizeof why, "there is already a rank %d of %d", from->rank, a->link->size);
        reject_rank(a, one, why);
        return;
    }
    peer->instance = from->instance;
    *place = one->fd;
    one->fd = -1;
    bg__reader_free(&one->reader);
}

static void send_frame_to_all(bg__link *link, const bg__frame *frame)
{
    for (int i = 1; i < link->size; i++)
        (void)bg__frame_send(link->peers[i].work, frame,
                             bg__now_ms() + BG__SLACK_MS); /* a failure shows on its connection */
}

static void send_failure(const acceptor *a, int fd)
{
    const bg__frame frame = {.type = BG__FAILED, .body = &a->failure, .bytes = sizeof a->failure};
    (void)bg__frame_send(fd, &frame, bg__now_ms() + BG__SLACK_MS); /* a failure shows on its connection */
}

/* Some ranks may have only one of their two connections. */
static void send_failure_to_all(const acceptor *a)
{
    for (int i = 1; i < a->link->size; i++) {
        bg__peer *peer = &a->link->peers[i];
        send_failure(a, peer->work >= 0 ? peer->work : peer->watch);
        peer->answered = peer->work >= 0 || peer->watch >= 0;
    }
}

/* Rejects a rank of the job that connects after the failure. */
static void reject_late(acceptor *a, joining_rank *one, const bg__hello *from)
{
    send_failure(a, one->fd);
    drop_connection(one);
    if (from->rank > 0 && from->rank < a->link->size)
        a->link->peers[from->rank].answered = true;
}

static bg_status fail_job(acceptor *a, bg_status status)
{
    a->failure.status = status;
    snprintf(a->failure.text, sizeof a->failure.text, "%s", bg_last_error());
    return status;
}

/* ---- the handshake -------------------------------------------------------------------------------------------- */

static void send_or_drop(joining_rank *one, bg__frame_type type, const void *body, size_t bytes)
{
    const bg__frame frame = {.type = type, .body = body, .bytes = bytes};
    if (!bg__frame_send(one->fd, &frame, 0)) /* a new connection always has room for so few bytes */
        drop_connection(one);
}

/* The joining rank that connected first, except `but`; NULL: there is none. */
static joining_rank *find_oldest(acceptor *a, const joining_rank *but)
{
    joining_rank *oldest = NULL;
    for (int i = 0; i < JOINING_MAX; i++) {
        joining_rank *one = &a->joining[i];
        if (one != but && one->fd >= 0 && (oldest == NULL || one->until_ms < oldest->until_ms))
            oldest = one;
    }
    return oldest;
}

/* Called only after the proof: reading the kernel's tables takes long, and strangers must not make rank 0 do it. */
static bg_status check_owner(acceptor *a, joining_rank *one)
{
    joining_rank *other;
    bg__connection_owner owner;
    bg_status status;
    /* reading the table needs a descriptor: without one, close the oldest other connection */
    while ((status = bg__peer_owner(one->fd, &owner)) != BG_OK && (other = find_oldest(a, one)) != NULL)
        drop_connection(other);
    if (status != BG_OK)
        goto done;
    if (bg__owner_may_join(owner, a->job->token != NULL))
        goto done;
    if (owner == BG__OWNER_UNKNOWN && bg__peer_is_gone(one->fd)) /* a process that has ended has no owner */
        drop_connection(one);
    else
        reject_rank(a, one, owner == BG__OWNER_OTHER ? BG__REFUSED_USER : BG__REFUSED_STRANGER);
done:
    return status;
}

static bg_status send_challenge(acceptor *a, joining_rank *one, const bg__frame *frame)
{
    uint32_t protocol;
    bg_status status = BG_OK;
    if (!bg__hello_parse(frame, &protocol)) {
        drop_connection(one);
    } else if (protocol != BG__PROTOCOL || frame->bytes != sizeof one->hello) {
        reject_rank(a, one, BG__REFUSED_VERSION ", " BG_VERSION);
    } else {
        memcpy(&one->hello, frame->body, sizeof one->hello);
        BG__TRY(bg__nonce_make(&one->nonce));
        one->challenged = true;
        send_or_drop(one, BG__CHALLENGE, &one->nonce, sizeof one->nonce);
    }
done:
    return status;
}

static bg_status check_proof(const acceptor *a, const joining_rank *one, const bg__frame *frame, bool *proven)
{
    bg__handshake_proof theirs, right;
    bg_status status = BG_OK;
    *proven = false;
    if (frame->type != BG__PROOF || frame->bytes != sizeof theirs)
        return BG_OK;
    memcpy(&theirs, frame->body, sizeof theirs);
    BG__TRY(bg__handshake_proof_make(a->job, BG__SIDE_RANK, &one->hello, &one->nonce, &right));
    *proven = bg__handshake_proof_equal(&theirs, &right);
done:
    return status;
}

/* Sends rank 0's proof: the rank then believes what rank 0 sends, refusals and failures too. */
static bg_status send_proof(const acceptor *a, joining_rank *one)
{
    bg__handshake_proof own;
    bg_status status;
    BG__TRY(bg__handshake_proof_make(a->job, BG__SIDE_RANK_0, &one->hello, &one->nonce, &own));
    send_or_drop(one, BG__PROOF, &own, sizeof own);
done:
    return status;
}

/* An error fails the job. */
static bg_status check_joining_rank(acceptor *a, joining_rank *one, const bg__frame *frame)
{
    const bg__hello from = one->hello;
    bool proven = false;
    bg_status status;
    BG__TRY(check_proof(a, one, frame, &proven));
    if (!proven) {
        reject_rank(a, one, BG__REFUSED_TOKEN);
        return BG_OK;
    }
    BG__TRY(check_owner(a, one));
    if (one->fd >= 0)
        BG__TRY(send_proof(a, one));
    if (one->fd < 0)
        return BG_OK;
    if (a->failure.status != BG_OK) {
        reject_late(a, one, &from);
        return BG_OK;
    }
    if (from.port != (a->job->socket != NULL ? 0 : (uint32_t)a->job->port)) {
        reject_rank(a, one, "its MASTER_PORT is not rank 0's; set the same on all ranks");
        return BG_OK;
    }
    BG__TRY(check_version(&from));
    BG__TRY(check_size(&from, a->link));
    add_connection(a, one, &from);
done:
    if (status != BG_OK) {
        fail_job(a, status);
        reject_late(a, one, &from);
    }
    return status;
}

static bg_status continue_handshake(acceptor *a, joining_rank *one)
{
    bg__frame frame;
    switch (bg__frame_read(one->fd, &one->reader, &frame)) {
    case BG__READ_FRAME: return one->challenged ? check_joining_rank(a, one, &frame) : send_challenge(a, one, &frame);
    case BG__READ_NOTHING: return BG_OK;
    default: drop_connection(one); return BG_OK;
    }
}

static joining_rank *find_free_entry(acceptor *a)
{
    for (int i = 0; i < JOINING_MAX; i++)
        if (a->joining[i].fd < 0)
            return &a->joining[i];
    return NULL;
}

/* No descriptors are left: closes the oldest connection whose handshake has not ended, but only after
 * HANDSHAKE_LEAST_MS. */
static bg_status make_room_for_descriptor(acceptor *a, bg_status status)
{
    joining_rank *oldest = find_oldest(a, NULL);
    if (oldest == NULL)
        return status;
    if (bg__now_ms() > oldest->until_ms - HANDSHAKE_TIMEOUT_MS + HANDSHAKE_LEAST_MS)
        drop_connection(oldest);
    else
        bg__sleep_until(bg__now_ms() + ACCEPT_RETRY_MS);
    return BG_OK;
}

/* If all places are taken, drops the oldest connection, which has had the most time. */
static bg_status accept_rank(acceptor *a)
{
    joining_rank *place;
    int fd;
    bg_status status = bg__accept_connection(a->listener, &fd);
    if (status != BG_OK)
        return make_room_for_descriptor(a, status);
    if (fd < 0)
        return BG_OK;
    place = find_free_entry(a);
    if (place == NULL) {
        place = find_oldest(a, NULL);
        drop_connection(place);
    }
    *place = (joining_rank){.fd = fd, .until_ms = bg__now_ms() + HANDSHAKE_TIMEOUT_MS, .reader.most = BODY_MAX};
    return BG_OK;
}

static bg_status fail_missing_ranks(const acceptor *a, bg_status status, const char *why)
{
    char missing[200];
    list_missing(a->link, missing, sizeof missing);
    return bg__fail(status, "%s; of %d ranks, these have not joined at %s: %s%s", why, a->link->size, a->name, missing,
                    a->refused);
}

/* A waiting rank sends nothing, so a frame, or the end of its connection, is a failure. */
static bg_status check_joined_ranks(const acceptor *a)
{
    for (int i = 1; i < a->link->size && a->failure.status == BG_OK; i++) {
        bg__peer *peer = &a->link->peers[i];
        bg__frame frame;
        char why[64];
        if (peer->work < 0 || bg__frame_read(peer->work, &peer->from_work, &frame) == BG__READ_NOTHING)
            continue;
        snprintf(why, sizeof why, "rank %d ended before all ranks had joined", i);
        return fail_missing_ranks(a, BG_ERROR_RANKS, why);
    }
    return BG_OK;
}

static bg_status serve_joining_ranks(acceptor *a)
{
    struct pollfd fds[1 + JOINING_MAX] = {{a->listener, POLLIN, 0}};
    joining_rank *who[1 + JOINING_MAX] = {NULL};
    double until = a->until_ms < bg__now_ms() + 100 ? a->until_ms : bg__now_ms() + 100;
    size_t count = 1;
    bg_status status = BG_OK;
    /* only open ones: poll takes no more fds than the process may open */
    for (int i = 0; i < JOINING_MAX; i++)
        if (a->joining[i].fd >= 0) {
            who[count] = &a->joining[i];
            fds[count++] = (struct pollfd){a->joining[i].fd, POLLIN, 0};
        }
    BG__TRY(bg__poll(fds, count, until));
    for (size_t i = 1; i < count; i++) {
        if (fds[i].revents)
            BG__TRY(continue_handshake(a, who[i]));
        if (who[i]->fd >= 0 && bg__now_ms() >= who[i]->until_ms)
            drop_connection(who[i]);
    }
    if (fds[0].revents)
        BG__TRY(accept_rank(a));
    status = check_joined_ranks(a);
done:
    return status;
}

static bool all_got_failure(const bg__link *link)
{
    for (int i = 1; i < link->size; i++)
        if (!link->peers[i].answered)
            return false;
    return true;
}

/* Ranks that still connect get the failure, too, and do not wait until their timeout. */
static bg_status end_job(acceptor *a, bg_status status)
{
    double until = bg__now_ms() + BG__SLACK_MS;
    fail_job(a, status);
    send_failure_to_all(a);
    while (status == BG_ERROR_RANKS && !all_got_failure(a->link) && bg__now_ms() < until &&
           serve_joining_ranks(a) == BG_OK)
        continue;
    return bg__fail(status, "%s", a->failure.text);
}

static bg_status accept_until_complete(acceptor *a)
{
    const bg__frame welcome = {.type = BG__WELCOME};
    bg_status status = BG_OK;
    BG__TRY(bg__rendezvous_listen(a->meeting, &a->listener, a->name));
    while (!all_joined(a->link)) {
        if (bg__now_ms() >= a->until_ms) {
            char why[64];
            snprintf(why, sizeof why, "rank 0 has waited %g s for the others to join", a->job->timeout);
            status = fail_missing_ranks(a, BG_ERROR_TIMEOUT, why);
            goto done;
        }
        BG__TRY(serve_joining_ranks(a));
    }
    send_frame_to_all(a->link, &welcome);
done:
    return status == BG_OK ? BG_OK : end_job(a, status);
}

bg_status bg__accept_ranks(bg__link *link, const bg__job *job)
{
    bg__rendezvous meeting = {.found = NULL};
    acceptor a = {
        .link = link, .job = job, .meeting = &meeting, .listener = -1, .until_ms = bg__now_ms() + link->timeout_ms};
    bg_status status = BG_OK;
    for (int i = 0; i < JOINING_MAX; i++)
        a.joining[i].fd = -1;
    BG__TRY(bg__job_rendezvous(job, &meeting));
    status = accept_until_complete(&a);
done:
    for (int i = 0; i < JOINING_MAX; i++)
        drop_connection(&a.joining[i]);
    bg__rendezvous_stop_listening(&meeting, &a.listener);
    bg__rendezvous_free(&meeting);
    return status;
}
