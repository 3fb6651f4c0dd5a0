/* Captures with a pool: graphs that lie in one place, and what captures take and give back. */
#include "tests/support/runner/pool_graphs.h"

#include <breakgraph/workspace.h>

BG_EAGER_OP(unlucky, BG_INOUT(x))
{
    (void)args;
    (void)stream;
    return BG_ERROR_OP;
}

FIXTURE_TEST(test_graphs_start_from_the_same_base)
{
    bg_graph_info large, small;
    size_t mapped, bytes = LARGEST * sizeof(float);
    OWNED_POOL_GRAPHS(h);

    large = info_of(pool_graphs_add(&h, LARGEST, 1, f->stream));
    mapped = pool_stats(h.pool).mapped;
    small = info_of(pool_graphs_add(&h, LARGEST / 4, 2, f->stream));
    assert_ptr_equal(h.passes[0].first, h.passes[1].first);
    /* Two bridge buffers, scratch, and three blocks of the pass, of which the third is the first again. */
    assert_int_equal(large.pool_bytes, 5 * bytes);
    assert_int_equal(small.pool_bytes, 5 * (bytes / 4 + 192)); /* each to a multiple of 256 */
    assert_int_equal(large.bridge_bytes, 3 * bytes);
    assert_int_equal(pool_stats(h.pool).pinned, 3 * bytes);
    assert_true(pool_stats(h.pool).reused >= bytes);
    assert_true(pool_stats(h.pool).mapped - mapped < bytes); /* no more than its kept output, a page at most */
    assert_true(pool_stats(h.pool).in_use < 2 * bytes + bytes / 4 + 1024);
    pool_graphs_expect(&h, 0);
    pool_graphs_expect(&h, 1);
    for (int i = 0; i < 4; i++)
        pool_graphs_replay(&h, i % 2, f->stream);
}

static bg_status fail_at_break(bg_tensor *x, cudaStream_t stream)
{
    return BG_CALL(unlucky, stream, .x = *x);
}

/* ---- failures ---- */

FIXTURE_TEST(test_failed_captures_give_all_back)
{
    bg_capture *aborted;
    bg_graph *graph;
    bg_pool_stats before;
    void *ptr;
    OWNED_POOL_GRAPHS(h);

    pool_graphs_add(&h, LARGEST, 1, f->stream);
    before = pool_stats(h.pool);
    h.passes[1] = h.passes[0];
    h.passes[1].at_break = fail_at_break;
    EXPECT_STATUS(bg_capture_forward(&graph, pool_pass, &h.passes[1], f->other, OPTIONS(.pool = h.pool)), BG_ERROR_OP);
    assert_int_equal(pool_stats(h.pool).in_use, before.in_use);
    EXPECT_OK(bg_capture_begin(&aborted, f->other, OPTIONS(.pool = h.pool)));
    EXPECT_OK(bg_pool_alloc(h.pool, 1000, &ptr));
    assert_ptr_equal(ptr, h.passes[0].first);
    bg_capture_abort(aborted);
    assert_int_equal(pool_stats(h.pool).in_use, before.in_use);
    EXPECT_INVALID(bg_capture_begin(&aborted, cudaStreamLegacy, OPTIONS(.pool = h.pool)));
    EXPECT_OK(bg__pool_bucket_begin(h.pool, "open"));
    EXPECT_OK(bg__pool_bucket_end(h.pool, NULL)); /* none was left open */
    EXPECT_OK(bg__pool_check(h.pool));
    EXPECT_OK(bg_replay(h.graphs[0], f->stream)); /* after what the failed capture had launched */
    pool_graphs_expect(&h, 0);
}

FIXTURE_TEST(test_the_limit_in_a_capture)
{
    pool_sized s = {.count = N, .factor = 1, .x = f->x, .out = f->y};
    bg_graph *large;
    OWNED_POOL(pool);
    OWNED_GRAPH(graph);

    EXPECT_OK(bg_pool_create(&pool, POOL_OPTIONS(.limit_bytes = (size_t)4 << 20)));
    s.pool = pool;
    put(&f->x, 1);
    graph = pool_capture(&s, "small", f->stream);
    pool_more_scratch = (size_t)8 << 20;
    EXPECT_FAILS(bg_capture_forward(&large, pool_pass, &s, f->stream, OPTIONS(.pool = pool, .name = "tokens-4096")),
                 BG_ERROR_OUT_OF_MEMORY, "doubled#0");
    EXPECT_ERROR("bucket tokens-4096");
    EXPECT_ERROR("limit_bytes");
    pool_more_scratch = 0;
    put(&f->y, -1);
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_true(get(&f->y) == 22);
}

/* What a body asks for beyond what it had at capture does not belong to the pool, whose bucket is closed. */
FIXTURE_TEST(test_more_scratch_in_a_replay)
{
    bg_pool_stats before;
    OWNED_POOL_GRAPHS(h);

    pool_graphs_add(&h, LARGEST, 1, f->stream);
    pool_graphs_add(&h, LARGEST / 2, 3, f->stream);
    before = pool_stats(h.pool);
    pool_more_scratch = 4 * LARGEST * sizeof(float);
    for (int i = 0; i < 4; i++)
        pool_graphs_replay(&h, i % 2, f->stream);
    pool_more_scratch = 0;
    assert_int_equal(pool_stats(h.pool).mapped, before.mapped);
    assert_int_equal(pool_stats(h.pool).in_use, before.in_use);
    assert_true(info_of(h.graphs[0]).bridge_bytes > info_of(h.graphs[0]).pool_bytes);
}

