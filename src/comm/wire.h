/* Frames over TCP: a type, a phrase that says what for, and bytes. Sockets do not block; what waits has an end, in
 * milliseconds of bg__now_ms. */
#ifndef BG_COMM_WIRE_H
#define BG_COMM_WIRE_H

#include "base/base.h"

#include <sys/socket.h>

enum { BG__WHAT_MAX = 200, BG__BODY_MAX = 64 << 20, BG__NAME_MAX = 80 };

typedef enum bg__frame_type {
    /* joining */
    BG__HELLO = 1,
    BG__WELCOME,
    BG__REFUSED, /* what: why */
    /* operations */
    BG__BARRIER,
    BG__AGREE,
    BG__ANY,
    BG__LARGEST,
    BG__GATHER,
    BG__RESULT,
    /* beside them */
    BG__FAILED, /* what: nothing; body: bg__failure */
    BG__ASK,    /* where are you? The sequence is the question's */
    BG__PLACE,  /* body: the text; with the question's sequence */
    BG__STUCK,  /* what: why */
    BG__MOVED,  /* no more stuck */
    BG__BYE
} bg__frame_type;

typedef struct bg__frame {
    bg__frame_type type;
    uint64_t sequence;
    char what[BG__WHAT_MAX];
    const void *body; /* of a frame that was read: lasts until the reader goes on */
    size_t bytes;
} bg__frame;

/* What of a frame has come so far. */
typedef struct bg__reader {
    unsigned char *data;
    size_t room, got, most; /* most: bytes of a body */
} bg__reader;

typedef enum bg__read { BG__READ_NOTHING, BG__READ_FRAME, BG__READ_END, BG__READ_GARBAGE } bg__read;

/* NOTHING: no whole frame is there yet. END: the connection is closed or broken. A frame is there until the next call.
 */
bg__read bg__frame_read(int fd, bg__reader *reader, bg__frame *frame);
/* Room for any frame, so that reading allocates nothing. False: there is no memory. */
bool bg__reader_reserve(bg__reader *reader);
void bg__reader_free(bg__reader *reader);
/* False: the connection is gone, or full until the end of time. */
bool bg__frame_send(int fd, const bg__frame *frame, double until_ms);

/* The addresses that a name stands for, which the caller frees (bg__addresses_free; NULL is fine). A number is not
 * looked up; for a name it takes as long as the system's resolver does. */
struct addrinfo;
bg_status bg__look_up(const char *address, int port, struct addrinfo **found);
void bg__addresses_free(struct addrinfo *found);
/* Whether all of them are this machine's alone. */
bool bg__are_loopback(const struct addrinfo *found);
/* A socket at the first of them that takes one; -1 where none does, with the sentence, which names the address as it
 * was looked up. text: for messages, "127.0.0.1:4000". */
bg_status bg__listen(const struct addrinfo *found, const char *address, int port, int *fd, char text[BG__NAME_MAX]);
/* *fd -1 and BG_OK: nobody listens there, yet. */
bg_status bg__connect(const struct addrinfo *found, const char *address, int port, double until_ms, int *fd);
/* *fd -1: nobody came, or has gone again. */
bg_status bg__accept(int listener, int *fd);
void bg__peer_name(int fd, char text[BG__NAME_MAX]);
void bg__close(int *fd);

/* Whether the other end of this connection, which does not leave the machine, belongs to this user, as the kernel's
 * table of connections tells. */
bool bg__peer_is_own(int fd);

/* poll() that a signal does not end early. Events are in fds. */
struct pollfd;
void bg__wait(struct pollfd *fds, size_t count, double until_ms);

#endif
