/* Sends and receives frames, and waits for them. */
#include "comm/wire.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct header {
    uint32_t magic, type;
    uint64_t sequence;
    uint32_t what, body; /* bytes */
} header;

enum { MAGIC = 0x62675231, LONGEST_WAIT_MS = 1000, AFTER_ERROR_MS = 20 };

/* Milliseconds that poll() may take. */
static int remaining_ms(double until_ms)
{
    double left = until_ms - bg__now_ms();
    return left <= 0 ? 0 : left > LONGEST_WAIT_MS ? LONGEST_WAIT_MS : (int)ceil(left);
}

void bg__sleep_until(double until_ms)
{
    (void)poll(NULL, 0, remaining_ms(until_ms)); /* without descriptors only a signal ends it early */
}

const char *bg__errno_text(int error, char text[BG__ERRNO_MAX])
{
    struct rlimit limit;
    if (error == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
        snprintf(text, BG__ERRNO_MAX, "%s; this process may have %llu open files (ulimit -n)", strerror(error),
                 (unsigned long long)limit.rlim_cur);
    else
        snprintf(text, BG__ERRNO_MAX, "%s", strerror(error));
    return text;
}

/* poll's EINVAL: more descriptors than the limit. */
bg_status bg__poll(struct pollfd *fds, size_t count, double until_ms)
{
    char why[BG__ERRNO_MAX];
    int error;
    if (poll(fds, (nfds_t)count, remaining_ms(until_ms)) >= 0)
        return BG_OK;
    error = errno;
    for (size_t i = 0; i < count; i++)
        fds[i].revents = 0;
    if (error == EINTR)
        return BG_OK;
    bg__sleep_until(bg__now_ms() + AFTER_ERROR_MS);
    return bg__fail(error == ENOMEM ? BG_ERROR_OUT_OF_MEMORY : BG_ERROR_IO, "poll failed for %zu connections: %s",
                    count, bg__errno_text(error == EINVAL ? EMFILE : error, why));
}

void bg__close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd); /* nobody waits for data that is lost */
    *fd = -1;
}

/* ---- sending -------------------------------------------------------------------------------------------------- */

static bool send_bytes(int fd, const void *data, size_t bytes, int more, double until_ms)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT | more);
        if (sent >= 0) {
            at += sent;
            bytes -= (size_t)sent;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd wait = {fd, POLLOUT, 0};
            if (bg__now_ms() >= until_ms)
                return false;
            if (bg__poll(&wait, 1, until_ms) != BG_OK)
                return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

bool bg__frame_send(int fd, const bg__frame *frame, double until_ms)
{
    header head = {MAGIC, frame->type, frame->sequence, (uint32_t)strlen(frame->what), (uint32_t)frame->bytes};
    char start[sizeof head + BG__WHAT_MAX];
    if (fd < 0)
        return false;
    memcpy(start, &head, sizeof head);
    memcpy(start + sizeof head, frame->what, head.what);
    return send_bytes(fd, start, sizeof head + head.what, frame->bytes ? MSG_MORE : 0, until_ms) &&
           send_bytes(fd, frame->body, frame->bytes, 0, until_ms);
}

/* ---- receiving ------------------------------------------------------------------------------------------------ */

void bg__reader_free(bg__reader *reader)
{
    free(reader->data);
    *reader = (bg__reader){.most = reader->most};
}

bool bg__reader_reserve(bg__reader *reader)
{
    return bg__array_grow(&reader->data, &reader->room, sizeof(header) + BG__WHAT_MAX + reader->most, 1,
                          "bytes of frames") == BG_OK;
}

/* Returns the bytes of the frame, as far as they are known; 0: it is no frame. */
static size_t frame_size(const bg__reader *reader)
{
    header head;
    if (reader->got < sizeof head)
        return sizeof head;
    memcpy(&head, reader->data, sizeof head);
    if (head.magic != MAGIC || head.what >= BG__WHAT_MAX || head.body > reader->most)
        return 0;
    return sizeof head + head.what + head.body;
}

static bool is_frame_whole(const bg__reader *reader, size_t bytes)
{
    return reader->got >= sizeof(header) && reader->got == bytes;
}

static void parse_frame(const bg__reader *reader, bg__frame *frame)
{
    header head;
    memcpy(&head, reader->data, sizeof head);
    *frame = (bg__frame){.type = (bg__frame_type)head.type,
                         .sequence = head.sequence,
                         .body = reader->data + sizeof head + head.what,
                         .bytes = head.body};
    memcpy(frame->what, reader->data + sizeof head, head.what);
}

bg__read_result bg__frame_read(int fd, bg__reader *reader, bg__frame *frame)
{
    size_t bytes = frame_size(reader);
    if (is_frame_whole(reader, bytes))
        reader->got = 0;
    while ((bytes = frame_size(reader)) != 0) {
        ssize_t count;
        if (is_frame_whole(reader, bytes)) {
            parse_frame(reader, frame);
            return BG__READ_FRAME;
        }
        if (bg__array_grow(&reader->data, &reader->room, bytes, 1, "bytes of frames") != BG_OK)
            return BG__READ_END;
        count = recv(fd, reader->data + reader->got, bytes - reader->got, MSG_DONTWAIT);
        if (count > 0)
            reader->got += (size_t)count;
        else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return BG__READ_NOTHING;
        else if (count == 0 || errno != EINTR)
            return BG__READ_END;
    }
    return BG__READ_GARBAGE;
}
