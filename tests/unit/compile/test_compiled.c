/* Passes that compile themselves (bg_compile), compilers of the program's own, and the removal of no-ops. */
#include "tests/support/runner/shared.h"

BG_OP(times, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}

BG_OP(times_twice, BG_IN(x), BG_OUT(y), BG_OUT(z), BG_VALUE(float, first), BG_VALUE(float, second))
{
    TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, args->first, N, stream)));
    return from_cuda(bgk_scale(args->z.data, args->x.data, args->first * args->second, N, stream));
}

BG_RULE(times_twice, times, times)
{
    if (a1->x.data != a0->y.data)
        return false;
    *args = (times_twice_args){.x = a0->x, .y = a0->y, .z = a1->y, .first = a0->factor, .second = a1->factor};
    return true;
}

static int forwards; /* how often forward has run */
static bool fails;

static bg_status forward(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    forwards++;
    if (fails)
        return BG_ERROR_OP;
    BG_CALL(times, stream, .x = f->x, .y = f->y, .factor = 2);
    return BG_CALL(times, stream, .x = f->y, .y = f->z, .factor = 3);
}

static void destroy_compiled(bg_compiled **compiled)
{
    bg_compiled_destroy(*compiled);
}
#define OWNED_COMPILED(name) OWNED(bg_compiled *, name, destroy_compiled)

static float run(fixture *f, bg_compiled *compiled, float x)
{
    put(&f->x, x);
    EXPECT_OK(bg_compiled_run(compiled, f->stream));
    return get(&f->z);
}

/* ---- bg_compile ---- */

FIXTURE_TEST(test_flag)
{
    OWNED_COMPILED(compiled);
    bg_compile_info info = BG_COMPILE_INFO_INIT;
    forwards = 0;
    EXPECT_OK(bg_compile(&compiled, forward, f, NULL));
    assert_null(bg_compiled_graph(compiled));
    assert_true(run(f, compiled, 1) == 6); /* off: forward itself */
    assert_null(bg_compiled_graph(compiled));
    BG_COMPILED(true)
    {
        assert_true(run(f, compiled, 2) == 12); /* the capture is a run */
        assert_true(run(f, compiled, 3) == 18);
        assert_int_equal(forwards, 2);
        BG_COMPILED(false)
        {
            assert_true(run(f, compiled, 4) == 24);
            break;
        }
        assert_int_equal(forwards, 3);
        assert_true(run(f, compiled, 5) == 30);
        assert_int_equal(forwards, 3);
    }
    assert_false(bg_compiled_set(true));
    assert_true(bg_compiled_set(false));
    assert_non_null(bg_compiled_graph(compiled));
    EXPECT_OK(bg_graph_get_compile_info(bg_compiled_graph(compiled), &info));
    assert_int_equal(info.level, BG_LEVEL_PIECEWISE);
    assert_int_equal(info.fusions, 1); /* a GPU may find it slower */
    bg_compiled_destroy(NULL);
}

/* Inside a capture it is forward, and its calls are the capture's. */
FIXTURE_TEST(test_inside_captures)
{
    OWNED_COMPILED(compiled);
    OWNED_GRAPH(graph);
    OWNED_CUDA_GRAPH(cuda);
    size_t nodes = 0;
    EXPECT_OK(bg_compile(&compiled, forward, f, NULL));
    BG_COMPILED(true)
    {
        EXPECT_OK(bg_capture_forward(&graph, bg_compiled_run, compiled, f->stream, NULL));
        assert_null(bg_compiled_graph(compiled));
        assert_int_equal(info_of(graph).calls, 2);
        EXPECT_OK(bg_forward_run(bg_compiled_run, compiled, f->stream, NULL));
        assert_null(bg_compiled_graph(compiled));
        EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
        EXPECT_OK(bg_compiled_run(compiled, f->stream));
        EXPECT_CUDA(cudaStreamEndCapture(f->stream, &cuda));
        assert_null(bg_compiled_graph(compiled));
        EXPECT_CUDA(cudaGraphGetNodes(cuda, NULL, &nodes));
        assert_int_equal(nodes, 2);
    }
}

FIXTURE_TEST(test_failures)
{
    OWNED_COMPILED(compiled);
    EXPECT_INVALID(bg_compile(NULL, forward, f, NULL));
    EXPECT_INVALID(bg_compile(&compiled, NULL, f, NULL));
    EXPECT_INVALID(bg_compile(&compiled, forward, f, OPTIONS(.level = -2)));
    EXPECT_INVALID(bg_compiled_run(NULL, f->stream));
    EXPECT_OK(bg_compile(&compiled, forward, f, OPTIONS(.level = BG_LEVEL_NONE, .launch_segments = false)));
    BG_COMPILED(true)
    {
        fails = true;
        EXPECT_STATUS(bg_compiled_run(compiled, f->stream), BG_ERROR_OP);
        fails = false;
        assert_null(bg_compiled_graph(compiled));
        assert_true(run(f, compiled, 2) == 12); /* captured, and then replayed */
        assert_true(run(f, compiled, 3) == 18);
    }
    expect_usable(f, f->stream);
}

