/* The user at the other end of a connection. */
#ifndef BG_COMM_PEER_H
#define BG_COMM_PEER_H

#include "comm/address.h"

/* Whose process it is, as the kernel tells: for a Unix-domain socket by SO_PEERCRED, for a TCP connection that does not
 * leave the machine by the tables of connections, /proc/net/tcp and tcp6. UNKNOWN: it leaves the machine, or no table
 * has it. */
typedef enum bg__owner { BG__OWNER_UNKNOWN, BG__OWNER_SAME, BG__OWNER_OTHER } bg__owner;
/* IO: there are no descriptors to read the table with. */
bg_status bg__peer_owner(int fd, bg__owner *owner);

/* With a token a process of another user on this machine may not join, and nobody may without one who is not known to
 * be of this user. */
bool bg__owner_may_join(bg__owner owner, bool token);

/* A connection to a port on which nobody listens may be given that same port for its own end, and is then connected to
 * itself. */
bool bg__is_own_end(int fd);

/* For messages. */
void bg__peer_name(int fd, char text[BG__NAME_MAX]);

#endif
