/* Frames over TCP: a type, a phrase that says what for, and bytes. Sockets do not block; a function that waits has a
 * deadline, in milliseconds of bg__now_ms. */
#ifndef BG_COMM_WIRE_H
#define BG_COMM_WIRE_H

#include "base/base.h"

enum { BG__WHAT_MAX = 200, BG__BODY_MAX = 64 << 20 };

typedef enum bg__frame_type {
    /* joining */
    BG__HELLO = 1, /* body: bg__hello */
    BG__CHALLENGE, /* body: bg__nonce */
    BG__PROOF,     /* body: bg__proof */
    BG__WELCOME,   /* all ranks have joined */
    BG__REFUSED,   /* what: why */
    /* operations */
    BG__BARRIER,
    BG__AGREE,
    BG__ANY,
    BG__LARGEST,
    BG__GATHER,
    BG__RESULT,
    /* of the watchdogs */
    BG__FAILED, /* what: nothing; body: bg__failure */
    BG__ASK,    /* where are you? The sequence is the question's */
    BG__PLACE,  /* body: the text; with the question's sequence */
    BG__STUCK,  /* what: why */
    BG__MOVED,  /* no longer stuck */
    BG__BYE
} bg__frame_type;

typedef struct bg__frame {
    bg__frame_type type;
    uint64_t sequence;
    char what[BG__WHAT_MAX];
    const void *body; /* of a frame that was read: valid until the next read */
    size_t bytes;
} bg__frame;

/* The part of a frame that has arrived. */
typedef struct bg__reader {
    unsigned char *data;
    size_t room, got, most; /* most: maximum bytes of a body */
} bg__reader;

typedef enum bg__read_result { BG__READ_NOTHING, BG__READ_FRAME, BG__READ_END, BG__READ_GARBAGE } bg__read_result;

/* NOTHING: no whole frame is there yet. END: the connection is closed or broken. The contents of a frame are valid
 * until the next call.
 */
bg__read_result bg__frame_read(int fd, bg__reader *reader, bg__frame *frame);
/* Reserves room for any frame, so that reading allocates nothing. False: there is no memory. */
bool bg__reader_reserve(bg__reader *reader);
void bg__reader_free(bg__reader *reader);
/* False: the connection is closed, or was still full when the time ran out. */
bool bg__frame_send(int fd, const bg__frame *frame, double until_ms);
void bg__close_fd(int *fd);

/* Calls poll(); events are in fds. It may return early: after a signal, and after a second. After an error it sleeps
 * for a moment, so that a caller who goes on does not spin. Errors: IO, if there are more fds than the process may open
 * files; OUT_OF_MEMORY. */
struct pollfd;
bg_status bg__poll(struct pollfd *fds, size_t count, double until_ms);
/* Sleeps until that time, or until a signal comes. */
void bg__sleep_until(double until_ms);
/* strerror of an error; for too many open files it adds the limit. */
enum { BG__ERRNO_MAX = 160 };
const char *bg__errno_text(int error, char text[BG__ERRNO_MAX]);

#endif
