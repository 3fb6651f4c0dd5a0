/* What rank 0 asks, and what verdict it gives, where others are stuck: its watchdog's thread, ranks that the test
 * plays, and time that goes on when the test lets it. */
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include "tests/support/cuda_support.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "comm/watchdog.h"

enum { RANKS = 3, PATIENCE_MS = 20000 };

/* ---- time ------------------------------------------------------------------------------------------------------ */

static atomic_bool held;
static atomic_llong now_ms, passes_ms; /* with each look */

/* In place of the system's, for what is linked into this program; the driver keeps its own. */
__attribute__((visibility("hidden"))) int clock_gettime(clockid_t clock, struct timespec *time)
{
    long long now;
    if (clock != CLOCK_MONOTONIC || !atomic_load(&held))
        return (int)syscall(SYS_clock_gettime, clock, time);
    now = atomic_fetch_add(&now_ms, atomic_load(&passes_ms));
    *time = (struct timespec){.tv_sec = (time_t)(now / 1000), .tv_nsec = (long)(now % 1000) * 1000000};
    return 0;
}

static void hold_time(void)
{
    atomic_store(&now_ms, (long long)bg__now_ms());
    atomic_store(&passes_ms, 0);
    atomic_store(&held, true);
}

/* The thread looks, and listens, many times before a verdict is due: it hears all that has been said. */
static void let_time_pass(void)
{
    atomic_store(&passes_ms, 10);
}

/* ---- rank 0, and what it is connected to --------------------------------------------------------------------------
 */

struct scene {
    bg__link link;
    bg__replay_tracker track;
    bg__watchdog watchdog;
    int ends[RANKS]; /* the test's, of ranks 1 and 2 */
    bg__reader readers[RANKS];
};

/* Nothing is in flight. */
static void end_nothing(void *user)
{
    (void)user;
}

static int open_scene(void **state)
{
    static struct scene scene;
    const bg__job job = {.rank = 0, .size = RANKS, .timeout = 60};
    struct scene *s = *state = &scene;
    *s = (struct scene){.track = {.lock = PTHREAD_MUTEX_INITIALIZER}};
    OK(cudaFree(NULL)); /* the device has started while time goes on */
    hold_time();
    assert_int_equal(bg__link_init(&s->link, &job), BG_OK);
    for (int i = 1; i < RANKS; i++) {
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        s->link.peers[i].watch = ends[0];
        s->ends[i] = ends[1];
        s->readers[i].most = sizeof(bg__failure);
    }
    s->watchdog = (bg__watchdog){.link = &s->link, .track = &s->track, .limit_ms = -1, .abort = end_nothing};
    assert_int_equal(bg__watchdog_start(&s->watchdog), BG_OK);
    return 0;
}

static int close_scene(void **state)
{
    struct scene *s = *state;
    bg__watchdog_stop(&s->watchdog);
    for (int i = 1; i < RANKS; i++) {
        bg__close_fd(&s->ends[i]);
        bg__reader_free(&s->readers[i]);
    }
    bg__link_free(&s->link);
    atomic_store(&held, false);
    return 0;
}

/* ---- what the ranks say and hear ----------------------------------------------------------------------------------
 */

static void say(const struct scene *s, int rank, const bg__frame *frame)
{
    assert_true(bg__frame_send(s->ends[rank], frame, bg__now_ms() + 1));
}

static void say_stuck(const struct scene *s, int rank)
{
    bg__frame frame = {.type = BG__STUCK};
    snprintf(frame.what, sizeof frame.what, "rank %d is stuck", rank);
    say(s, rank, &frame);
}

static void say_place(const struct scene *s, int rank, uint64_t question, const char *place)
{
    say(s, rank, &(bg__frame){.type = BG__PLACE, .sequence = question, .body = place, .bytes = strlen(place)});
}

static bg__frame hear(struct scene *s, int rank)
{
    struct pollfd wait = {s->ends[rank], POLLIN, 0};
    bg__frame frame;
    bg__read_result read;
    while ((read = bg__frame_read(s->ends[rank], &s->readers[rank], &frame)) == BG__READ_NOTHING)
        if (poll(&wait, 1, PATIENCE_MS) == 0)
            fail_msg("rank %d hears nothing", rank);
    assert_int_equal(read, BG__READ_FRAME);
    return frame;
}

/* All get it. */
static void hear_question(struct scene *s, uint64_t question)
{
    for (int i = 1; i < RANKS; i++) {
        bg__frame frame = hear(s, i);
        assert_int_equal(frame.type, BG__ASK);
        assert_int_equal(frame.sequence, question);
    }
}

static void hear_verdict(struct scene *s, const char *text)
{
    let_time_pass();
    for (int i = 1; i < RANKS; i++) {
        bg__frame frame = hear(s, i);
        bg__failure failure;
        assert_int_equal(frame.type, BG__FAILED);
        assert_int_equal(frame.bytes, sizeof failure);
        memcpy(&failure, frame.body, sizeof failure);
        assert_int_equal(failure.status, BG_ERROR_RANKS);
        assert_string_equal(failure.text, text);
    }
}

/* ---- the tests ----------------------------------------------------------------------------------------------------
 */

#define ZERO "rank 0: not in a replay; its last exchange with the others was \"\""

#define COMM_WATCHDOG_TEST(name) TEST_F(name, open_scene, close_scene, struct scene *s)

/* When another rank is stuck than that for which it has asked, what all have told is old. */
COMM_WATCHDOG_TEST(test_asks_anew)
{
    say_stuck(s, 2);
    hear_question(s, 1);
    for (int i = 1; i < RANKS; i++)
        say_place(s, i, 1, "an old place");
    say_stuck(s, 1);
    hear_question(s, 2);
    say_place(s, 1, 1, "an answer that is late");
    say_place(s, 2, 2, "the second");
    say_place(s, 1, 2, "the first");
    hear_verdict(s, "rank 1 is stuck: " ZERO "; rank 1: the first; rank 2: the second");
}

/* The reason that is named is one that still is. */
COMM_WATCHDOG_TEST(test_moves)
{
    say_stuck(s, 1);
    hear_question(s, 1);
    say_stuck(s, 2);
    say(s, 1, &(bg__frame){.type = BG__MOVED});
    hear_question(s, 2);
    say_place(s, 1, 2, "here");
    say_place(s, 2, 2, "here");
    hear_verdict(s, "rank 2 is stuck: " ZERO "; ranks 1, 2: here");
}

/* A rank that leaves is stuck no more. */
COMM_WATCHDOG_TEST(test_leaves)
{
    say_stuck(s, 1);
    hear_question(s, 1);
    say(s, 1, &(bg__frame){.type = BG__BYE});
    say_stuck(s, 2);
    hear_question(s, 2);
    say_place(s, 2, 2, "here");
    hear_verdict(s, "rank 2 is stuck: " ZERO "; rank 1: has left the job; rank 2: here");
}
#endif
