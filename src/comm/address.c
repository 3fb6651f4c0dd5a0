/* Names, addresses and sockets. */
#include "comm/address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bg_status bg__look_up(const char *address, int port, struct addrinfo **found)
{
    struct addrinfo hints = {
        .ai_flags = AI_NUMERICSERV | AI_NUMERICHOST, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    char service[16];
    int error;
    snprintf(service, sizeof service, "%d", port);
    error = getaddrinfo(address, service, &hints, found);
    if (error == EAI_NONAME) {
        hints.ai_flags = AI_NUMERICSERV;
        error = getaddrinfo(address, service, &hints, found);
    }
    if (error == 0)
        return BG_OK;
    *found = NULL;
    return bg__fail(error == EAI_MEMORY ? BG_ERROR_OUT_OF_MEMORY : BG_ERROR_IO,
                    "the address \"%s\" of rank 0 is unknown: %s; see MASTER_ADDR and BG_RANKS_BIND", address,
                    error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
}

void bg__addresses_free(struct addrinfo *found)
{
    if (found != NULL)
        freeaddrinfo(found);
}

bool bg__is_loopback(const struct sockaddr *address)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    if (address->sa_family == AF_INET) {
        memcpy(&four, address, sizeof four);
        return ntohl(four.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(&six, address, sizeof six);
    return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

bool bg__are_loopback(const struct addrinfo *found)
{
    bool loopback = true;
    for (; found != NULL; found = found->ai_next)
        loopback = loopback && bg__is_loopback(found->ai_addr);
    return loopback;
}

static void name_of(const struct sockaddr_storage *address, socklen_t bytes, char text[BG__NAME_MAX])
{
    char host[BG__NAME_MAX - 12], service[8];
    if (getnameinfo((const struct sockaddr *)address, bytes, host, sizeof host, service, sizeof service,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        snprintf(text, BG__NAME_MAX, "an unknown address");
    else
        snprintf(text, BG__NAME_MAX, address->ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, service);
}

void bg__peer_name(int fd, char text[BG__NAME_MAX])
{
    struct sockaddr_storage address = {0};
    socklen_t bytes = sizeof address;
    if (getpeername(fd, (struct sockaddr *)&address, &bytes) != 0)
        snprintf(text, BG__NAME_MAX, "an unknown address");
    else
        name_of(&address, bytes, text);
}

/* ---- listening ------------------------------------------------------------------------------------------------ */

static int listen_at(const struct addrinfo *at)
{
    const int on = 1;
    int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    if (fd >= 0) {
        int error = errno;
        bg__close(&fd);
        errno = error;
    }
    return -1;
}

bg_status bg__listen(const struct addrinfo *found, const char *address, int port, int *fd, char text[BG__NAME_MAX])
{
    struct sockaddr_storage own = {0};
    socklen_t bytes = sizeof own;

    *fd = -1;
    for (; found != NULL && *fd < 0; found = found->ai_next)
        *fd = listen_at(found);
    if (*fd < 0)
        return bg__fail(BG_ERROR_IO, "rank 0 cannot listen on %s port %d: %s%s", address, port, strerror(errno),
                        errno == EADDRINUSE ? "; another job may run there: choose another MASTER_PORT; or another "
                                              "process of this job is rank 0, too"
                                            : "");
    if (getsockname(*fd, (struct sockaddr *)&own, &bytes) == 0)
        name_of(&own, bytes, text);
    else
        snprintf(text, BG__NAME_MAX, "an unknown address");
    return BG_OK;
}

/* Messages are small, and someone waits for each. Where that cannot be set they are late, not wrong. */
static void hurry(int fd)
{
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bg_status bg__accept(int listener, int *fd)
{
    *fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (*fd >= 0)
        hurry(*fd);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        return bg__fail(BG_ERROR_IO, "rank 0 cannot let ranks in: %s", strerror(errno));
    return BG_OK;
}

/* ---- connecting ----------------------------------------------------------------------------------------------- */

/* 0: *fd is connected; else the error. */
static int connect_to(const struct addrinfo *to, double until_ms, int *fd)
{
    int error = 0;
    socklen_t bytes = sizeof error;
    *fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->ai_protocol);
    if (*fd < 0)
        return errno;
    if (connect(*fd, to->ai_addr, to->ai_addrlen) != 0)
        error = errno;
    if (error == EINPROGRESS || error == EINTR) {
        struct pollfd wait = {*fd, POLLOUT, 0};
        while (!wait.revents && bg__now_ms() < until_ms)
            bg__wait(&wait, 1, until_ms);
        error = ETIMEDOUT;
        if (wait.revents && getsockopt(*fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0)
            error = errno;
    }
    if (error != 0)
        bg__close(fd);
    return error;
}

bg_status bg__connect(const struct addrinfo *found, const char *address, int port, double until_ms, int *fd)
{
    int error = 0;
    *fd = -1;
    for (; found != NULL && *fd < 0; found = found->ai_next)
        error = connect_to(found, until_ms, fd);
    if (*fd >= 0)
        hurry(*fd);
    else if (error == EMFILE || error == ENFILE || error == EACCES || error == EAFNOSUPPORT)
        return bg__fail(BG_ERROR_IO, "rank 0 at %s port %d cannot be reached: %s", address, port, strerror(error));
    return BG_OK;
}
