/* Where the ranks meet: names, addresses and sockets. */
#ifndef BG_COMM_ADDRESS_H
#define BG_COMM_ADDRESS_H

#include "comm/wire.h"

#include <sys/socket.h>

enum { BG__NAME_MAX = 160 }; /* bytes of a name */

struct addrinfo;

/* Where rank 0 listens and the others connect. Starts zeroed. */
typedef struct bg__rendezvous {
    struct addrinfo *found;
    char name[BG__NAME_MAX]; /* for messages, as requested: "localhost port 4000", "socket /tmp/job/ranks" */
} bg__rendezvous;

/* Resolves a name; a numeric address is not looked up. Takes as long as the system's resolver. */
bg_status bg__rendezvous_resolve(bg__rendezvous *meeting, const char *address, int port);
/* For a Unix-domain socket. INVALID_ARGUMENT: the path is too long. */
bg_status bg__rendezvous_at_path(bg__rendezvous *meeting, const char *path);
void bg__rendezvous_free(bg__rendezvous *meeting);
/* The path of the Unix-domain socket; NULL: it is another address. */
const char *bg__rendezvous_path(const bg__rendezvous *meeting);

/* "127.0.0.1:4000", for messages. */
void bg__address_name(const struct sockaddr_storage *address, socklen_t bytes, char text[BG__NAME_MAX]);

/* Whether only this machine can reach the address, or all addresses of the meeting. */
bool bg__address_is_loopback(const struct sockaddr *address);
bool bg__rendezvous_is_local(const bg__rendezvous *meeting);

/* Opens a listening socket at the first usable address. *fd is -1 if there is none, or another process listens at an
 * earlier address; bg_last_error() says which. text: the address for messages, "127.0.0.1:4000". */
bg_status bg__rendezvous_listen(const bg__rendezvous *meeting, int *fd, char text[BG__NAME_MAX]);
/* Closes the socket, and removes the file of a Unix-domain socket. fd may be -1. */
void bg__rendezvous_stop_listening(const bg__rendezvous *meeting, int *fd);
/* *fd -1 and BG_OK: no process listens there yet. */
bg_status bg__rendezvous_connect(const bg__rendezvous *meeting, double until_ms, int *fd);
/* *fd -1: no connection, or it was closed again. */
bg_status bg__accept_connection(int listener, int *fd);

#endif
