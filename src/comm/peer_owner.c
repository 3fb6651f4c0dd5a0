/* Finds the user that owns a connection, in the kernel's tables. */
#include "comm/peer_owner.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- both addresses ------------------------------------------------------------------------------------------- */

typedef struct endpoints {
    struct sockaddr_storage here, there;
} endpoints;

/* An IPv4 connection to an IPv6 socket has a mapped address; the kernel's table lists it under IPv4. */
static void unmap_ipv4(struct sockaddr_storage *address)
{
    struct sockaddr_in6 six;
    struct sockaddr_in four = {.sin_family = AF_INET};
    if (address->ss_family != AF_INET6)
        return;
    memcpy(&six, address, sizeof six);
    if (!IN6_IS_ADDR_V4MAPPED(&six.sin6_addr))
        return;
    memcpy(&four.sin_addr, &six.sin6_addr.s6_addr[12], sizeof four.sin_addr);
    four.sin_port = six.sin6_port;
    memset(address, 0, sizeof *address);
    memcpy(address, &four, sizeof four);
}

static bool find_endpoints(int fd, endpoints *found)
{
    socklen_t here_bytes = sizeof found->here, there_bytes = sizeof found->there;
    memset(found, 0, sizeof *found);
    if (getsockname(fd, (struct sockaddr *)&found->here, &here_bytes) != 0 ||
        getpeername(fd, (struct sockaddr *)&found->there, &there_bytes) != 0)
        return false;
    unmap_ipv4(&found->here);
    unmap_ipv4(&found->there);
    return true;
}

static bool is_same_host(const endpoints *e)
{
    struct sockaddr_in here, there;
    struct sockaddr_in6 here6, there6;
    if (e->here.ss_family != e->there.ss_family)
        return false;
    if (e->here.ss_family == AF_INET) {
        memcpy(&here, &e->here, sizeof here);
        memcpy(&there, &e->there, sizeof there);
        return here.sin_addr.s_addr == there.sin_addr.s_addr;
    }
    memcpy(&here6, &e->here, sizeof here6);
    memcpy(&there6, &e->there, sizeof there6);
    return e->here.ss_family == AF_INET6 && memcmp(&here6.sin6_addr, &there6.sin6_addr, sizeof here6.sin6_addr) == 0;
}

static in_port_t port_of(const struct sockaddr_storage *address)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    memcpy(&four, address, sizeof four);
    memcpy(&six, address, sizeof six);
    return address->ss_family == AF_INET6 ? six.sin6_port : four.sin_port;
}

bool bg__is_self_connected(int fd)
{
    endpoints e;
    return find_endpoints(fd, &e) && is_same_host(&e) && port_of(&e.here) == port_of(&e.there);
}

/* ---- whose ---------------------------------------------------------------------------------------------------- */

/* Formats the address as the table does. mapped: as an IPv4 address of an IPv6 socket. */
static void format_table_address(const struct sockaddr_storage *address, bool mapped, char *text, size_t room)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    uint32_t words[4];
    if (address->ss_family == AF_INET) {
        memcpy(&four, address, sizeof four);
        if (mapped)
            snprintf(text, room, "0000000000000000%08X%08X:%04X", htonl(0xffff), four.sin_addr.s_addr,
                     ntohs(four.sin_port));
        else
            snprintf(text, room, "%08X:%04X", four.sin_addr.s_addr, ntohs(four.sin_port));
    } else {
        memcpy(&six, address, sizeof six);
        memcpy(words, &six.sin6_addr, sizeof words);
        snprintf(text, room, "%08X%08X%08X%08X:%04X", words[0], words[1], words[2], words[3], ntohs(six.sin6_port));
    }
}

/* Only established connections count: if a process has closed its connection, the table lists root as the owner. If
 * nobody has accepted a connection, Linux before 6.17 lists root, too, but without an inode. */
static bg_status find_owner_in_table(const char *table, const endpoints *e, bool mapped, bg__connection_owner *owner)
{
    enum { ESTABLISHED = 1 };
    char line[512], local[64], remote[64], from[64], to[64];
    unsigned state, user = 0;
    unsigned long inode = 0;
    char why[BG__ERRNO_MAX];
    bool has = false;
    FILE *file = fopen(table, "re");
    *owner = BG__OWNER_UNKNOWN;
    if (file == NULL && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return bg__fail(BG_ERROR_IO, "the owner of a connection cannot be read from %s: %s", table,
                        bg__errno_text(errno, why));
    format_table_address(&e->there, mapped, from, sizeof from);
    format_table_address(&e->here, mapped, to, sizeof to);
    while (file != NULL && !has && fgets(line, sizeof line, file) != NULL)
        has = sscanf(line, "%*s %63s %63s %x %*s %*s %*s %u %*s %lu", local, remote, &state, &user, &inode) == 5 &&
              state == ESTABLISHED && strcmp(local, from) == 0 && strcmp(remote, to) == 0;
    if (file != NULL)
        (void)fclose(file); /* it was only read */
    if (has)
        *owner = user == geteuid() ? BG__OWNER_SAME : user == 0 && inode == 0 ? BG__OWNER_NONE : BG__OWNER_OTHER;
    return BG_OK;
}

/* Reads both tables, since the peer of an IPv4 connection may have an IPv6 socket. Peers on other machines are in
 * neither. */
static bg_status find_tcp_owner(const endpoints *e, bg__connection_owner *owner)
{
    bg_status status = BG_OK;
    if (e->here.ss_family == AF_INET)
        BG__TRY(find_owner_in_table("/proc/net/tcp", e, false, owner));
    if (*owner == BG__OWNER_UNKNOWN)
        status = find_owner_in_table("/proc/net/tcp6", e, true, owner);
done:
    return status;
}

static bg__connection_owner find_unix_owner(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
        return BG__OWNER_UNKNOWN;
    return peer.uid == geteuid() ? BG__OWNER_SAME : BG__OWNER_OTHER;
}

bg_status bg__peer_owner(int fd, bg__connection_owner *owner)
{
    endpoints e;
    *owner = BG__OWNER_UNKNOWN;
    if (!find_endpoints(fd, &e))
        return BG_OK;
    if (e.here.ss_family != AF_UNIX)
        return find_tcp_owner(&e, owner);
    *owner = find_unix_owner(fd);
    return BG_OK;
}

bool bg__owner_may_join(bg__connection_owner owner, bool token)
{
    return owner == BG__OWNER_SAME || (token && owner == BG__OWNER_UNKNOWN);
}

bool bg__peer_is_gone(int fd)
{
    struct pollfd now = {fd, POLLRDHUP, 0};
    return poll(&now, 1, 0) > 0;
}

void bg__peer_name(int fd, char text[BG__NAME_MAX])
{
    struct sockaddr_storage address = {0};
    struct ucred peer = {.pid = 0};
    socklen_t bytes = sizeof address, peer_bytes = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&address, &bytes) != 0)
        snprintf(text, BG__NAME_MAX, "an unknown address");
    else if (address.ss_family == AF_UNIX && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) == 0)
        snprintf(text, BG__NAME_MAX, "process %ld of user %lu", (long)peer.pid, (unsigned long)peer.uid);
    else
        bg__address_name(&address, bytes, text);
}