/* Memory is mapped, and that of another pool unmapped, while the stream captures. */
FIXTURE_TEST(test_growth_in_each_mode)
{
    static const enum cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeGlobal,
                                                       cudaStreamCaptureModeRelaxed};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        bg_pool *other = pool_make(POOL_RESERVE, 0);
        bg_tensor kept = pool_keep(other, N), block = f->x;
        bg_capture *capture;
        size_t mapped;
        OWNED_POOL(pool);
        OWNED_GRAPH(graph);

        pool = pool_make(POOL_RESERVE, 0);
        put(&f->x, 3);
        put(&kept, 4);
        EXPECT_OK(bg_capture_begin(&capture, f->stream, OPTIONS(.pool = pool, .mode = modes[i])));
        mapped = pool_stats(pool).mapped;
        EXPECT_OK(bg_pool_alloc(pool, (size_t)5 << 20, &block.data));
        assert_true(pool_stats(pool).mapped > mapped);
        EXPECT_OK(BG_CALL(pool_scale, f->stream, .x = f->x, .y = block, .factor = 2));
        bg_pool_destroy(other);
        EXPECT_OK(BG_CALL(pool_scale, f->stream, .x = block, .y = f->y, .factor = 5));
        EXPECT_OK(bg_capture_end(capture, &graph));
        assert_true(get(&f->y) == 30);
        put(&f->x, 1);
        EXPECT_OK(bg_replay(graph, f->stream));
        assert_true(get(&f->y) == 10);
    }
}

/* A library's workspace that is first asked for in a capture, even one that fails, is no block of its bucket. */
FIXTURE_TEST(test_workspaces_outlive_their_capture)
{
    bg_pool *pool = pool_make(POOL_RESERVE, 0);
    bg_capture *capture;
    void *block, *workspaces[2], *again;

    EXPECT_OK(bg_capture_begin(&capture, f->stream, OPTIONS(.pool = pool)));
    EXPECT_OK(bg_pool_alloc(pool, KIB, &block));
    for (int i = 0; i < 2; i++)
        EXPECT_OK(bg_workspace_in(&workspaces[i], pool, KIB, &workspaces[i]));
    bg_workspace_release(&workspaces[1]);
    bg_capture_abort(capture);
    EXPECT_OK(bg__pool_check(pool));
    assert_int_equal(pool_stats(pool).in_use, KIB);
    EXPECT_OK(bg_workspace_in(&workspaces[0], pool, KIB, &again));
    assert_ptr_equal(again, workspaces[0]);
    assert_ptr_equal(pool_take(pool, KIB), workspaces[1]);
    bg_pool_destroy(pool);
    bg_workspace_release(&workspaces[0]); /* it went with the pool */
}

/* ---- a bucket that someone else has opened, and debug modes ---- */

FIXTURE_TEST(test_a_capture_in_an_open_bucket)
{
    bg__bucket_stats figures;
    void *first;
    OWNED_POOL_GRAPHS(h);

    h.passes[1] = *pool_graphs_next(&h, LARGEST, 3);
    pool_graphs_next(&h, LARGEST, 1);
    EXPECT_OK(bg__pool_bucket_begin(h.pool, "tokens-64"));
    EXPECT_OK(bg_pool_alloc(h.pool, 1, &first));
    for (int i = 0; i < 2; i++)
        pool_graphs_capture(&h, f->stream);
    EXPECT_OK(bg__pool_bucket_end(h.pool, &figures));
    assert_int_equal(figures.bytes, info_of(h.graphs[1]).pool_bytes);
    assert_true(info_of(h.graphs[0]).pool_bytes < figures.bytes);
    assert_int_equal(figures.pinned, 6 * LARGEST * sizeof(float));
    assert_true((char *)h.passes[0].first > (char *)first);
    for (int i = 0; i < 4; i++) {
        EXPECT_OK(bg_replay(h.graphs[i % 2], f->stream));
        pool_graphs_expect(&h, i % 2);
    }
}

FIXTURE_TEST(test_debug_modes)
{
    static const bg_debug modes[] = {BG_DEBUG_FORWARD, BG_DEBUG_OPS, BG_DEBUG_SYNC};
    OWNED_POOL_GRAPHS(h);

    pool_graphs_add(&h, LARGEST, 1, f->stream);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        pool_sized *s = pool_graphs_next(&h, LARGEST / 2, (float)(i + 2));
        EXPECT_OK(bg_capture_forward(&h.graphs[h.count++], pool_pass, s, f->stream,
                                     OPTIONS(.pool = h.pool, .debug = modes[i])));
        pool_graphs_expect(&h, (int)i + 1);
    }
    for (int i = 0; i < 8; i++)
        pool_graphs_replay(&h, i % 4, f->stream);
    EXPECT_OK(bg__pool_check(h.pool));
}

/* Nothing runs at capture; the first replay is the first pass. */
FIXTURE_TEST(test_without_launching)
{
    pool_sized *s;
    OWNED_POOL_GRAPHS(h);

    pool_graphs_add(&h, LARGEST, 1, f->stream);
    s = pool_graphs_next(&h, LARGEST, 3);
    EXPECT_OK(bg_replay(h.graphs[0], f->other));
    EXPECT_OK(bg_capture_forward(&h.graphs[h.count++], pool_pass, s, f->stream,
                                 OPTIONS(.pool = h.pool, .launch_segments = false, .worker_threads = 2)));
    EXPECT_OK(bg_replay(h.graphs[1], f->stream));
    EXPECT_OK(bg_replay(h.graphs[0], f->other));
    pool_graphs_expect(&h, 0);
    pool_graphs_expect(&h, 1);
}
