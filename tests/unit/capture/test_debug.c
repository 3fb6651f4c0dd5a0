/* Debug modes: the same program, run eagerly through the same path. */
#include "tests/support/ops.h"

#include <stdlib.h>

BG_EAGER_OP(fresh, BG_IN(x), BG_OUT(y))
{
    void *memory;
    TRY_BG(bg_scratch(args, N * sizeof(float), &memory));
    args->y = bg_tensor_1d(memory, BG_F32, N);
    return from_cuda(bgk_scale(memory, args->x.data, 5, N, stream));
}

FIXTURE_PASS(pass)
{
    fresh_args a = {.x = f->y};
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    BG_CALL_ARGS(fresh, stream, &a);
    return BG_CALL(scale, stream, .x = a.y, .y = f->z, .factor = 2);
}

/* -1: any number */
static void expect(fixture *f, bg_debug debug, int segments, int breaks, int steps)
{
    static const char *const names[] = {"scale#0", "fresh#0", "scale#1"};
    put(&f->x, 1);
    CAPTURED_GRAPH(graph, pass, f, f->stream, OPTIONS(.debug = debug));
    EXPECT_VALUE(&f->z, 30);
    EXPECT_REPLAYS(graph, f->stream, &f->x, &f->z, 30);
    EXPECT_COUNTS(graph, segments, breaks, steps);
    assert_int_equal(info_of(graph).calls, 3);
    for (int i = 0; i < 3; i++) /* the same names under every mode */
        assert_string_equal(call_info_of(graph, i).name, names[i]);
}

FIXTURE_TEST(test_modes)
{
    expect(f, BG_DEBUG_OFF, 2, 1, 3);     /* launch, call, launch that begins with the copy */
    expect(f, BG_DEBUG_FORWARD, 0, 1, 1); /* one call */
    expect(f, BG_DEBUG_OPS, 0, 3, 4);     /* call, call, copy, call */
    expect(f, BG_DEBUG_SYNC, 2, 1, 6);    /* as off, and a wait after each segment and call */
}

FIXTURE_TEST(test_environment)
{
    static const struct {
        const char *value;
        int steps;
    } modes[] = {{"off", 3}, {"forward", 1}, {"ops", 4}, {"sync", 6}, {"", 3}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        setenv("BG_DEBUG", modes[i].value, 1);
        expect(f, BG_DEBUG_FROM_ENV, -1, -1, modes[i].steps);
    }
    expect(f, BG_DEBUG_OFF, -1, -1, 3); /* what the program says comes first */
}

FIXTURE_TEST(test_bad_environment)
{
    bg_capture *refused;
    setenv("BG_DEBUG", "loud", 1);
    EXPECT_FAILS(bg_capture_begin(&refused, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT,
                 "BG_DEBUG is \"loud\"; allowed are off, forward, ops, sync");
    setenv("BG_DEBUG", "ops", 1);
    setenv("BG_BREAKABLE", "0", 1);
    EXPECT_FAILS(bg_capture_begin(&refused, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT, "unset one of them");
}

FIXTURE_TEST(test_forward_between_begin_and_end)
{
    bg_capture *running;
    OWNED_GRAPH(graph);
    EXPECT_OK(bg_capture_begin(&running, f->stream, OPTIONS(.debug = BG_DEBUG_FORWARD)));
    EXPECT_OK(pass(f, f->stream));
    EXPECT_OK(bg_capture_end(running, &graph));
    assert_int_equal(info_of(graph).breaks, 3);
}

PASS(fails, void *user)
{
    return BG_ERROR_IO;
}

PASS(fails_at_replay, int *runs)
{
    return ++*runs > 1 ? BG_ERROR_IO : BG_OK;
}

FIXTURE_TEST(test_forward_fails)
{
    const bg_capture_options *options = OPTIONS(.debug = BG_DEBUG_FORWARD);
    int runs = 0;
    EXPECT_NO_CAPTURE(fails, f, f->stream, options, BG_ERROR_IO);
    CAPTURED_GRAPH(graph, fails_at_replay, &runs, f->stream, options);
    EXPECT_FAILS(bg_replay(graph, f->stream), BG_ERROR_IO, "the forward pass");
}

BG_OP(fragile, BG_VALUE(bool *, fails))
{
    return *args->fails ? BG_ERROR_TIMEOUT : BG_OK;
}

static int after;
BG_OP(counts)
{
    after++;
    return BG_OK;
}

/* Looks at no result, as one may in a capture. */
PASS(careless_pass, bool *fails)
{
    BG_CALL(fragile, stream, .fails = fails);
    BG_CALL(counts, stream);
    bg_break(stream);
    bg_stream_wait_stream(stream, stream);
    return BG_OK;
}

FIXTURE_TEST(test_errors_stick_under_forward)
{
    const bg_capture_options *options = OPTIONS(.debug = BG_DEBUG_FORWARD);
    bool fail = true;
    after = 0;
    EXPECT_NO_CAPTURE(careless_pass, &fail, f->stream, options, BG_ERROR_TIMEOUT, "op fragile, call fragile#0 at ");
    assert_int_equal(after, 0); /* nothing ran after it */
    fail = false;
    CAPTURED_GRAPH(graph, careless_pass, &fail, f->stream, options);
    fail = true;
    EXPECT_FAILS(bg_replay(graph, f->stream), BG_ERROR_TIMEOUT, "fragile#0");
    assert_int_equal(after, 1);
    fail = false;
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_int_equal(after, 2);
}