/* ---- compilers ---- */

typedef struct seen {
    int pieces, calls, rows;
    size_t nodes;
    bool fails;
} seen;

static bg_status look(void *user, bg_piece *piece)
{
    static const bg_pass *const passes[] = {&bg_pass_rules};
    seen *s = user;
    s->pieces++;
    s->calls = bg_piece_calls(piece);
    s->nodes = bg_piece_nodes(piece);
    s->rows = bg_piece_rows(piece);
    EXPECT_TEXT(bg_piece_name(piece), "segment 0 of");
    assert_non_null(bg_piece_graph(piece));
    return s->fails ? BG_ERROR_OP : bg_passes_run(passes, 1, piece);
}

static bg_graph *capture(fixture *f, bg_status expected)
{
    bg_graph *graph = NULL;
    EXPECT_STATUS(bg_capture_forward(&graph, forward, f, f->stream, OPTIONS(.level = BG_LEVEL_ONCE)), expected);
    return graph;
}

FIXTURE_TEST(test_compilers)
{
    seen s = {0};
    bg_compiler own = {sizeof own, "own", look, &s}, bad = own;
    OWNED_GRAPH(plain);
    OWNED_GRAPH(graph);
    assert_null(bg_compiler_find("nvrtc"));
    assert_null(bg_compiler_find(NULL));
    EXPECT_OK(bg_compiler_set(bg_compiler_find("none")));
    plain = capture(f, BG_OK);
    assert_int_equal(info_of(plain).nodes, 2);
    EXPECT_OK(bg_compiler_set(&own));
    graph = capture(f, BG_OK);
    assert_int_equal(info_of(graph).nodes, 2); /* the op launches two kernels */
    assert_int_equal(s.pieces, 1);
    assert_int_equal(s.calls, 2);
    assert_int_equal(s.nodes, 2);
    assert_int_equal(s.rows, N);
    s.fails = true;
    assert_null(capture(f, BG_ERROR_OP));
    expect_usable(f, f->stream);
    bad.compile = NULL;
    EXPECT_INVALID(bg_compiler_set(&bad));
    bad.struct_size = 1;
    EXPECT_INVALID(bg_compiler_set(&bad));
    EXPECT_OK(bg_compiler_set(NULL));
}

/* ---- no-ops ---- */

static bg_status forward_with_no_op(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    BG_CALL(times, stream, .x = f->x, .y = f->y, .factor = 2);
    EXPECT_CUDA(cudaMemcpyAsync(f->y.data, f->y.data, bg_tensor_bytes(&f->y), cudaMemcpyDeviceToDevice, stream));
    return BG_CALL(times, stream, .x = f->y, .y = f->z, .factor = 5);
}

FIXTURE_TEST(test_no_ops)
{
    for (int level = BG_LEVEL_NONE; level <= BG_LEVEL_ONCE; level++) {
        OWNED_GRAPH(graph);
        EXPECT_OK(bg_capture_forward(&graph, forward_with_no_op, f, f->stream, OPTIONS(.level = level)));
        assert_int_equal(info_of(graph).nodes, level == BG_LEVEL_ONCE ? 2 : 3);
        put(&f->x, 3);
        EXPECT_OK(bg_replay(graph, f->stream));
        assert_true(get(&f->z) == 30);
    }
}

static bg_status forward_with_join(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    EXPECT_OK(bg_stream_wait_stream(f->other, stream));
    BG_CALL(times, stream, .x = f->x, .y = f->y, .factor = 2);
    EXPECT_CUDA(cudaMemcpyAsync(f->y.data, f->y.data, bg_tensor_bytes(&f->y), cudaMemcpyDeviceToDevice, stream));
    BG_CALL(times, f->other, .x = f->x, .y = f->z, .factor = 3);
    EXPECT_OK(bg_stream_wait_stream(stream, f->other));
    return BG_CALL(times, stream, .x = f->y, .y = f->z, .factor = 5);
}

/* The last op waits for another one, too: it gets an edge from what the no-op has waited for. */
FIXTURE_TEST(test_no_op_before_a_join)
{
    bg_report *report = NULL;
    OWNED_GRAPH(graph);

    EXPECT_OK(bg_capture_forward(&graph, forward_with_join, f, f->stream, OPTIONS(.level = BG_LEVEL_ONCE)));
    assert_int_equal(info_of(graph).nodes, 3);
    EXPECT_OK(bg_check(graph, BG_CHECK_ALL, &report));
    assert_int_equal(bg_report_count(report), 0);
    bg_report_destroy(report);
}
