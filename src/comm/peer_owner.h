/* The user at the other end of a connection. */
#ifndef BG_COMM_PEER_OWNER_H
#define BG_COMM_PEER_OWNER_H

#include "comm/address.h"

/* The owner of the process at the other end: from SO_PEERCRED for a Unix-domain socket, from /proc/net/tcp and tcp6 for
 * a TCP connection inside this machine. UNKNOWN: the other end is on another machine, or in no table because its
 * process has ended. NONE: nobody has accepted the connection yet. */
typedef enum bg__connection_owner {
    BG__OWNER_UNKNOWN,
    BG__OWNER_NONE,
    BG__OWNER_SAME,
    BG__OWNER_OTHER
} bg__connection_owner;
/* BG_ERROR_IO: no descriptor is left to read the table. */
bg_status bg__peer_owner(int fd, bg__connection_owner *owner);

/* With a token: every owner but another user of this machine may join. Without one: only this user on this machine. */
bool bg__owner_may_join(bg__connection_owner owner, bool token);

/* Whether a socket is connected to itself: that happens if nobody listens on a port, and the kernel gives the
 * connecting socket the same port. */
bool bg__is_self_connected(int fd);

/* Whether the other end has closed the connection. */
bool bg__peer_is_gone(int fd);

/* Writes the process or the address at the other end, for messages. */
void bg__peer_name(int fd, char text[BG__NAME_MAX]);

#endif
