/* Where the ranks meet: names, addresses and sockets. */
#ifndef BG_COMM_ADDRESS_H
#define BG_COMM_ADDRESS_H

#include "comm/wire.h"

enum { BG__NAME_MAX = 80 }; /* of a text */

/* The addresses that a name stands for, which the caller frees (bg__addresses_free; NULL is fine). A number is not
 * looked up; for a name it takes as long as the system's resolver does. */
struct addrinfo;
bg_status bg__look_up(const char *address, int port, struct addrinfo **found);
void bg__addresses_free(struct addrinfo *found);
/* Whether it is, or all of them are, this machine's alone. */
struct sockaddr;
bool bg__is_loopback(const struct sockaddr *address);
bool bg__are_loopback(const struct addrinfo *found);
/* A socket at the first of them that takes one; -1 where none does, with the sentence, which names the address as it
 * was looked up. text: for messages, "127.0.0.1:4000". */
bg_status bg__listen(const struct addrinfo *found, const char *address, int port, int *fd, char text[BG__NAME_MAX]);
/* *fd -1 and BG_OK: nobody listens there, yet. */
bg_status bg__connect(const struct addrinfo *found, const char *address, int port, double until_ms, int *fd);
/* *fd -1: nobody came, or has gone again. */
bg_status bg__accept(int listener, int *fd);
void bg__peer_name(int fd, char text[BG__NAME_MAX]);

#endif
