/* Who pretends to be of a job: a rank that does not know the token, a rank 0 that does not, and what is sent again or
 * passed on. */
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include "tests/support/ranks/fork_ranks.h"

#include <arpa/inet.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/handshake.h"
#include "comm/peer_owner.h"

static const char secret[] = "the job's secret";

/* ---- one end by hand ------------------------------------------------------------------------------------------- */

/* What one side of a connection does by itself, with a token or none. */
struct end {
    int fd;
    bg__reader reader;
    bg__job job;
    bg__hello hello;
    bg__nonce nonce; /* rank 0's */
};

static struct end end_of_rank(const struct member *m, int rank, const char *token)
{
    return (struct end){.fd = -1,
                        .reader.most = sizeof(bg__failure),
                        .job = {.rank = rank, .size = m->size, .port = m->port, .token = token}};
}

static void end_free(struct end *e)
{
    bg__close_fd(&e->fd);
    bg__reader_free(&e->reader);
}

/* Closed with its scope. */
#define OWNED_END(name, rank, token) __attribute__((cleanup(end_free))) struct end name = end_of_rank(m, rank, token)

/* Strangers use a socket for IPv6, which may speak IPv4, too. */
static bool by_ipv6;

static struct sockaddr_in6 mapped_address(int port)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.1", &address.sin6_addr), 1);
    return address;
}

static int connect_by_ipv6(int port)
{
    struct sockaddr_in6 address = mapped_address(port);
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        bg__close_fd(&fd);
    return fd;
}

static void connect_end(struct end *e, const struct member *m)
{
    while ((e->fd = by_ipv6 ? connect_by_ipv6(m->port) : connect_to_port(m->port)) < 0)
        pass_time(0.01);
}

static void say(struct end *e, bg__frame_type type, const void *body, size_t bytes)
{
    const bg__frame frame = {.type = type, .body = body, .bytes = bytes};
    EXPECT(bg__frame_send(e->fd, &frame, bg__now_ms() + 5000));
}

/* The next frame, whatever it is; the type 0 where the connection ends instead. */
static bg__frame listen_to(struct end *e)
{
    double until = bg__now_ms() + SOON * 1e3;
    bg__frame frame = {0};
    while (bg__now_ms() < until) {
        struct pollfd wait = {e->fd, POLLIN, 0};
        EXPECT_BG(bg__poll(&wait, 1, until));
        switch (bg__frame_read(e->fd, &e->reader, &frame)) {
        case BG__READ_NOTHING: continue;
        case BG__READ_FRAME: return frame;
        default: return (bg__frame){0};
        }
    }
    RANK_FAIL("no frame within %d s", SOON);
}

/* And copies its body. */
static void receive(struct end *e, bg__frame_type type, void *body, size_t bytes)
{
    bg__frame frame = listen_to(e);
    if (frame.type != type || frame.bytes != bytes)
        RANK_FAIL("frame %d of %zu bytes (%s), expected was %d of %zu", frame.type, frame.bytes, frame.what, type,
                  bytes);
    memcpy(body, frame.body, bytes);
}

/* Connects, says these words, or hello, and takes the challenge. */
static void begin_with(struct end *e, const struct member *m, const bg__hello *words)
{
    connect_end(e, m);
    say(e, BG__HELLO, words, sizeof *words);
    receive(e, BG__CHALLENGE, &e->nonce, sizeof e->nonce);
}

static void begin(struct end *e, const struct member *m)
{
    EXPECT_BG(bg__hello_make(&e->job, &e->hello));
    EXPECT_BG(bg__nonce_make(&e->hello.nonce));
    begin_with(e, m, &e->hello);
}

static void say_proof(struct end *e, bg__handshake_side side)
{
    bg__handshake_proof proof;
    EXPECT_BG(bg__handshake_proof_make(&e->job, side, &e->hello, &e->nonce, &proof));
    say(e, BG__PROOF, &proof, sizeof proof);
}

/* Rank 0 has taken it, and shows its own. */
static void expect_proof(struct end *e)
{
    bg__handshake_proof proof;
    receive(e, BG__PROOF, &proof, sizeof proof);
}

