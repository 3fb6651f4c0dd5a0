/* Ranks that do not come, of more than a machine has: rank 0 names them all. */
#include "tests/support/test.h"
#include <stdint.h>
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include <string.h>

enum { MANY = 300 };

static int waits(struct member *m)
{
    bg_comm *comm = NULL;
    m->options.timeout = 1;
    EXPECT_SAID(bg_comm_create(&comm, &m->options), BG_ERROR_TIMEOUT,
                "of 300 ranks, these have not joined at 127.0.0.1:");
    EXPECT(strstr(bg_last_error(), m->argument ? ": 1, 3-299" : ": 1-299"));
    return 0;
}

TEST(test_many_missing)
{
    const int two[] = {0, 2};
    need_ranks(1);
    run_processes_as(1, MANY, two, waits, NULL);
    run_processes_as(2, MANY, two, waits, "one has come");
}
#else
SKIP_PROGRAM("there is no NCCL");
#endif
