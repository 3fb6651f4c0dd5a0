/* Where ranks meet: at a port, at a socket of this machine, and with few open files. */
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include "tests/support/ranks/fork_ranks.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "comm/handshake.h"
#include "comm/peer_owner.h"

static const char secret[] = "the job's secret";

/* ---- few open files -------------------------------------------------------------------------------------------- */

/* So many more than are open; what the host device and the test have open does not count. */
static void leave_files(int more)
{
    struct rlimit few;
    int count, next;
    EXPECT(cudaGetDeviceCount(&count) == cudaSuccess);
    next = dup(STDERR_FILENO);
    EXPECT(next >= 0 && close(next) == 0);
    EXPECT(next + more < 33); /* less than rank 0 would listen to at once */
    few = (struct rlimit){(rlim_t)(next + more), (rlim_t)(next + more)};
    EXPECT(setrlimit(RLIMIT_NOFILE, &few) == 0);
}

static void few_files(struct member *m)
{
    if (m->rank == 0)
        leave_files(12);
    join_well(m);
}

/* The last process is a stranger: it comes more often than there is room, and says nothing. */
static void few_files_and_strangers(struct member *m)
{
    if (m->rank == 1)
        await_ready(m);
    if (m->rank < m->size) {
        few_files(m);
    } else {
        for (int i = 0; i < 20; i += connect_to_port(m->port) >= 0)
            pass_time(0.01);
        tell_ready(m);
        pass_time(3); /* and it stays */
    }
}

/* Two events, and the socket that listens: there is no room for who comes. */
static void too_few_files(struct member *m)
{
    if (m->rank == 0)
        leave_files(3);
    m->options.timeout = 3;
    bg_status status = join(m);
    EXPECT(m->comm == NULL && status != BG_OK);
    if (m->rank == 0)
        EXPECT_SAID(status, BG_ERROR_IO, "open files (ulimit -n)");
}

/* poll takes no more than the limit, though they are open. */
TEST(test_wait_names_the_limit)
{
    struct rlimit before, few = {8, 0};
    struct pollfd fds[16];
    double start = bg__now_ms();
    for (int i = 0; i < 16; i++)
        fds[i] = (struct pollfd){-1, POLLIN, POLLIN};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(bg__poll(fds, 16, bg__now_ms() + 1000), BG_ERROR_IO);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_non_null(strstr(bg_last_error(), "this process may have 8 open files (ulimit -n)"));
    assert_int_equal(fds[3].revents, 0);
    assert_true(bg__now_ms() - start >= 10); /* who goes on all the same does not spin */
}

DEEP_TEST(test_few_files);
TEST(test_few_files)
{
    need_ranks(2);
    need_host("a GPU's driver and NCCL open files of their own");
    run_members(2, few_files, NULL);
    run_members(2, too_few_files, NULL);
    run_processes_as(3, 2, NULL, few_files_and_strangers, NULL);
}

/* ---- connected to itself --------------------------------------------------------------------------------------- */

/* A port of this machine that the system chooses: its address is written there. */
static int bind_anywhere(struct sockaddr_in *address)
{
    int port = 0, fd = fork_ranks_hold_port(&port);
    assert_true(fd >= 0);
    *address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return fd;
}

/* As where MASTER_PORT is one that the system gives to connections, and rank 0 is late: sooner or later. */
TEST(test_own_end)
{
    struct sockaddr_in address;
    int fd = bind_anywhere(&address), other, listener;
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_true(bg__is_self_connected(fd));
    close(fd);

    listener = bind_anywhere(&address);
    assert_int_equal(listen(listener, 1), 0);
    other = connect_to_port(ntohs(address.sin_port));
    assert_true(other >= 0);
    assert_false(bg__is_self_connected(other));
    close(other);
    close(listener);
}

/* In place of the system's, which gives a connection its own port by chance: always. */
static bool from_own_port;
int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t bytes)
{
    static int (*real)(int, const struct sockaddr *, socklen_t);
    if (!real) {
        void *symbol = dlsym(RTLD_NEXT, "connect");
        memcpy(&real, &symbol, sizeof real);
    }
    if (from_own_port && address.__sockaddr__->sa_family == AF_INET)
        (void)bind(fd, address.__sockaddr__, bytes); /* where rank 0 listens it fails, and the port is another */
    return real(fd, address.__sockaddr__, bytes);
}

static void meets_itself(struct member *m)
{
    m->options.token = m->argument;
    if (m->rank == 0)
        pass_time(0.5);
    from_own_port = m->rank > 0;
    join_well(m);
}

