/* Whose connections are, as the kernel tells. */
#include "comm/peer.h"

#include "comm/address.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* As the table writes it. */
static void in_table(const struct sockaddr_storage *address, char *text, size_t room)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    uint32_t words[4];
    if (address->ss_family == AF_INET) {
        memcpy(&four, address, sizeof four);
        snprintf(text, room, "%08X:%04X", four.sin_addr.s_addr, ntohs(four.sin_port));
    } else {
        memcpy(&six, address, sizeof six);
        memcpy(words, &six.sin6_addr, sizeof words);
        snprintf(text, room, "%08X%08X%08X%08X:%04X", words[0], words[1], words[2], words[3], ntohs(six.sin6_port));
    }
}

/* A connection that its process has given up is nobody's, and shown as root's: only an established one counts. */
static bool table_has(const char *table, const char *from, const char *to)
{
    enum { ESTABLISHED = 1 };
    char line[512], local[64], remote[64];
    unsigned state, user;
    bool has = false;
    FILE *file = fopen(table, "re");
    while (file != NULL && !has && fgets(line, sizeof line, file) != NULL)
        has = sscanf(line, "%*s %63s %63s %x %*s %*s %*s %u", local, remote, &state, &user) == 4 &&
              state == ESTABLISHED && strcmp(local, from) == 0 && strcmp(remote, to) == 0 && user == geteuid();
    if (file != NULL)
        (void)fclose(file); /* it was only read */
    return has;
}

bool bg__peer_is_own(int fd)
{
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t here_bytes = sizeof here, there_bytes = sizeof there;
    char to[64], from[64];
    if (getsockname(fd, (struct sockaddr *)&here, &here_bytes) != 0 ||
        getpeername(fd, (struct sockaddr *)&there, &there_bytes) != 0 || !bg__is_loopback((struct sockaddr *)&there))
        return false;
    in_table(&here, to, sizeof to);
    in_table(&there, from, sizeof from);
    return table_has(here.ss_family == AF_INET6 ? "/proc/net/tcp6" : "/proc/net/tcp", from, to);
}
