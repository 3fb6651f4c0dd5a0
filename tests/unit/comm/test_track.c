/* What a rank says of where its replays are. */
#include "tests/support/ranks/comm_ranks.h"

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
TEST(test_fails_at_once)
{
    bg__track track;
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
#endif
