/* How the ranks meet: rank 0 listens, the others connect twice and say who they are. */
#include "comm/hello.h"

#include "comm/address.h"
#include "comm/peer.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { RETRY_MS = 20, OWN_MS = 1000 };

typedef struct guest {
    bg__link *link;
    const bg__job *job;
    struct addrinfo *found; /* looked up once: a resolver that fails later does not matter */
    bg__hello own;
    double until_ms;
    const char *last; /* what rank 0's place did last */
} guest;

static bg_status fail_guest(const guest *g, bg_status status, const char *why)
{
    return bg__fail(status, "rank %d of %d cannot join at %s port %d: %s", g->link->rank, g->link->size,
                    g->job->address, g->job->port, why);
}

/* Linux before 6.17 shows a connection as root's until rank 0 accepts it. *gone: it is closed, and nobody's. */
static bool is_own_soon(const guest *g, int fd, bool *gone)
{
    double until = bg__now_ms() + OWN_MS;
    bool own;
    until = until < g->until_ms ? until : g->until_ms;
    *gone = false;
    while (!(own = bg__peer_is_own(fd)) && !*gone && bg__now_ms() < until) {
        struct pollfd wait = {fd, POLLRDHUP, 0};
        bg__wait(&wait, 1, bg__now_ms() + RETRY_MS);
        *gone = wait.revents != 0;
    }
    return own;
}

/* *again: nobody is there, yet. */
static bg_status introduce(guest *g, bool watch, int *fd, bool *again)
{
    bg__frame frame = {.type = BG__HELLO, .body = &g->own, .bytes = sizeof g->own};
    bg_status status = BG_OK;
    *again = false;
    g->own.watch = watch;
    BG__TRY(bg__connect(g->found, g->job->address, g->job->port, g->until_ms, fd));
    if (*fd < 0) {
        g->last = "nobody listens there";
        *again = true;
    } else if (g->job->token == NULL && !is_own_soon(g, *fd, again)) {
        g->last = "connections are closed there without an answer";
        if (!*again)
            status = fail_guest(g, BG_ERROR_RANKS, "who listens there is not of this user; see BG_RANKS_TOKEN");
    } else if (!bg__frame_send(*fd, &frame, g->until_ms)) {
        g->last = "connections are closed there without an answer";
        *again = true;
    }
done:
    return status;
}

static bg_status take_answer(const guest *g, const bg__frame *frame)
{
    bg__failure failure;
    if (frame->type == BG__WELCOME)
        return BG_OK;
    if (frame->type == BG__REFUSED)
        return fail_guest(g, BG_ERROR_RANKS, frame->what);
    if (frame->type != BG__FAILED || frame->bytes != sizeof failure)
        return fail_guest(g, BG_ERROR_RANKS, "what listens there is no rank 0");
    memcpy(&failure, frame->body, sizeof failure);
    failure.text[sizeof failure.text - 1] = '\0';
    return bg__fail(failure.status, "%s", failure.text);
}

static bg_status read_answer(guest *g, int fd, bg__reader *reader, bool *answered, bool *again)
{
    bg__frame frame;
    switch (bg__frame_read(fd, reader, &frame)) {
    case BG__READ_NOTHING: return BG_OK;
    case BG__READ_FRAME: *answered = true; return take_answer(g, &frame);
    case BG__READ_GARBAGE: return fail_guest(g, BG_ERROR_RANKS, "what listens there is no rank 0");
    case BG__READ_END: break;
    }
    g->last = "connections are closed there without an answer";
    *again = true;
    return BG_OK;
}

static bg_status await_welcome(guest *g, bool *welcome, bool *again)
{
    bg__peer *zero = &g->link->peers[0];
    /* rank 0's own limit, if it began as late as it may, comes with a better sentence */
    double until = g->until_ms + BG__SLACK_MS;
    bg_status status = BG_OK;
    bool refused = false; /* the second connection is only answered to be refused */
    while (!*welcome && !*again) {
        struct pollfd fds[] = {{zero->work, POLLIN, 0}, {zero->watch, POLLIN, 0}};
        if (bg__now_ms() >= until) {
            status = fail_guest(g, BG_ERROR_TIMEOUT, "rank 0 does not say that all ranks are there");
            goto done;
        }
        bg__wait(fds, 2, until);
        if (fds[0].revents)
            BG__TRY(read_answer(g, zero->work, &zero->from_work, welcome, again));
        else if (fds[1].revents)
            BG__TRY(read_answer(g, zero->watch, &zero->from_watch, &refused, again));
    }
done:
    return status;
}

static bg_status try_to_join(guest *g, bool *welcome)
{
    bg__peer *zero = &g->link->peers[0];
    bool again = false, refused = false;
    bg_status status = BG_OK;
    BG__TRY(introduce(g, true, &zero->watch, &again));
    if (!again)
        BG__TRY(introduce(g, false, &zero->work, &again));
    if (!again)
        BG__TRY(await_welcome(g, welcome, &again));
    if (again && zero->watch >= 0) /* the first connection may have been answered already */
        BG__TRY(read_answer(g, zero->watch, &zero->from_watch, &refused, &again));
    if (again) {
        bg__close(&zero->work);
        bg__close(&zero->watch);
        bg__reader_free(&zero->from_work);
        bg__reader_free(&zero->from_watch);
        bg__wait(NULL, 0, bg__now_ms() + RETRY_MS);
    }
done:
    return status;
}

static bg_status knock(bg__link *link, const bg__job *job)
{
    guest g = {.link = link,
               .job = job,
               .until_ms = bg__now_ms() + link->timeout_ms,
               .last = "its address was looked up that long"};
    bool welcome = false;
    bg_status status = BG_OK;
    BG__TRY(bg__look_up(job->address, job->port, &g.found));
    BG__TRY(bg__need_token(job, job->address, g.found));
    BG__TRY(bg__hello_make(job, &g.own));
    while (!welcome) {
        if (bg__now_ms() >= g.until_ms) {
            char why[128];
            snprintf(why, sizeof why, "rank 0 has not come within %g s (%s)", job->timeout, g.last);
            status = fail_guest(&g, BG_ERROR_TIMEOUT, why);
            goto done;
        }
        BG__TRY(try_to_join(&g, &welcome));
    }
done:
    bg__addresses_free(g.found);
    return status;
}

bg_status bg__link_join(bg__link *link, const bg__job *job)
{
    if (link->size == 1)
        return BG_OK;
    return link->rank == 0 ? bg__open_door(link, job) : knock(link, job);
}
