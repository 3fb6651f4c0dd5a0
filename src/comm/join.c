/* How the ranks join: rank 0 listens, the others connect twice and identify themselves. */
#include "comm/handshake.h"
#include "comm/peer_owner.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

/* OWNER_MS: less than rank 0 waits for a handshake. */
enum { RETRY_MS = 20, OWNER_MS = 3000 };

typedef struct connector {
    bg__link *link;
    const bg__job *job;
    bg__rendezvous meeting; /* resolved once, so that a resolver that fails later does not matter */
    bg__hello own;
    double until_ms;
    const char *last; /* the result of the last attempt to connect, for the message of a timeout */
} connector;

static bg_status fail_join(const connector *c, bg_status status, const char *why)
{
    return bg__fail(status, "rank %d of %d cannot join at %s: %s", c->link->rank, c->link->size, c->meeting.name, why);
}

/* ---- one connection ------------------------------------------------------------------------------------------- */

static const char no_answer[] = "connections are closed without an answer";

static const char no_accept[] = "connections are not accepted";

static const char *describe_owner(bg__connection_owner owner)
{
    return owner == BG__OWNER_OTHER ? "the process that listens there belongs to another user"
                                    : "the owner of the process that listens there is unknown; set BG_RANKS_TOKEN "
                                      "to the same secret on all ranks";
}

/* A TCP connection may have no owner before rank 0 has accepted it. *gone: it was closed, or was not accepted in time
 * and has no owner; the caller may try another one. */
static bg_status check_owner(connector *c, int fd, bool *gone)
{
    double until = bg__now_ms() + OWNER_MS;
    bg_status status = BG_OK;
    if (bg__rendezvous_path(&c->meeting) != NULL)
        until = 0;
    else if (until > c->until_ms)
        until = c->until_ms;
    *gone = false;
    for (;;) {
        struct pollfd wait = {fd, POLLRDHUP, 0};
        bg__connection_owner owner;
        BG__TRY(bg__peer_owner(fd, &owner));
        if (bg__owner_may_join(owner, c->job->token != NULL))
            return BG_OK;
        *gone = bg__peer_is_gone(fd) || (owner == BG__OWNER_NONE && bg__now_ms() >= until);
        if (*gone) {
            c->last = owner == BG__OWNER_NONE ? no_accept : no_answer;
            return BG_OK;
        }
        if (bg__now_ms() >= until)
            return fail_join(c, BG_ERROR_RANKS, describe_owner(owner));
        BG__TRY(bg__poll(&wait, 1, bg__now_ms() + RETRY_MS));
    }
done:
    return status;
}

/* Returns this process's own text for a refusal that came before the peer's proof, and so may not be shown. */
static const char *unproven_refusal(const char *what)
{
    static const char *const known[] = {BG__REFUSED_VERSION, BG__REFUSED_TOKEN, BG__REFUSED_USER, BG__REFUSED_STRANGER};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(what, known[i], strlen(known[i])) == 0)
            return known[i];
    return "the process that listens there refuses this rank, and has not proven to be rank 0";
}

/* Fails with the reason in a frame that came instead of the expected one. Before rank 0's proof only the fact of a
 * refusal is believed. */
static bg_status fail_with_refusal(const connector *c, const bg__frame *frame, bool proven)
{
    bg__failure failure;
    if (frame->type == BG__REFUSED)
        return fail_join(c, BG_ERROR_RANKS, proven ? frame->what : unproven_refusal(frame->what));
    if (!proven || !bg__failure_parse(frame, &failure))
        return fail_join(c, BG_ERROR_RANKS, "the process that listens there is not rank 0");
    return bg__fail(failure.status, "%s", failure.text);
}

/* Reads the next frame, which must have that type and size. *again: the connection has ended instead. */
static bg_status await_frame(connector *c, int fd, bg__reader *reader, bg__frame_type type, void *body, size_t bytes,
                             bool *again)
{
    bg__frame frame;
    bg_status status;
    while (bg__now_ms() < c->until_ms) {
        struct pollfd wait = {fd, POLLIN, 0};
        BG__TRY(bg__poll(&wait, 1, c->until_ms));
        switch (bg__frame_read(fd, reader, &frame)) {
        case BG__READ_NOTHING: continue;
        case BG__READ_GARBAGE: return fail_join(c, BG_ERROR_RANKS, "the process that listens there is not rank 0");
        case BG__READ_END:
            c->last = no_answer;
            *again = true;
            return BG_OK;
        case BG__READ_FRAME: break;
        }
        if (frame.type != type || frame.bytes != bytes)
            return fail_with_refusal(c, &frame, false);
        memcpy(body, frame.body, bytes);
        return BG_OK;
    }
    status = fail_join(c, BG_ERROR_TIMEOUT, "the process that listens there does not answer");
done:
    return status;
}

static void send_frame(connector *c, int fd, bg__frame_type type, const void *body, size_t bytes, bool *again)
{
    const bg__frame frame = {.type = type, .body = body, .bytes = bytes};
    *again = !bg__frame_send(fd, &frame, c->until_ms);
    if (*again)
        c->last = no_answer;
}