/* The other end says nothing more. */
static void expect_end(struct end *e)
{
    EXPECT(listen_to(e).type == 0);
}

static void expect_refusal(struct end *e, const char *why)
{
    bg__frame frame = listen_to(e);
    if (frame.type != BG__REFUSED || strstr(frame.what, why) == NULL)
        RANK_FAIL("frame %d: \"%s\", expected was a refusal: \"%s\"", frame.type, frame.what, why);
}

/* Comes as rank 1 with this token, and shows the proof of that side. */
static void come_refused(const struct member *m, const char *token, bg__handshake_side side, const char *why)
{
    OWNED_END(e, 1, token);
    begin(&e, m);
    say_proof(&e, side);
    expect_refusal(&e, why);
}

/* ---- a stranger at rank 0's door ------------------------------------------------------------------------------- */

static const char wrong_token[] = "the rank's token is not rank 0's";

static void guess(const struct member *m)
{
    static const char *const tokens[] = {NULL, "", "the job's secreT", "the job's secret and more"};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        come_refused(m, tokens[i], BG__SIDE_RANK, wrong_token);
}

/* Rank 0 shows nobody a proof who has shown none, and takes its own for nobody's. */
static void reflect(const struct member *m)
{
    come_refused(m, secret, BG__SIDE_RANK_0, wrong_token);
}

/* A proof of one connection, in another one that begins with the same words. */
static void prove_again(const struct member *m)
{
    OWNED_END(first, 1, secret);
    OWNED_END(second, 1, NULL);
    bg__handshake_proof proof;
    EXPECT_BG(bg__hello_make(&first.job, &first.hello));
    first.hello.watch = 1; /* a rank that loses this one alone may come again */
    begin_with(&first, m, &first.hello);
    EXPECT_BG(bg__handshake_proof_make(&first.job, BG__SIDE_RANK, &first.hello, &first.nonce, &proof));
    begin_with(&second, m, &first.hello);
    EXPECT(memcmp(&first.nonce, &second.nonce, sizeof first.nonce) != 0);
    say(&second, BG__PROOF, &proof, sizeof proof);
    expect_refusal(&second, wrong_token);
    say(&first, BG__PROOF, &proof, sizeof proof); /* and where it belongs it counts */
    expect_proof(&first);
}

/* What was proved is what was said: another rank, size, or role than in the proof. */
static void prove_another(const struct member *m)
{
    for (int what = 0; what < 3; what++) {
        OWNED_END(e, 1, secret);
        bg__hello words;
        EXPECT_BG(bg__hello_make(&e.job, &e.hello));
        words = e.hello;
        words.rank += what == 0;
        words.size += what == 1;
        words.watch ^= what == 2;
        begin_with(&e, m, &words);
        say_proof(&e, BG__SIDE_RANK);
        expect_refusal(&e, wrong_token);
    }
}

/* A rank of another job with the same token, that a stranger passes on: it was looking for another port. That job may
 * have more ranks. */
static void relay(const struct member *m)
{
    for (int more = 0; more < 2; more++) {
        OWNED_END(e, 1, secret);
        e.job.port++;
        e.job.size += more;
        begin(&e, m);
        say_proof(&e, BG__SIDE_RANK);
        expect_proof(&e);
        expect_refusal(&e, "its MASTER_PORT is not rank 0's");
    }
}

/* Other words than the protocol's: nothing, other frames, too many bytes, an older version's hello. */
static void speak_otherwise(const struct member *m)
{
    struct old_hello {
        char magic[8];
        uint32_t protocol;
        char rest[308];
    } old = {"bgranks", 2, {0}};
    OWNED_END(e, 1, secret);
    connect_end(&e, m);
    say(&e, BG__HELLO, &old, sizeof old);
    expect_refusal(&e, "a different version of breakgraph");
    for (int what = 0; what < 3; what++) {
        static const char much[600];
        OWNED_END(other, 1, secret);
        connect_end(&other, m);
        say(&other, what ? BG__PROOF : BG__HELLO, much, what == 2 ? sizeof much : 32);
        expect_end(&other);
    }
}

