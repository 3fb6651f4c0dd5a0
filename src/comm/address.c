/* Resolves names, formats addresses, and opens listening and connected sockets. */
#include "comm/address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- where ---------------------------------------------------------------------------------------------------- */

bg_status bg__rendezvous_resolve(bg__rendezvous *meeting, const char *address, int port)
{
    struct addrinfo hints = {
        .ai_flags = AI_NUMERICSERV | AI_NUMERICHOST, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    char service[16];
    int error;
    snprintf(meeting->name, sizeof meeting->name, "%.120s port %d", address, port);
    snprintf(service, sizeof service, "%d", port);
    error = getaddrinfo(address, service, &hints, &meeting->found);
    if (error == EAI_NONAME) {
        hints.ai_flags = AI_NUMERICSERV;
        error = getaddrinfo(address, service, &hints, &meeting->found);
    }
    if (error == 0)
        return BG_OK;
    meeting->found = NULL;
    return bg__fail(error == EAI_MEMORY ? BG_ERROR_OUT_OF_MEMORY : BG_ERROR_IO,
                    "the address \"%s\" of rank 0 cannot be resolved: %s; check MASTER_ADDR and BG_RANKS_BIND", address,
                    error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
}

/* Allocated as one block in the form of a result of getaddrinfo, so that other code treats both alike. */
typedef struct path_address {
    struct addrinfo info;
    struct sockaddr_un path;
} path_address;

bg_status bg__rendezvous_at_path(bg__rendezvous *meeting, const char *path)
{
    path_address *made;
    if (strlen(path) >= sizeof made->path.sun_path)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "the environment variable BG_RANKS_SOCKET has %zu bytes; a socket's path may have at most %zu",
                        strlen(path), sizeof made->path.sun_path - 1);
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the address of a socket");
    made->path.sun_family = AF_UNIX;
    memcpy(made->path.sun_path, path, strlen(path));
    made->info = (struct addrinfo){.ai_family = AF_UNIX,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_addr = (struct sockaddr *)&made->path,
                                   .ai_addrlen = sizeof made->path};
    meeting->found = &made->info;
    snprintf(meeting->name, sizeof meeting->name, "socket %s", path);
    return BG_OK;
}

const char *bg__rendezvous_path(const bg__rendezvous *meeting)
{
    const struct addrinfo *found = meeting->found;
    return found != NULL && found->ai_family == AF_UNIX ? ((const path_address *)found)->path.sun_path : NULL;
}

void bg__rendezvous_free(bg__rendezvous *meeting)
{
    if (bg__rendezvous_path(meeting) != NULL)
        free(meeting->found);
    else if (meeting->found != NULL)
        freeaddrinfo(meeting->found);
    meeting->found = NULL;
}

bool bg__address_is_loopback(const struct sockaddr *address)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    if (address->sa_family == AF_UNIX)
        return true;
    if (address->sa_family == AF_INET) {
        memcpy(&four, address, sizeof four);
        return ntohl(four.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(&six, address, sizeof six);
    return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

bool bg__rendezvous_is_local(const bg__rendezvous *meeting)
{
    bool local = true;
    for (const struct addrinfo *found = meeting->found; found != NULL; found = found->ai_next)
        local = local && bg__address_is_loopback(found->ai_addr);
    return local;
}

void bg__address_name(const struct sockaddr_storage *address, socklen_t bytes, char text[BG__NAME_MAX])
{
    char host[BG__NAME_MAX / 2], service[8];
    if (getnameinfo((const struct sockaddr *)address, bytes, host, sizeof host, service, sizeof service,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        snprintf(text, BG__NAME_MAX, "an unknown address");
    else
        snprintf(text, BG__NAME_MAX, address->ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, service);
}

/* ---- listening ------------------------------------------------------------------------------------------------ */

/* A socket's file stays when its process is killed, and the path cannot be listened on before the file is removed.
 * Removes only a socket of this user on which no process listens. */
static bool remove_stale_socket(const struct addrinfo *at)
{
    const char *path = ((const path_address *)at)->path.sun_path;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct stat about;
    bool stale = fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0 && errno == ECONNREFUSED &&
                 lstat(path, &about) == 0 && S_ISSOCK(about.st_mode) && about.st_uid == geteuid() && unlink(path) == 0;
    bg__close_fd(&fd);
    return stale;
}

static bool bind_address(int fd, const struct addrinfo *at)
{
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0)
        return true;
    if (errno != EADDRINUSE || at->ai_family != AF_UNIX)
        return false;
    if (remove_stale_socket(at))
        return bind(fd, at->ai_addr, at->ai_addrlen) == 0;
    errno = EADDRINUSE;
    return false;
}

static int listen_at_address(const struct addrinfo *at)
{
    const int on = 1;
    int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 && bind_address(fd, at) &&
        listen(fd, SOMAXCONN) == 0)
        return fd;
    if (fd >= 0) {
        int error = errno;
        bg__close_fd(&fd);
        errno = error;
    }
    return -1;
}

static const char *advice_to_listen(const bg__rendezvous *meeting, int error)
{
    if (error != EADDRINUSE)
        return "";
    return bg__rendezvous_path(meeting) != NULL
               ? "; another process uses this socket or left it behind: choose another BG_RANKS_SOCKET"
               : "; choose another MASTER_PORT if another job uses this port, or check that only one process is rank 0";
}

bg_status bg__rendezvous_listen(const bg__rendezvous *meeting, int *fd, char text[BG__NAME_MAX])
{
    struct sockaddr_storage own = {0};
    socklen_t bytes = sizeof own;
    char why[BG__ERRNO_MAX];
    int error = 0;

    *fd = -1;
    /* another process listens at this address, and ranks could find that process: do not use the next address */
    for (const struct addrinfo *at = meeting->found; at != NULL && *fd < 0 && error != EADDRINUSE; at = at->ai_next) {
        *fd = listen_at_address(at);
        error = errno;
    }
    if (*fd < 0)
        return bg__fail(BG_ERROR_IO, "rank 0 cannot listen on %s: %s%s", meeting->name, bg__errno_text(error, why),
                        advice_to_listen(meeting, error));
    if (bg__rendezvous_path(meeting) != NULL || getsockname(*fd, (struct sockaddr *)&own, &bytes) != 0)
        snprintf(text, BG__NAME_MAX, "%s", meeting->name);
    else
        bg__address_name(&own, bytes, text);
    return BG_OK;
}

void bg__rendezvous_stop_listening(const bg__rendezvous *meeting, int *fd)
{
    const char *path = bg__rendezvous_path(meeting);
    if (*fd >= 0 && path != NULL)
        (void)unlink(path); /* if this fails, the next job removes the file, since no process listens on it */
    bg__close_fd(fd);
}

/* Sends small messages at once, since a rank waits for each. If the option cannot be set, they are only late. */
static void set_no_delay(int fd)
{
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bg_status bg__accept_connection(int listener, int *fd)
{
    char why[BG__ERRNO_MAX];
    *fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (*fd >= 0)
        set_no_delay(*fd);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        return bg__fail(BG_ERROR_IO, "rank 0 cannot accept ranks: %s", bg__errno_text(errno, why));
    return BG_OK;
}

/* ---- connecting ----------------------------------------------------------------------------------------------- */

/* Returns 0 if *fd is connected, else the error. */
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
        while (!wait.revents && bg__now_ms() < until_ms && bg__poll(&wait, 1, until_ms) == BG_OK)
            continue;
        error = ETIMEDOUT;
        if (wait.revents && getsockopt(*fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0)
            error = errno;
    }
    if (error != 0)
        bg__close_fd(fd);
    return error;
}

bg_status bg__rendezvous_connect(const bg__rendezvous *meeting, double until_ms, int *fd)
{
    char why[BG__ERRNO_MAX];
    int error = 0;
    *fd = -1;
    for (const struct addrinfo *to = meeting->found; to != NULL && *fd < 0; to = to->ai_next)
        error = connect_to(to, until_ms, fd);
    if (*fd >= 0)
        set_no_delay(*fd);
    else if (error == EMFILE || error == ENFILE || error == EACCES || error == EAFNOSUPPORT)
        return bg__fail(BG_ERROR_IO, "rank 0 at %s cannot be reached: %s", meeting->name, bg__errno_text(error, why));
    return BG_OK;
}
