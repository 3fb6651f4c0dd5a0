/* Which ops are eager in one capture: options.eager_ops, options.inline_eager, and what comes after them. */
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

BG_OP(inl_plain, BG_IN(x), BG_OUT(y))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, N, stream));
}

BG_EAGER_OP(inl_eager, BG_INOUT(x))
{
    return from_cuda(bgk_scale(args->x.data, args->x.data, 3, N, stream));
}

/* Calls both. */
BG_EAGER_OP(inl_outer, BG_IN(x), BG_OUT(y))
{
    TRY_BG(BG_CALL(inl_plain, stream, .x = args->x, .y = args->y));
    return BG_CALL(inl_eager, stream, .x = args->y);
}

/* What no captured op may do. */
static bool takes_it; /* the error */
BG_EAGER_OP(inl_waits, BG_INOUT(x))
{
    cudaError_t error = cudaStreamSynchronize(stream);
    (void)args;
    if (takes_it)
        (void)cudaGetLastError();
    return takes_it ? BG_OK : from_cuda(error);
}

/* y = 36 x */
FIXTURE_PASS(pass)
{
    BG_CALL(inl_plain, stream, .x = f->x, .y = f->y);
    BG_CALL(inl_eager, stream, .x = f->y);
    bg_break(stream);
    return BG_CALL(inl_outer, stream, .x = f->y, .y = f->y);
}

static bg_graph *capture(fixture *f, const bg_capture_options *options)
{
    put(&f->x, 1);
    bg_graph *graph = CAPTURED_BY(pass, f, f->stream, options);
    EXPECT_VALUE(&f->y, 36);
    EXPECT_REPLAY(graph, f->stream, &f->x, 2, &f->y, 72);
    return graph;
}

/* The eager calls of the graph, in order, with commas between. */
static void expect_eager(fixture *f, const bg_capture_options *options, int breaks, const char *expected)
{
    OWN_GRAPH(graph, capture(f, options));
    bg_graph_info info = info_of(graph);
    char found[300] = "";
    for (int i = 0; i < info.calls; i++)
        if (call_info_of(graph, i).eager)
            strcat(strcat(found, found[0] != '\0' ? "," : ""), call_info_of(graph, i).name);
    if (strcmp(found, expected) != 0 || info.breaks != breaks)
        fail_msg("eager are %s with %d breaks, expected %s with %d", found, info.breaks, expected, breaks);
}

/* Those that are declared so, and what they call. */
#define EAGER "inl_eager#0,inl_outer#0,inl_outer#0/inl_plain#0,inl_outer#0/inl_eager#0"

/* Own patterns, then the program's, then the environment's: the last that matches decides. */
FIXTURE_TEST(test_order_of_patterns)
{
    static const struct {
        const char *own, *program, *environment;
        int breaks;
        const char *eager;
    } rows[] = {
        {NULL, NULL, NULL, 3, EAGER},
        {"", NULL, NULL, 3, EAGER},
        {"!inl_*", NULL, NULL, 1, ""},
        {"!inl_*,inl_plain#0", NULL, NULL, 2, "inl_plain#0"},
        {"inl_plain#0,!inl_*", NULL, NULL, 1, ""},
        {"!inl_*", "inl_plain", NULL, 3, "inl_plain#0,inl_outer#0/inl_plain#0"},
        {"!inl_*", "inl_plain", "!inl_plain#0", 2, "inl_outer#0/inl_plain#0"},
        {"inl_plain", "!inl_*", "inl_eager#0", 2, "inl_eager#0"},
        {"inl_plain#0", NULL, "!inl_*", 1, ""},
        {" inl_plain#0 , !inl_outer ", "", "", 4, "inl_plain#0,inl_eager#0,inl_outer#0/inl_eager#0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        EXPECT_OK(bg_override_eager(rows[i].program));
        if (rows[i].environment != NULL)
            setenv("BG_EAGER_OPS", rows[i].environment, 1);
        expect_eager(f, OPTIONS(.eager_ops = rows[i].own), rows[i].breaks, rows[i].eager);
        unsetenv("BG_EAGER_OPS");
    }
    EXPECT_OK(bg_override_eager(NULL));
}

FIXTURE_TEST(test_malformed_patterns)
{
    static const char *const patterns[] = {"!", "a,!", "a b", "rope#", "rope#03", "/a", "a/"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        EXPECT_NO_CAPTURE(pass, f, f->stream, OPTIONS(.eager_ops = patterns[i]), BG_ERROR_INVALID_ARGUMENT,
                          "options.eager_ops", "is not a pattern");
    expect_eager(f, NULL, 3, EAGER);
}

/* What is declared eager is captured; what is named is not. */
FIXTURE_TEST(test_inline)
{
    OWN_GRAPH(graph, capture(f, OPTIONS(.inline_eager = true)));
    EXPECT_COUNTS(graph, 1, 0, -1); /* no break by bg_break, either */
    assert_int_equal(info_of(graph).calls, 5);
    assert_int_equal(info_of(graph).kernel_nodes, 4);
    assert_null(bg_graph_args(graph, "inl_eager#0", sizeof(inl_eager_args)));

    expect_eager(f, OPTIONS(.inline_eager = true, .eager_ops = "inl_outer/inl_eager"), 1, "inl_outer#0/inl_eager#0");
    expect_eager(f, OPTIONS(.inline_eager = true, .eager_ops = "inl_eager,!inl_eager#0"), 1, "inl_outer#0/inl_eager#0");
    EXPECT_OK(bg_override_eager("inl_eager#0"));
    expect_eager(f, OPTIONS(.inline_eager = true), 1, "inl_eager#0");
    EXPECT_OK(bg_override_eager(NULL));
}

/* The debug modes run all eagerly all the same. */
FIXTURE_TEST(test_inline_under_debug_modes)
{
    static const char *const modes[] = {"forward", "ops", "sync"};
    static const int breaks[] = {1, 3, 0};
    for (int i = 0; i < 3; i++) {
        setenv("BG_DEBUG", modes[i], 1);
        OWN_GRAPH(graph, capture(f, OPTIONS(.inline_eager = true)));
        assert_int_equal(info_of(graph).breaks, breaks[i]);
        unsetenv("BG_DEBUG");
    }
}

FIXTURE_PASS(waiting_pass)
{
    BG_CALL(inl_plain, stream, .x = f->x, .y = f->y);
    BG_CALL(inl_waits, stream, .x = f->y);
    return BG_CALL(inl_plain, stream, .x = f->y, .y = f->z);
}

/* A body that was written for a break does what a capture forbids. */
FIXTURE_TEST(test_inline_body_that_waits)
{
    for (int i = 0; i < 2; i++) {
        bg_graph *graph;
        takes_it = i;
        EXPECT_NO_CAPTURE(waiting_pass, f, f->stream, OPTIONS(.inline_eager = true),
                          takes_it ? BG_ERROR_CAPTURE_INVALID : BG_ERROR_CUDA,
                          "inl_waits is declared eager, but was captured inline", "BG_EAGER_OPS", "call inl_waits#0");
        setenv("BG_BREAKABLE", "0", 1);
        (void)cudaGetLastError(); /* the body's own */
        assert_int_not_equal(bg_capture_forward(&graph, waiting_pass, f, f->stream, NULL), BG_OK);
        EXPECT_ERROR("unset BG_BREAKABLE=0");
        unsetenv("BG_BREAKABLE");
        (void)cudaGetLastError();
        assert_null(graph);
        expect_usable(f, f->stream);
        bg_graph_destroy(CAPTURED_BY(waiting_pass, f, f->stream, NULL));
    }
}