/* Each of these comes before the right rank 1, and fails; the last process is the stranger. */
typedef void (*attempt)(const struct member *m);
static const attempt attempts[] = {guess, reflect, prove_again, prove_another, relay, speak_otherwise};

static void with_stranger(struct member *m, const char *token, attempt try_it)
{
    m->options.token = token;
    if (m->rank < m->size) {
        join_in_turn(m);
    } else {
        try_it(m);
        tell_ready(m);
    }
}

static void stranger(struct member *m)
{
    const attempt *try_it = m->argument;
    with_stranger(m, secret, *try_it);
}

TEST(test_strangers_at_rank_0)
{
    need_ranks(2);
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)
        run_processes_as(3, 2, NULL, stranger, &attempts[i]);
}

/* A rank whose second connection was lost, or who was killed between the two and has been started again, comes anew. */
MEMBERS_TEST(test_half_way, 2)
{
    OWNED_END(e, 1, NULL);
    if (m->rank == 1) {
        EXPECT_BG(bg__hello_make(&e.job, &e.hello));
        e.hello.watch = 1;
        begin_with(&e, m, &e.hello);
        say_proof(&e, BG__SIDE_RANK);
        expect_proof(&e);
        end_free(&e);
    }
    join_well(m);
}

/* ---- a stranger in rank 0's place ------------------------------------------------------------------------------ */

/* Waits for a rank. */
static void accept_rank(struct end *e, const struct member *m)
{
    const int on = 1;
    struct sockaddr_in6 mapped = mapped_address(m->port);
    int port = m->port;
    int listener = by_ipv6 ? socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0) : fork_ranks_hold_port(&port);
    EXPECT(listener >= 0);
    if (by_ipv6) {
        EXPECT(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
        EXPECT(bind(listener, (struct sockaddr *)&mapped, sizeof mapped) == 0);
    }
    EXPECT(listen(listener, 8) == 0);
    e->fd = accept(listener, NULL, NULL);
    EXPECT(e->fd >= 0);
    close(listener);
}

static const struct pretence {
    const char *how;
    bg_status status; /* what the rank makes of it */
    const char *sentence;
} pretences[] = {{"zeros", BG_ERROR_RANKS, "does not have the job's token"},
                 {"back", BG_ERROR_RANKS, "does not have the job's token"},
                 {"welcome", BG_ERROR_RANKS, "is not rank 0"},
                 {"failed", BG_ERROR_RANKS, "is not rank 0"},
                 {"refused", BG_ERROR_RANKS, ": the process that listens there refuses this rank, and has not proven"},
                 {"silent", BG_ERROR_TIMEOUT, "does not answer"}};

/* Answers the rank's hello with a challenge, and says this in place of its proof, once it has the rank's. What the rank
 * shows is no token. */
static void pretend(struct end *e, const char *how)
{
    const bg__failure failure = {.status = BG_ERROR_IO, .text = "believe me"};
    const bg__frame refused = {.type = BG__REFUSED, .what = "go\033[2J\n\302\233away"};
    bg__handshake_proof proof, zeros = {{0}};
    receive(e, BG__HELLO, &e->hello, sizeof e->hello);
    EXPECT(memmem(&e->hello, sizeof e->hello, secret, 8) == NULL);
    EXPECT_BG(bg__nonce_make(&e->nonce));
    say(e, BG__CHALLENGE, &e->nonce, sizeof e->nonce);
    receive(e, BG__PROOF, &proof, sizeof proof);
    EXPECT(memmem(&proof, sizeof proof, secret, 8) == NULL && !bg__handshake_proof_equal(&proof, &zeros));
    if (strcmp(how, "refused") == 0)
        EXPECT(bg__frame_send(e->fd, &refused, bg__now_ms() + 5000));
    else if (strcmp(how, "zeros") == 0)
        say(e, BG__PROOF, &zeros, sizeof zeros);
    else if (strcmp(how, "back") == 0)
        say(e, BG__PROOF, &proof, sizeof proof);
    else if (strcmp(how, "welcome") == 0)
        say(e, BG__WELCOME, NULL, 0);
    else if (strcmp(how, "failed") == 0)
        say(e, BG__FAILED, &failure, sizeof failure);
}

