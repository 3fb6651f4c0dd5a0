/* Ranks that leave while something is under way. */
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include <signal.h>

/* Rank 0 has sent BYE, and waits for the end of a replay, without a watchdog, when the other is killed. */
static void dies_after_goodbye(struct member *m)
{
    EXPECT_BG(join(m));
    EXPECT_BG(bg_comm_barrier(m->comm, "here"));
    if (m->rank == 1) {
        pass_time(0.5); /* while it waits */
        raise(SIGKILL);
    }
    EXPECT_BG(m->ranks->enter(m->ranks->user, "bucket 8", 0, 1)); /* a replay that does not come to its end */
    bg_comm_destroy(m->comm);
    m->comm = NULL;
    EXPECT(seconds_passed(m) < SOON);
}

TEST(test_dies_after_goodbye)
{
    run_members_but(2, dies_after_goodbye, NULL, 1, SIGKILL);
}
#endif
