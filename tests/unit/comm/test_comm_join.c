/* Who may join a job, and what becomes of those that do not fit: strangers cost it nothing. */
#include "tests/support/test.h"
#include <stdint.h>
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include <dlfcn.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- strangers ------------------------------------------------------------------------------------------------ */

static int connect_when_open(int port)
{
    int fd;
    do
        fd = connect_to_port(port);
    while (fd < 0);
    return fd;
}

/* The last process is none of the job's: it comes first, says something or nothing, and stays. */
static int strange(struct member *m)
{
    const char *words = m->argument;
    if (m->rank < m->size) {
        if (m->rank > 0 && await_ready(m))
            return 1;
        return join_well(m);
    }
    for (int i = 0; i < 40; i++) { /* more than rank 0 listens to at once */
        int fd = connect_when_open(m->port);
        EXPECT(send(fd, words, strlen(words), MSG_NOSIGNAL) == (ssize_t)strlen(words));
    }
    for (int i = 1; i < m->size; i++)
        if (tell_ready(m))
            return 1;
    return 0;
}

TEST(test_strangers)
{
    static const char *const words[] = {"", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "1Rgb"};
    static const int numbers[] = {0, 1, 2};
    need_ranks(2);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        run_processes_as(3, 2, numbers, strange, words[i]);
}

static int nobody(struct member *m)
{
    bg_comm *comm = NULL;
    m->options.timeout = 0.3;
    EXPECT_SAID(bg_comm_create(&comm, &m->options), BG_ERROR_TIMEOUT, "no process listens there");
    EXPECT(!comm);
    return 0;
}

