/* Ranks that do not come, of more than a machine has: rank 0 names them all. */
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
enum { MANY = 300 };

static void waits(struct member *m)
{
    m->options.timeout = 1;
    EXPECT_NO_COMM(m, BG_ERROR_TIMEOUT, "of 300 ranks, these have not joined at 127.0.0.1:%d: %s", m->port,
                   m->argument ? "1, 3-299" : "1-299");
}

TEST(test_many_missing)
{
    const int two[] = {0, 2};
    run_processes_as(1, MANY, two, waits, NULL);
    run_processes_as(2, MANY, two, waits, "one has come");
}
#endif
