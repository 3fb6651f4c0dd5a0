/* Ranks that do not come, of more than a machine has: rank 0 names them all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/comm_ranks.h"

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

static void test_many_missing(void **state)
{
    const int two[] = {0, 2};
    (void)state;
    need_ranks(1);
    run_processes_as(1, MANY, two, waits, NULL);
    run_processes_as(2, MANY, two, waits, "one has come");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_missing),
    };
    return cmocka_run_group_tests_name("comm_missing", tests, NULL, NULL);
}
#else
int main(void)
{
    print_message("skipped: there is no NCCL\n");
    return 0;
}
#endif