TEST(test_meets_itself)
{
    run_members(2, meets_itself, NULL);
    run_members(2, meets_itself, secret);
}

/* ---- where another listens -------------------------------------------------------------------------------------- */

/* A name may stand for two addresses. Ranks that begin with the first would meet who listens there. */
TEST(test_first_address_taken)
{
    struct sockaddr_in first, second;
    int other = bind_anywhere(&first), fd;
    char text[BG__NAME_MAX];
    assert_int_equal(listen(other, 1), 0);
    second = first;
    second.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    struct addrinfo next = {.ai_family = AF_INET,
                            .ai_socktype = SOCK_STREAM,
                            .ai_addr = (struct sockaddr *)&second,
                            .ai_addrlen = sizeof second},
                    both = next;
    both.ai_addr = (struct sockaddr *)&first;
    both.ai_next = &next;
    bg__rendezvous meeting = {.found = &both, .name = "both"};
    assert_int_equal(bg__rendezvous_listen(&meeting, &fd, text), BG_ERROR_IO);
    assert_int_equal(fd, -1);
    assert_non_null(strstr(bg_last_error(), "if another job uses this port"));
    close(other);
}

/* ---- a socket of this machine ---------------------------------------------------------------------------------- */

static void use_socket(struct member *m)
{
    m->options.port = 0;
    m->options.address = NULL;
    EXPECT(setenv("BG_RANKS_SOCKET", m->argument, 1) == 0);
}

/* Twice: the socket's file is gone after all have joined. */
static void by_socket(struct member *m)
{
    struct stat about;
    use_socket(m);
    for (int i = 0; i < 2; i++)
        join_well(m);
    EXPECT(m->rank != 0 || (stat(m->argument, &about) != 0 && errno == ENOENT));
}

/* What a killed rank 0 leaves. */
static void leave_stale(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && strlen(path) < sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
}

static void other_user_by_socket(struct member *m)
{
    m->options.timeout = 3;
    use_socket(m);
    EXPECT(setenv("BG_RANKS_TOKEN", secret, 1) == 0);
    umask(0);
    EXPECT(m->rank == 0 || setuid(65534) == 0);
    if (m->rank == 0)
        EXPECT_NO_COMM(m, BG_ERROR_TIMEOUT, "of 2 ranks, these have not joined");
    else
        EXPECT_NO_COMM(m, BG_ERROR_RANKS, "belongs to another user");
}

static void long_path(struct member *m)
{
    use_socket(m);
    EXPECT_NO_COMM(m, BG_ERROR_INVALID_ARGUMENT, "a socket's path may have at most 107");
}

TEST(test_socket)
{
    char directory[] = "/tmp/breakgraph-test-XXXXXX", path[64], much[120] = {0};
    need_ranks(2);
    assert_non_null(mkdtemp(directory));
    (void)snprintf(path, sizeof path, "%s/ranks", directory);
    run_members(2, by_socket, path);
    leave_stale(path);
    run_members(2, by_socket, path);
    memset(much, 'x', sizeof much - 1);
    run_members(2, long_path, much);
    if (geteuid() == 0) {
        assert_int_equal(chmod(directory, 0711), 0);
        run_members(2, other_user_by_socket, path);
    } else {
        print_message("not tried: only root can be another user\n");
    }
    assert_int_equal(rmdir(directory), 0);
}

/* As started by torchrun, in a rank of breakgraph run --ranks. */
TEST(test_torchrun_in_a_rank)
{
    bg_comm_options options = BG_COMM_OPTIONS_INIT;
    bg__job job;
    options.rank = 0;
    options.size = 2;
    assert_int_equal(setenv("BG_RANKS_SOCKET", "/tmp/outer/ranks", 1), 0);
    assert_int_equal(setenv("MASTER_PORT", "4000", 1), 0);
    assert_int_equal(bg__job_read(&job, &options), BG_OK);
    assert_string_equal(job.socket, "/tmp/outer/ranks");
    assert_int_equal(setenv("TORCHELASTIC_RUN_ID", "inner", 1), 0);
    assert_int_equal(bg__job_read(&job, &options), BG_OK);
    assert_null(job.socket);
    assert_int_equal(job.port, 4001);
    assert_int_equal(unsetenv("TORCHELASTIC_RUN_ID") | unsetenv("MASTER_PORT") | unsetenv("BG_RANKS_SOCKET"), 0);
}
#endif
