/* Keeps the state of the link, and records and sends its first failure. */
#include "comm/link.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BG__ONE(name, text) +1
enum { SEND_TIMEOUT_MS = 1000, BG__STATUSES = 0 BG_STATUS_MAP(BG__ONE) };
#undef BG__ONE

static void init_peers(bg__link *link)
{
    for (int i = 0; i < link->size; i++)
        link->peers[i] =
            (bg__peer){.work = -1, .watch = -1, .from_work.most = BG__BODY_MAX, .from_watch.most = sizeof(bg__failure)};
}

bg_status bg__link_init(bg__link *link, const bg__job *job)
{
    char why[BG__ERRNO_MAX];
    bg_status status = BG_OK;
    *link = (bg__link){.rank = job->rank,
                       .size = job->size,
                       .timeout_ms = job->timeout * 1e3,
                       .failed_event = -1,
                       .wake_event = -1,
                       .sending = PTHREAD_MUTEX_INITIALIZER,
                       .lock = PTHREAD_MUTEX_INITIALIZER};
    link->peers = calloc((size_t)job->size, sizeof *link->peers);
    if (link->peers == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the connections of %d ranks", job->size);
    init_peers(link);
    link->failed_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    link->wake_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (link->failed_event < 0 || link->wake_event < 0)
        status = bg__fail(BG_ERROR_IO, "eventfd failed: %s", bg__errno_text(errno, why));
    return status;
}

void bg__link_free(bg__link *link)
{
    for (int i = 0; link->peers != NULL && i < link->size; i++) {
        bg__close_fd(&link->peers[i].work);
        bg__close_fd(&link->peers[i].watch);
        bg__reader_free(&link->peers[i].from_work);
        bg__reader_free(&link->peers[i].from_watch);
    }
    bg__close_fd(&link->failed_event);
    bg__close_fd(&link->wake_event);
    free(link->peers);
    link->peers = NULL;
}

int bg__link_peer_count(const bg__link *link)
{
    return link->rank == 0 ? link->size : 1;
}

/* Only a signal can interrupt the write: the event's count never reaches its maximum. */
static void signal_event(int fd)
{
    const uint64_t one = 1;
    ssize_t written;
    do
        written = write(fd, &one, sizeof one);
    while (written < 0 && errno == EINTR);
}

void bg__link_wake_watchdog(bg__link *link)
{
    signal_event(link->wake_event);
}

void bg__link_send(bg__link *link, int rank, const bg__frame *frame)
{
    pthread_mutex_lock(&link->sending);
    /* if the rank has gone, its connection shows it */
    (void)bg__frame_send(link->peers[rank].watch, frame, bg__now_ms() + SEND_TIMEOUT_MS);
    pthread_mutex_unlock(&link->sending);
}

static void send_to_peers(bg__link *link, const bg__frame *frame)
{
    for (int i = 0; i < bg__link_peer_count(link); i++)
        bg__link_send(link, i, frame);
}

bool bg__failure_parse(const bg__frame *frame, bg__failure *failure)
{
    if (frame->type != BG__FAILED || frame->bytes != sizeof *failure)
        return false;
    memcpy(failure, frame->body, sizeof *failure);
    failure->text[sizeof failure->text - 1] = '\0';
    return (int)failure->status > BG_OK && (int)failure->status < BG__STATUSES;
}

void bg__link_fail(bg__link *link, const bg__failure *failure)
{
    const bg__frame frame = {.type = BG__FAILED, .body = failure, .bytes = sizeof *failure};
    bool first;
    pthread_mutex_lock(&link->lock);
    first = !link->failed;
    if (first) {
        link->failed = true;
        link->failure = *failure;
        link->failed_ms = bg__now_ms();
    }
    pthread_mutex_unlock(&link->lock);
    if (!first)
        return;
    send_to_peers(link, &frame);
    signal_event(link->failed_event);
    bg__link_wake_watchdog(link);
}

void bg__link_fail_text(bg__link *link, bg_status status, const char *format, ...)
{
    bg__failure failure = {.status = status};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure.text, sizeof failure.text, format, arguments);
    va_end(arguments);
    bg__link_fail(link, &failure);
}

bool bg__link_failed(bg__link *link)
{
    bool failed;
    pthread_mutex_lock(&link->lock);
    failed = link->failed;
    pthread_mutex_unlock(&link->lock);
    return failed;
}

bg_status bg__link_check(bg__link *link)
{
    /* a failure never changes */
    return bg__link_failed(link) ? bg__fail(link->failure.status, "%s", link->failure.text) : BG_OK;
}

bool bg__link_await_failure(bg__link *link, double until_ms)
{
    struct pollfd wait = {link->failed_event, POLLIN, 0};
    while (!wait.revents && bg__now_ms() < until_ms)
        (void)bg__poll(&wait, 1, until_ms); /* the failure is checked below in any case */
    return bg__link_failed(link);
}

void bg__link_send_bye(bg__link *link)
{
    const bg__frame frame = {.type = BG__BYE};
    send_to_peers(link, &frame);
}
