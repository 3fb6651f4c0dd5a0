/* Ranks that leave while something is under way. */
#include "tests/support/test.h"
#include <stdint.h>
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include <signal.h>
#include <time.h>

/* Rank 0 has sent BYE, and waits for the end of a replay, without a watchdog, when the other is killed. */
static int dies_after_goodbye(struct member *m)
{
    const struct timespec while_it_waits = {.tv_nsec = 500000000};
    const bg_ranks *ranks;
    bg_comm *comm = NULL;
    double start = seconds_now();
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    ranks = bg_comm_ranks(comm);
    EXPECT_BG(bg_comm_barrier(comm, "here"));
    if (m->rank == 1) {
        (void)nanosleep(&while_it_waits, NULL);
        raise(SIGKILL);
    }
    EXPECT_BG(ranks->enter(ranks->user, "bucket 8", 0, 1)); /* a replay that does not come to its end */
    bg_comm_destroy(comm);
    EXPECT(seconds_now() - start < 20);
    return 0;
}

TEST(test_dies_after_goodbye)
{
    need_ranks(2);
    run_members_but(2, dies_after_goodbye, NULL, 1, SIGKILL);
}
#else
SKIP_PROGRAM("there is no NCCL");
#endif
