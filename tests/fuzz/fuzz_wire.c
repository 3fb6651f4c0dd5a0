/* Frames between ranks. The input's first byte says how large a body may be, its second how the rest is cut into
 * pieces; the rest is what comes over the connection. In pieces it is the same frames as at once, and each frame, sent
 * again, is read as it was. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "comm/wire.h"

enum { MOST = 1 << 14 }; /* bytes that any socket takes at once */

typedef struct pipe_pair {
    int ends[2];
    bg__reader reader;
} pipe_pair;

static void open_pair(pipe_pair *p, size_t most)
{
    *p = (pipe_pair){.reader = {.most = most}};
    FUZZ_EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->ends) == 0);
}

static void close_pair(pipe_pair *p)
{
    bg__close_fd(&p->ends[0]);
    bg__close_fd(&p->ends[1]);
    bg__reader_free(&p->reader);
}

static void expect_frame(const bg__frame *frame, const bg__reader *reader)
{
    const unsigned char *body = frame->body;
    FUZZ_EXPECT(frame->bytes <= reader->most && memchr(frame->what, '\0', sizeof frame->what) != NULL);
    FUZZ_EXPECT(body >= reader->data && body + frame->bytes <= reader->data + reader->got);
    FUZZ_EXPECT(reader->got <= reader->room);
}

/* Sent and read, a frame is as it was. */
static void expect_same_again(const bg__frame *frame, size_t most)
{
    bg__frame again = {0};
    pipe_pair p;
    open_pair(&p, most);
    FUZZ_EXPECT(bg__frame_send(p.ends[0], frame, bg__now_ms() + 1000));
    FUZZ_EXPECT(bg__frame_read(p.ends[1], &p.reader, &again) == BG__READ_FRAME);
    expect_frame(&again, &p.reader);
    FUZZ_EXPECT(again.type == frame->type && again.sequence == frame->sequence && again.bytes == frame->bytes);
    FUZZ_EXPECT(strcmp(again.what, frame->what) == 0);
    FUZZ_EXPECT(frame->bytes == 0 || memcmp(again.body, frame->body, frame->bytes) == 0);
    FUZZ_EXPECT(bg__frame_read(p.ends[1], &p.reader, &again) == BG__READ_NOTHING);
    close_pair(&p);
}

/* Reads what there is, and adds to *digest what the frames were. */
static bg__read_result read_all(pipe_pair *p, uint64_t *digest, int *frames)
{
    bg__frame frame;
    bg__read_result result;
    while ((result = bg__frame_read(p->ends[1], &p->reader, &frame)) == BG__READ_FRAME) {
        const unsigned char *body = frame.body;
        expect_frame(&frame, &p->reader);
        if (frame.bytes <= MOST / 2 && *frames < 8)
            expect_same_again(&frame, p->reader.most);
        *digest = *digest * 31 + (uint64_t)frame.type * 7 + frame.sequence + strlen(frame.what) + frame.bytes;
        for (size_t i = 0; i < frame.bytes; i++)
            *digest = *digest * 31 + body[i];
        ++*frames;
    }
    return result;
}

/* The whole of data, in pieces of up to `piece` bytes. */
static bg__read_result receive(const uint8_t *data, size_t size, size_t most, size_t piece, uint64_t *digest,
                               int *frames)
{
    bg__read_result result = BG__READ_NOTHING;
    pipe_pair p;
    open_pair(&p, most);
    for (size_t at = 0, count; at < size && result == BG__READ_NOTHING; at += count) {
        count = size - at < piece ? size - at : piece;
        FUZZ_EXPECT(send(p.ends[0], data + at, count, MSG_NOSIGNAL) == (ssize_t)count);
        result = read_all(&p, digest, frames);
        FUZZ_EXPECT(result == BG__READ_NOTHING || result == BG__READ_GARBAGE);
    }
    bg__close_fd(&p.ends[0]);
    if (result == BG__READ_NOTHING)
        FUZZ_EXPECT(read_all(&p, digest, frames) == BG__READ_END);
    else
        FUZZ_EXPECT(read_all(&p, digest, frames) == BG__READ_GARBAGE); /* for good */
    close_pair(&p);
    return result;
}

/* A frame of the input's own: type, sequence, phrase up to a zero, body. */
static void send_own(const uint8_t *data, size_t size)
{
    bg__frame frame = {.type = (bg__frame_type)data[0], .sequence = (uint64_t)data[1] << 40 | data[1]};
    size_t what = strnlen((const char *)data + 2, size - 2 < BG__WHAT_MAX - 1 ? size - 2 : BG__WHAT_MAX - 1);
    memcpy(frame.what, data + 2, what);
    frame.body = data + 2 + what;
    frame.bytes = size - 2 - what;
    expect_same_again(&frame, MOST);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t whole = 0, pieces = 0;
    int frames = 0, again = 0;
    size_t most;

    if (size < 2 || size > MOST)
        return 0;
    send_own(data, size);
    most = (size_t)data[0] * 8;
    FUZZ_EXPECT(receive(data + 2, size - 2, most, MOST, &whole, &frames) ==
                receive(data + 2, size - 2, most, data[1] % 64 + 1, &pieces, &again));
    FUZZ_EXPECT(whole == pieces && frames == again);
    return 0;
}
