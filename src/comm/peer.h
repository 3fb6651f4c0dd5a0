/* Who is at the other end of a connection. */
#ifndef BG_COMM_PEER_H
#define BG_COMM_PEER_H

#include "comm/wire.h"

/* Whether the other end of this connection, which does not leave the machine, belongs to this user, as the kernel's
 * table of connections tells. */
bool bg__peer_is_own(int fd);

#endif