TEST(test_nobody)
{
    static const int numbers[] = {1};
    need_ranks(1);
    run_processes_as(1, 2, numbers, nobody, NULL);
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

static int names_asked;

/* In place of the system's: names are counted, and take a while. */
int getaddrinfo(const char *restrict name, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict found)
{
    struct addrinfo wanted = *hints;
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
    memcpy(&real, &symbol, sizeof real);
    if (!(wanted.ai_flags & AI_NUMERICHOST)) {
        names_asked++;
        usleep(300000);
    }
    if (strcmp(name, "rank-zero.test") != 0 || wanted.ai_flags & AI_NUMERICHOST)
        return real(name, service, &wanted, found);
    return real("127.0.0.1", service, &wanted, found);
}

static int by_number(struct member *m)
{
    bg_comm *comm = NULL;
    m->options.address = m->argument;
    m->options.timeout = 0.3;
    EXPECT_SAID(bg_comm_create(&comm, &m->options), BG_ERROR_TIMEOUT,
                m->rank ? "no process listens" : "these have not joined");
    EXPECT(names_asked == 0);
    return 0;
}

/* Once, though it connects many times. */
static int by_name(struct member *m)
{
    bg_comm *comm = NULL;
    m->options.address = "rank-zero.test";
    m->options.timeout = 1.5;
    EXPECT_SAID(bg_comm_create(&comm, &m->options), BG_ERROR_TIMEOUT,
                m->rank ? "no process listens" : "these have not joined");
    EXPECT(names_asked == 1);
    return 0;
}

/* The look-up takes all the time there is, and a little more. */
static int by_slow_name(struct member *m)
{
    bg_comm *comm = NULL;
    double start = seconds_now();
    m->options.address = "rank-zero.test";
    m->options.timeout = 0.1;
    EXPECT_SAID(bg_comm_create(&comm, &m->options), BG_ERROR_TIMEOUT, "its address was still being resolved");
    EXPECT(names_asked == 1 && seconds_now() - start < 5);
    return 0;
}

TEST(test_names)
{
    static const int zero[] = {0}, one[] = {1};
    need_ranks(1);
    run_processes_as(1, 2, zero, by_number, "127.0.0.1");
    run_processes_as(1, 2, one, by_number, "127.0.0.1");
    run_processes_as(1, 2, zero, by_name, NULL);
    run_processes_as(1, 2, one, by_name, NULL);
    run_processes_as(1, 2, one, by_slow_name, NULL);
}

/* ---- tokens --------------------------------------------------------------------------------------------------- */

/* The second process has another token, or none, and is sent away; the third is the right one. */
static int with_tokens(struct member *m)
{
    const char *wrong = m->argument;
    bg_comm *comm = NULL;
    m->options.token = "the job's secret";
    if (m->rank == 0)
        return join_well(m);
    if (m->rank == 1)
        return await_ready(m) || join_well(m);
    m->options.rank = 1;
    m->options.token = *wrong ? wrong : NULL;
    EXPECT_SAID(bg_comm_create(&comm, &m->options), BG_ERROR_RANKS, "its token is not the job's");
    EXPECT(!comm);
    return tell_ready(m);
}

TEST(test_tokens)
{
    static const char *const tokens[] = {"", "the job's secreT", "the job's secret and more"};
    static const int numbers[] = {0, 1, 2};
    need_ranks(2);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        run_processes_as(3, 2, numbers, with_tokens, tokens[i]);
}

static int long_token(struct member *m)
{
    char token[300];
    bg_comm *comm = NULL;
    memset(token, 'x', sizeof token - 1);
    token[sizeof token - 1] = '\0';
    m->options.token = token;
    m->options.size = 2;
    EXPECT_SAID(bg_comm_create(&comm, &m->options), BG_ERROR_INVALID_ARGUMENT, "may have at most 255");
    return 0;
}

TEST(test_long_token)
{
    need_ranks(1);
    run_members(1, long_token, NULL);
}

/* Where others can come, an empty token is none. */
static int empty_token(struct member *m)
{
    bg_comm *comm = NULL;
    m->options.token = "";
    m->options.bind = "0.0.0.0";
    m->options.timeout = 1;
    EXPECT_SAID(bg_comm_create(&comm, &m->options), BG_ERROR_INVALID_ARGUMENT, "set BG_RANKS_TOKEN");
    EXPECT(!comm);
    return 0;
}

TEST(test_empty_token)
{
    static const int numbers[] = {0};
    need_ranks(1);
    run_processes_as(1, 2, numbers, empty_token, NULL);
}

/* ---- ranks that do not fit ------------------------------------------------------------------------------------ */

/* The job goes on with the one of them that came first; the last rank waits until the other has been refused. */
static int twice(struct member *m)
{
    bg_comm *comm = NULL;
    if (m->rank == 2 && await_ready(m))
        return 1;
    if (m->rank != 1)
        return join_well(m);
    bg_status status = bg_comm_create(&comm, &m->options);
    if (status != BG_OK) {
        EXPECT_SAID(status, BG_ERROR_RANKS, "there is already a rank 1 of 3");
        return tell_ready(m);
    }
    EXPECT_BG(bg_comm_barrier(comm, "here"));
    bg_comm_destroy(comm);
    return 0;
}

TEST(test_twice)
{
    static const int numbers[] = {0, 1, 1, 2};
    need_ranks(3);
    run_processes_as(4, 3, numbers, twice, NULL);
}

static int other_size(struct member *m)
{
    bg_comm *comm = NULL;
    char sentence[100];
    (void)snprintf(sentence, sizeof sentence, "the job has %d ranks, rank %d says %d", m->size, m->size - 1,
                   m->size + 1);
    if (m->rank == m->size - 1)
        m->options.size++;
    EXPECT_SAID(bg_comm_create(&comm, &m->options), BG_ERROR_RANKS, sentence);
    EXPECT(!comm);
    return 0;
}

TEST(test_other_size)
{
    need_ranks(2);
    for (int size = 2; size <= ranks_possible(); size *= 2)
        run_members(size, other_size, NULL);
}

static int port_taken(struct member *m)
{
    bg_comm *comm = NULL;
    m->options.rank = 0;
    m->options.timeout = 1;
    bg_status status = bg_comm_create(&comm, &m->options);
    EXPECT(status == BG_ERROR_IO || status == BG_ERROR_TIMEOUT);
    EXPECT(strstr(
        bg_last_error(),
        status == BG_ERROR_IO
            ? "choose another MASTER_PORT if another job uses this port, or check that only one process is rank 0"
            : "of 2 ranks, these have not joined"));
    EXPECT(status == BG_ERROR_TIMEOUT || tell_ready(m) == 0);
    EXPECT(status == BG_ERROR_IO || await_ready(m) == 0);
    return 0;
}

TEST(test_port_taken)
{
    static const int numbers[] = {0, 1};
    need_ranks(1);
    run_processes_as(2, 2, numbers, port_taken, NULL);
}

/* ---- ranks that do not come ----------------------------------------------------------------------------------- */

static int missing(struct member *m)
{
    bg_comm *comm = NULL;
    double start = seconds_now();
    m->options.timeout = 1;
    if (m->rank == m->size - 1)
        return 0;
    bg_status status = bg_comm_create(&comm, &m->options);
    EXPECT(!comm && seconds_now() - start < 10);
    if (m->rank == 0) {
        char sentence[64];
        (void)snprintf(sentence, sizeof sentence, ": %d", m->size - 1);
        EXPECT_SAID(status, BG_ERROR_TIMEOUT, "rank 0 has waited 1 s for the others to join; of");
        EXPECT_SAID(status, BG_ERROR_TIMEOUT, sentence);
    }
    EXPECT(status == BG_ERROR_TIMEOUT);
    return 0;
}

TEST(test_missing)
{
    need_ranks(2);
    for (int size = 2; size <= ranks_possible(); size *= 2)
        run_members(size, missing, NULL);
}

/* A rank that has joined, and dies while the others are awaited, is named at once. */
static int dies_early(struct member *m)
{
    bg_comm *comm = NULL;
    double start = seconds_now();
    if (m->rank == 2)
        return 0;
    if (m->rank == 1) {
        alarm(1);
        signal(SIGALRM, SIG_DFL);
        (void)bg_comm_create(&comm, &m->options); /* ends with the signal */
        return 1;
    }
    EXPECT_SAID(bg_comm_create(&comm, &m->options), BG_ERROR_RANKS, "rank 1 ended before all ranks had joined");
    EXPECT(seconds_now() - start < 30);
    return 0;
}

TEST(test_dies_early)
{
    need_ranks(3);
    run_members_but(3, dies_early, NULL, 1, SIGALRM);
}
#else
SKIP_PROGRAM("there is no NCCL");
#endif