static bg_status do_handshake(connector *c, int fd, bg__reader *reader, bool *again)
{
    bg__nonce challenge;
    bg__handshake_proof own, right, theirs;
    bg_status status;
    BG__TRY(bg__nonce_make(&c->own.nonce));
    send_frame(c, fd, BG__HELLO, &c->own, sizeof c->own, again);
    if (!*again)
        BG__TRY(await_frame(c, fd, reader, BG__CHALLENGE, &challenge, sizeof challenge, again));
    if (!*again) /* check the owner again: rank 0 has accepted the connection, and now the table shows it */
        BG__TRY(check_owner(c, fd, again));
    if (*again)
        return BG_OK;
    BG__TRY(bg__handshake_proof_make(c->job, BG__SIDE_RANK, &c->own, &challenge, &own));
    BG__TRY(bg__handshake_proof_make(c->job, BG__SIDE_RANK_0, &c->own, &challenge, &right));
    send_frame(c, fd, BG__PROOF, &own, sizeof own, again);
    if (!*again)
        BG__TRY(await_frame(c, fd, reader, BG__PROOF, &theirs, sizeof theirs, again));
    if (!*again && !bg__handshake_proof_equal(&theirs, &right))
        status = fail_join(c, BG_ERROR_RANKS, "the process that listens there does not have the job's token");
done:
    return status;
}

static void close_connection(int *fd, bg__reader *reader)
{
    bg__close_fd(fd);
    bg__reader_free(reader);
}

/* *fd -1 and *again: no process listens yet. Else both sides have proved their identity. */
static bg_status open_connection(connector *c, bool watch, int *fd, bg__reader *reader, bool *again)
{
    bg_status status = BG_OK;
    c->own.watch = watch;
    BG__TRY(bg__rendezvous_connect(&c->meeting, c->until_ms, fd));
    if (*fd >= 0 && bg__is_self_connected(*fd))
        bg__close_fd(fd);
    if (*fd < 0) {
        c->last = "no process listens there";
        *again = true;
        return BG_OK;
    }
    BG__TRY(check_owner(c, *fd, again));
    if (!*again)
        BG__TRY(do_handshake(c, *fd, reader, again));
done:
    if (status != BG_OK || *again)
        close_connection(fd, reader);
    return status;
}

/* ---- both ----------------------------------------------------------------------------------------------------- */

static bg_status read_answer(connector *c, int fd, bg__reader *reader, bool *welcome, bool *again)
{
    bg__frame frame;
    switch (bg__frame_read(fd, reader, &frame)) {
    case BG__READ_NOTHING: return BG_OK;
    case BG__READ_GARBAGE: return fail_join(c, BG_ERROR_RANKS, "the process that listens there is not rank 0");
    case BG__READ_FRAME: break;
    case BG__READ_END:
        c->last = no_answer;
        *again = true;
        return BG_OK;
    }
    if (frame.type != BG__WELCOME || fd != c->link->peers[0].work)
        return fail_with_refusal(c, &frame, true);
    *welcome = true;
    return BG_OK;
}

static bg_status await_welcome(connector *c, bool *welcome, bool *again)
{
    bg__peer *zero = &c->link->peers[0];
    /* rank 0 may have begun as late as is allowed; its own timeout has a better message, so wait for that */
    double until = c->until_ms + BG__SLACK_MS;
    bg_status status = BG_OK;
    while (!*welcome && !*again) {
        struct pollfd fds[] = {{zero->work, POLLIN, 0}, {zero->watch, POLLIN, 0}};
        if (bg__now_ms() >= until) {
            status = fail_join(c, BG_ERROR_TIMEOUT, "rank 0 has not reported that all ranks have joined");
            goto done;
        }
        BG__TRY(bg__poll(fds, 2, until));
        if (fds[0].revents)
            BG__TRY(read_answer(c, zero->work, &zero->from_work, welcome, again));
        else if (fds[1].revents)
            BG__TRY(read_answer(c, zero->watch, &zero->from_watch, welcome, again));
    }
done:
    return status;
}

static bg_status try_to_join(connector *c, bool *welcome)
{
    bg__peer *zero = &c->link->peers[0];
    bool again = false;
    bg_status status = BG_OK;
    BG__TRY(open_connection(c, true, &zero->watch, &zero->from_watch, &again));
    if (!again)
        BG__TRY(open_connection(c, false, &zero->work, &zero->from_work, &again));
    if (!again)
        BG__TRY(await_welcome(c, welcome, &again));
    if (again && zero->watch >= 0) /* the reason may arrive on this connection */
        BG__TRY(read_answer(c, zero->watch, &zero->from_watch, welcome, &again));
    if (again) {
        close_connection(&zero->work, &zero->from_work);
        close_connection(&zero->watch, &zero->from_watch);
        bg__sleep_until(bg__now_ms() + RETRY_MS);
    }
done:
    return status;
}

static bg_status join_rank_0(bg__link *link, const bg__job *job)
{
    connector c = {.link = link,
                   .job = job,
                   .until_ms = bg__now_ms() + link->timeout_ms,
                   .last = "its address was still being resolved"};
    bool welcome = false;
    bg_status status = BG_OK;
    BG__TRY(bg__job_rendezvous(job, &c.meeting));
    BG__TRY(bg__hello_make(job, &c.own));
    link->peers[0].from_work.most = sizeof(bg__failure); /* no more, before all have joined */
    while (!welcome) {
        if (bg__now_ms() >= c.until_ms) {
            char why[128];
            snprintf(why, sizeof why, "rank 0 could not be reached within %g s (%s)", job->timeout, c.last);
            status = fail_join(&c, BG_ERROR_TIMEOUT, why);
            goto done;
        }
        BG__TRY(try_to_join(&c, &welcome));
    }
done:
    link->peers[0].from_work.most = BG__BODY_MAX;
    bg__rendezvous_free(&c.meeting);
    return status;
}

bg_status bg__link_join(bg__link *link, const bg__job *job)
{
    if (link->size == 1)
        return BG_OK;
    return link->rank == 0 ? bg__accept_ranks(link, job) : join_rank_0(link, job);
}
