/* Who may join a job, and what becomes of those that do not fit: strangers cost it nothing. */
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include <dlfcn.h>
#include <netdb.h>
#include <signal.h>
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
static void strange(struct member *m)
{
    const char *words = m->argument;
    if (m->rank < m->size) {
        join_in_turn(m);
        return;
    }
    for (int i = 0; i < 40; i++) { /* more than rank 0 listens to at once */
        int fd = connect_when_open(m->port);
        EXPECT(send(fd, words, strlen(words), MSG_NOSIGNAL) == (ssize_t)strlen(words));
    }
    tell_ready(m);
}

TEST(test_strangers)
{
    static const char *const words[] = {"", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "1Rgb"};
    need_ranks(2);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        run_processes_as(3, 2, NULL, strange, words[i]);
}

/* One process alone, as this rank of 2. */
static void run_one(int rank, member_body body, const void *argument)
{
    run_processes_as(1, 2, &rank, body, argument);
}

RANKS_TEST(test_nobody, run_one, 1)
{
    m->options.timeout = 0.3;
    EXPECT_NO_COMM(m, BG_ERROR_TIMEOUT, "no process listens there");
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

static void join_at(struct member *m, const char *address, double timeout)
{
    m->options.address = address;
    m->options.timeout = timeout;
    EXPECT_NO_COMM(m, BG_ERROR_TIMEOUT, m->rank ? "no process listens" : "these have not joined");
}

static void by_number(struct member *m)
{
    join_at(m, "127.0.0.1", 0.3);
    EXPECT(names_asked == 0);
}

/* Once, though it connects many times. */
static void by_name(struct member *m)
{
    join_at(m, "rank-zero.test", 1.5);
    EXPECT(names_asked == 1);
}

/* The look-up takes all the time there is, and a little more. */
static void by_slow_name(struct member *m)
{
    m->options.address = "rank-zero.test";
    m->options.timeout = 0.1;
    EXPECT_NO_COMM(m, BG_ERROR_TIMEOUT, "its address was still being resolved");
    EXPECT(names_asked == 1 && seconds_passed(m) < SOON);
}

DEEP_TEST(test_names);
TEST(test_names)
{
    for (int rank = 0; rank < 2; rank++) {
        run_one(rank, by_number, NULL);
        run_one(rank, by_name, NULL);
    }
    run_one(1, by_slow_name, NULL);
}

/* ---- tokens --------------------------------------------------------------------------------------------------- */

/* The second process has another token, or none, and is sent away; the third is the right one. */
static void with_tokens(struct member *m)
{
    const char *wrong = m->argument;
    m->options.token = "the job's secret";
    if (m->rank < m->size) {
        join_in_turn(m);
    } else {
        m->options.rank = 1;
        m->options.token = *wrong ? wrong : NULL;
        EXPECT_NO_COMM(m, BG_ERROR_RANKS, "the rank's token is not rank 0's");
        tell_ready(m);
    }
}

TEST(test_tokens)
{
    static const char *const tokens[] = {"", "the job's secreT", "the job's secret and more"};
    need_ranks(2);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        run_processes_as(3, 2, NULL, with_tokens, tokens[i]);
}

MEMBERS_TEST(test_long_token, 1)
{
    char token[300] = {0};
    memset(token, 'x', sizeof token - 1);
    m->options.token = token;
    m->options.size = 2;
    EXPECT_NO_COMM(m, BG_ERROR_INVALID_ARGUMENT, "may have at most 255");
}

/* Where others can come, an empty token is none. */
RANKS_TEST(test_empty_token, run_one, 0)
{
    m->options.token = "";
    m->options.bind = "0.0.0.0";
    m->options.timeout = 1;
    EXPECT_NO_COMM(m, BG_ERROR_INVALID_ARGUMENT, "set BG_RANKS_TOKEN");
}

/* ---- ranks that do not fit ------------------------------------------------------------------------------------ */

/* The job goes on with the one of them that came first; the last rank waits until the other has been refused. */
static void twice(struct member *m)
{
    if (m->rank == 2)
        await_ready(m);
    bg_status status = join(m);
    if (m->rank == 1 && status != BG_OK) {
        EXPECT_RANKS(status, "there is already a rank 1 of 3");
        tell_ready(m);
    } else {
        EXPECT_BG(status);
        EXPECT_BG(bg_comm_barrier(m->comm, "here"));
    }
}

TEST(test_twice)
{
    need_ranks(3);
    run_processes_as(4, 3, (const int[]){0, 1, 1, 2}, twice, NULL);
}

SIZES_TEST(test_other_size, 2)
{
    m->options.size += is_last(m);
    EXPECT_NO_COMM(m, BG_ERROR_RANKS, "the job has %d ranks on rank 0, but on rank %d it has %d", m->size, m->size - 1,
                   m->size + 1);
}

static void port_taken(struct member *m)
{
    m->options.rank = 0;
    m->options.timeout = 1;
    bg_status status = join(m);
    if (status == BG_ERROR_IO) {
        EXPECT_SAID(status, BG_ERROR_IO,
                    "choose another MASTER_PORT if another job uses this port, or check that only "
                    "one process is rank 0");
        tell_ready(m);
    } else {
        EXPECT_SAID(status, BG_ERROR_TIMEOUT, "of 2 ranks, these have not joined");
        await_ready(m);
    }
}

TEST(test_port_taken)
{
    run_processes_as(2, 2, NULL, port_taken, NULL);
}

/* ---- ranks that do not come ----------------------------------------------------------------------------------- */

SIZES_TEST(test_missing, 2)
{
    m->options.timeout = 1;
    if (is_last(m))
        return;
    bg_status status = join(m);
    EXPECT(!m->comm && seconds_passed(m) < SOON);
    if (m->rank == 0) {
        EXPECT_SAID(status, BG_ERROR_TIMEOUT, "rank 0 has waited 1 s for the others to join; of");
        EXPECT_SAID(status, BG_ERROR_TIMEOUT, ": %d", m->size - 1);
    }
    EXPECT(status == BG_ERROR_TIMEOUT);
}

/* A rank that has joined, and dies while the others are awaited, is named at once. */
static void dies_early(struct member *m)
{
    if (m->rank == 2)
        return;
    if (m->rank == 1) {
        alarm(1);
        signal(SIGALRM, SIG_DFL);
        EXPECT_BG(join(m)); /* ends with the signal */
    }
    EXPECT_NO_COMM(m, BG_ERROR_RANKS, "rank 1 ended before all ranks had joined");
    EXPECT(seconds_passed(m) < SOON);
}

DEEP_TEST(test_dies_early);
TEST(test_dies_early)
{
    run_members_but(3, dies_early, NULL, 1, SIGALRM);
}
#endif
