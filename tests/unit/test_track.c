/* What a rank says of where its replays are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/nccl_ranks.h"

#ifdef TEST_NCCL
#include "comm/track.h"

#include "tests/support/cuda_support.h"

static void expect_place(bg__track *track, const char *expected)
{
    char text[200];
    double still = 0;
    (void)bg__track_look(track, &still);
    bg__track_describe(track, text, sizeof text);
    assert_string_equal(text, expected);
}

/* A first replay that fails before its first step is queued has a name and a number, too. */
static void test_fails_at_once(void **state)
{
    bg__track track;
    (void)state;
    assert_int_equal(bg__track_init(&track), BG_OK);
    expect_place(&track, "not in a replay");
    bg__track_enter(&track, "bucket 8", 0, 2);
    expect_place(&track, "bucket 8, replay 0, has queued none of its 2 steps");
    bg__track_leave(&track);
    expect_place(&track, "not in a replay; the last was bucket 8, replay 0, of which no step has finished");
    bg__track_enter(&track, "bucket 8", 1, 1);
    assert_int_equal(bg__track_step(&track, 0, "segment 0", NULL), BG_OK);
    OK(cudaDeviceSynchronize());
    bg__track_leave(&track);
    expect_place(&track, "not in a replay; the last was bucket 8, replay 1");
    bg__track_free(&track);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fails_at_once),
    };
    return cmocka_run_group_tests_name("track", tests, NULL, NULL);
}
#else
int main(void)
{
    print_message("skipped: there is no NCCL\n");
    return 0;
}
#endif