static void false_rank_0(struct member *m)
{
    const struct pretence *pretence = m->argument;
    OWNED_END(e, 1, NULL);
    m->options.token = secret;
    m->options.timeout = 2;
    if (m->rank == 1) {
        EXPECT_NO_COMM(m, pretence->status, "%s", pretence->sentence);
        tell_ready(m);
    } else {
        e.reader.most = sizeof(bg__hello);
        accept_rank(&e, m);
        pretend(&e, pretence->how);
        await_ready(m);
    }
}

TEST(test_false_rank_0)
{
    for (size_t i = 0; i < sizeof pretences / sizeof *pretences; i++)
        run_processes_as(2, 2, NULL, false_rank_0, &pretences[i]);
}

/* ---- another user ---------------------------------------------------------------------------------------------- */

static void need_root(void)
{
    if (geteuid() == 0)
        return;
    print_message("skipped: only root can be another user\n");
    skip();
}

/* With the token, and with none: it sees that rank 0 is not its own, and rank 0 would see it, too. */
static void other_user(struct member *m)
{
    m->options.timeout = 4;
    m->options.token = m->argument;
    EXPECT(m->rank == 0 || setuid(65534) == 0);
    if (m->rank == 0)
        EXPECT_NO_COMM(m, BG_ERROR_TIMEOUT, "of 2 ranks, these have not joined");
    else
        EXPECT_NO_COMM(m, BG_ERROR_RANKS, "belongs to another user");
}

static void come_as_another_user(const struct member *m)
{
    EXPECT(setuid(65534) == 0);
    come_refused(m, m->argument, BG__SIDE_RANK, "on this machine only processes of rank 0's user may join");
}

/* It does not look who listens, and knows the token. */
static void bold_user(struct member *m)
{
    with_stranger(m, m->argument, come_as_another_user);
}

/* A rank meets another user who listens first. */
static void other_listener(struct member *m)
{
    OWNED_END(e, 0, NULL);
    m->options.token = m->argument;
    m->options.timeout = 4;
    if (m->rank == 1) {
        EXPECT_NO_COMM(m, BG_ERROR_RANKS, "belongs to another user");
    } else {
        EXPECT(setuid(65534) == 0);
        accept_rank(&e, m);
        expect_end(&e); /* not even hello */
    }
}

/* Linux before 6.17 shows a connection that nobody has accepted as root's: rank 0 has ended, and left its socket to a
 * child, say. */
static void own_listener(struct member *m)
{
    int port = m->port, listener = fork_ranks_hold_port(&port);
    m->options.timeout = 4;
    EXPECT(setuid(65534) == 0);
    if (m->rank == 0) {
        EXPECT(listener >= 0 && listen(listener, 8) == 0);
        await_ready(m);
    } else {
        EXPECT_NO_COMM(m, BG_ERROR_TIMEOUT, "rank 1 of 2 cannot join at "); /* and no other user is named */
        tell_ready(m);
    }
    close(listener);
}

static void run_bold_user_and_listener(const char *token)
{
    run_processes_as(3, 2, NULL, bold_user, token);
    run_processes_as(2, 2, NULL, other_listener, token);
}

DEEP_TEST(test_other_user);
TEST(test_other_user)
{
    static const char *const tokens[] = {secret, NULL};
    need_ranks(2);
    need_root();
    for (size_t i = 0; i < 2; i++) {
        run_members(2, other_user, tokens[i]);
        run_bold_user_and_listener(tokens[i]);
    }
    run_processes_as(2, 2, NULL, own_listener, NULL);
}

/* The kernel has its end in another table. With a token who is in no table may join. */
TEST(test_other_user_by_ipv6)
{
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need_ranks(2);
    if (fd < 0) {
        print_message("skipped: there is no IPv6\n");
        skip();
    }
    bg__close_fd(&fd);
    need_root();
    by_ipv6 = true;
    run_bold_user_and_listener(secret);
    by_ipv6 = false;
}
#endif
