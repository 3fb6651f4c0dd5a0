/* What a rank says of where its replays are. */
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include "comm/replay_tracker.h"

#include "tests/support/cuda_support.h"

static void expect_place(bg__replay_tracker *track, const char *expected)
{
    char text[200];
    double still = 0;
    (void)bg__replay_tracker_query(track, &still);
    bg__replay_tracker_describe(track, text, sizeof text);
    assert_string_equal(text, expected);
}

/* A first replay that fails before its first step is queued has a name and a number, too. */
TEST(test_fails_at_once)
{
    bg__replay_tracker track;
    assert_int_equal(bg__replay_tracker_init(&track), BG_OK);
    expect_place(&track, "not in a replay");
    bg__replay_tracker_begin(&track, "bucket 8", 0, 2);
    expect_place(&track, "bucket 8, replay 0, has queued none of its 2 steps");
    bg__replay_tracker_end(&track);
    expect_place(&track, "not in a replay; the last was bucket 8, replay 0, of which no step has finished");
    bg__replay_tracker_begin(&track, "bucket 8", 1, 1);
    assert_int_equal(bg__replay_tracker_step(&track, 0, "segment 0", NULL), BG_OK);
    OK(cudaDeviceSynchronize());
    bg__replay_tracker_end(&track);
    expect_place(&track, "not in a replay; the last was bucket 8, replay 1");
    bg__replay_tracker_free(&track);
}
#endif
