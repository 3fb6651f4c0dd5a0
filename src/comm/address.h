/* Where the ranks meet: names, addresses and sockets. */
#ifndef BG_COMM_ADDRESS_H
#define BG_COMM_ADDRESS_H

#include "comm/wire.h"

#include <sys/socket.h>

enum { BG__NAME_MAX = 160 }; /* of a text */

struct addrinfo;

/* Where rank 0 listens, or is connected to. Starts zeroed. */
typedef struct bg__meeting {
    struct addrinfo *found;
    char name[BG__NAME_MAX]; /* for messages, as it was asked for: "localhost port 4000", "socket /tmp/job/ranks" */
} bg__meeting;

/* The addresses that a name stands for. A number is not looked up; for a name it takes as long as the system's resolver
 * does. */
bg_status bg__meeting_at(bg__meeting *meeting, const char *address, int port);
/* A Unix-domain socket. INVALID_ARGUMENT: the path is too long for one. */
bg_status bg__meeting_at_path(bg__meeting *meeting, const char *path);
void bg__meeting_free(bg__meeting *meeting);
/* The path; NULL: it is no Unix-domain socket. */
const char *bg__meeting_path(const bg__meeting *meeting);

/* "127.0.0.1:4000", for messages. */
void bg__address_name(const struct sockaddr_storage *address, socklen_t bytes, char text[BG__NAME_MAX]);

/* Whether an address is, or all of a meeting's are, this machine's alone. */
bool bg__is_loopback(const struct sockaddr *address);
bool bg__is_local(const bg__meeting *meeting);

/* A socket at the first of the addresses that takes one; *fd -1 where none does, or another process listens at one that
 * comes before, with the sentence. text: where it is,
 * for messages: "127.0.0.1:4000". */
bg_status bg__listen(const bg__meeting *meeting, int *fd, char text[BG__NAME_MAX]);
/* Closes it, and removes the file that a Unix-domain socket has. fd may be -1. */
void bg__stop_listening(const bg__meeting *meeting, int *fd);
/* *fd -1 and BG_OK: no process listens there yet. */
bg_status bg__connect(const bg__meeting *meeting, double until_ms, int *fd);
/* *fd -1: no connection, or it was closed again. */
bg_status bg__accept(int listener, int *fd);

#endif
