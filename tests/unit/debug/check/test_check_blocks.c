/* Checks of addresses in blocks of other allocators, and in those of a pool. */
#include "tests/support/test.h"
#include "tests/support/tools/checked_graphs.h"

#include "memory/pool.h"
#include <stdlib.h>
#include <string.h>

TEST_VARIABLE(HOSTCUDA_MEMORY, "reuse");

/* ---- blocks of other allocators ---- */

FIXTURE_TEST(test_registered)
{
    OWN_MEMORY(char, arena, allocate((size_t)16 * BYTES));
    char *first = arena + BYTES, *second = arena + (size_t)2 * BYTES;
    EXPECT_OK(bg_ledger_alloc(first, BYTES, "kv"));
    EXPECT_OK(bg_ledger_alloc(second, BYTES, "other"));
    OWN_GRAPH(graph, check_capture(f, first));
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    EXPECT_OK(bg_ledger_free(second)); /* another one */
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    EXPECT_OK(bg_ledger_free(first));
    EXPECT_FOUND(graph, ADDRESSES, "freed", "scale#0", scale_line,
                 "x of scale|block \"kv\" of 256 bytes|was freed after the capture", first);
    EXPECT_OK(bg_ledger_alloc(second, BYTES, "kv")); /* the allocator moved it */
    EXPECT_FOUND(graph, ADDRESSES, "moved", "scale#0", scale_line, "now in block \"kv\" of 256 bytes", first);
    EXPECT_OK(bg_ledger_alloc(first, 2 * BYTES - BYTES, "logits"));
    EXPECT_FOUND(graph, ADDRESSES, "reused", "scale#0", scale_line, "now in block \"logits\"", first);
    EXPECT_OK(bg_ledger_free(first));
    EXPECT_OK(bg_ledger_alloc(first, 100, "logits"));
    EXPECT_FOUND(graph, ADDRESSES, "shrunk", "scale#0", scale_line, "block \"logits\" of 100 bytes", first);
    EXPECT_OK(bg_ledger_free(first));
    EXPECT_OK(bg_ledger_alloc(arena + 64, BYTES + 64, "wide"));
    EXPECT_FOUND(graph, ADDRESSES, "moved", "scale#0", scale_line, "block \"wide\" of 320 bytes", first);
    EXPECT_OK(bg_ledger_free(arena + 64));
    EXPECT_OK(bg_ledger_free(second));
}

FIXTURE_TEST(test_registered_bounds)
{
    char *arena = allocate((size_t)16 * BYTES);
    EXPECT_OK(bg_ledger_alloc(arena, BYTES - 8, "kv")); /* the allocation goes on, the block does not */
    OWN_GRAPH(graph, check_capture(f, arena));
    EXPECT_FOUND(graph, ADDRESSES, "out-of-range", "scale#0", scale_line,
                 "extends 8 bytes beyond its allocation|in block \"kv\" of 248 bytes", arena);
    EXPECT_OK(bg_ledger_free(arena));
    EXPECT_OK(bg_ledger_alloc(arena, BYTES, "kv"));
    EXPECT_OK(bg_ledger_free(arena));
    OWN_GRAPH(late, check_capture(f, arena)); /* freed when it was captured */
    EXPECT_FOUND(late, ADDRESSES | OVERLAP, "freed", "scale#0", scale_line, "block \"kv\"|before the capture", arena);
    EXPECT_CUDA(cudaFree(arena));
    OWN_GRAPH(other, check_capture(f, f->x.data));
    EXPECT_CLEAN(other, BG_CHECK_ALL);
}

/* The memory under a block that is not freed. */
FIXTURE_TEST(test_under_registered)
{
    char *arena = allocate((size_t)16 * BYTES);
    EXPECT_OK(bg_ledger_alloc(arena + BYTES, BYTES, "kv"));
    OWN_GRAPH(graph, check_capture(f, arena + BYTES));
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    EXPECT_CUDA(cudaFree(arena));
    EXPECT_FOUND(graph, ADDRESSES, "freed", "scale#0", scale_line, "device allocation of 4096 bytes", arena + BYTES);
    EXPECT_OK(bg_ledger_free(arena + BYTES));
}

/* ---- pools ---- */

static bg_pool *make_pool(void)
{
    bg_pool *pool;
    EXPECT_OK(bg_pool_create(&pool, NULL));
    return pool;
}

static char *take(bg_pool *pool)
{
    void *block;
    EXPECT_OK(bg_pool_alloc(pool, BYTES, &block));
    return block;
}

FIXTURE_TEST(test_kept_block)
{
    bg_pool *pool = make_pool();
    char *block = take(pool);
    OWN_GRAPH(graph, check_capture(f, block));
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    bg_pool_release(pool, block);
    EXPECT_FOUND(graph, ADDRESSES, "freed", "scale#0", scale_line,
                 "pool block of 256 bytes|was freed after the capture", block);
    assert_ptr_equal(take(pool), block);
    EXPECT_FOUND(graph, ADDRESSES, "reused", "scale#0", scale_line, "now in pool block", block);
    bg_pool_destroy(pool);
    EXPECT_FOUND(graph, ADDRESSES, "freed", "scale#0", scale_line, "pool block", block);
}

/* x -> t -> t' -> y, with t' where t was: the pass released it in between. */
static bg_graph *capture_in_pool(fixture *f, bg_pool *pool)
{
    bg_capture *capture = check_begin(f, pool);
    bg_tensor t = check_vector(take(pool)), again;
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = t, .factor = 2));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = t, .y = f->y, .factor = 2));
    bg_pool_release(pool, t.data);
    again = check_vector(take(pool));
    assert_ptr_equal(again.data, t.data);
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->y, .y = again, .factor = 2));
    EXPECT_OK(BG_CALL(shift, f->stream, .x = again, .y = f->z));
    return end_capture(capture);
}

FIXTURE_TEST(test_shared_blocks)
{
    bg_pool *pool = make_pool();
    bg_graph *first = capture_in_pool(f, pool), *second;
    EXPECT_CLEAN(first, BG_CHECK_ALL);
    second = capture_in_pool(f, pool); /* in the same memory */
    check_replay_times(f, first, 1);
    check_replay_times(f, second, 1);
    bg_pool_destroy(pool); /* the graphs keep it */
    EXPECT_CLEAN(first, BG_CHECK_ALL);
    EXPECT_CLEAN(second, BG_CHECK_ALL);
    bg_graph_destroy(second);
    EXPECT_CLEAN(first, BG_CHECK_ALL);
    bg_graph_destroy(first);
}

/* A block that the pass releases before an op gets it. */
FIXTURE_TEST(test_released_too_early)
{
    OWN_POOL(pool, make_pool());
    bg_capture *capture = check_begin(f, pool);
    bg_tensor t = check_vector(take(pool));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = t, .factor = 2));
    bg_pool_release(pool, t.data);
    int line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(scale, f->stream, .x = t, .y = f->y, .factor = 2));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_FOUND(graph, ADDRESSES, "freed", "scale#1", line, "pool block of bucket \"decode\"|before the capture",
                 t.data);
}

/* What the pool cannot do by itself: gives a bridge's memory away. */
static void release_pinned(bg_pool *pool)
{
    bg__extent *extent = pool->arenas[BG__LOW].first;
    while (extent != NULL && extent->state != BG__EXTENT_PINNED)
        extent = extent->next;
    assert_non_null(extent);
    pool->in_use -= extent->bytes;
    pool->figures.pinned -= extent->bytes;
    bg__arena_release(&pool->arenas[BG__LOW], extent);
}

static bg_graph *capture_with_bridge(fixture *f, bg_pool *pool, bool planted, int *line, bg_tensor *other)
{
    bg_capture *capture = check_begin(f, pool);
    shift_args a = {.x = f->x, .y = check_vector(NULL)};
    EXPECT_OK(BG_CALL_ARGS(shift, f->stream, &a));
    if (planted)
        release_pinned(pool);
    *other = check_vector(take(pool));
    assert_true((other->data == a.y.data) == planted);
    EXPECT_OK(CALL_AT(*line, scale, f->stream, .x = f->x, .y = *other, .factor = 2));
    return end_capture(capture);
}

FIXTURE_TEST(test_bridge_given_away)
{
    bg_tensor other;
    int line;
    for (int planted = 0; planted < 2; planted++) {
        OWN_POOL(pool, make_pool());
        OWN_GRAPH(graph, capture_with_bridge(f, pool, planted, &line, &other));
        check_replay_times(f, graph, 1);
        if (planted)
            EXPECT_FOUND(graph, BG_CHECK_ALL & ~ADDRESSES, "reused", "scale#0", line,
                         "y of scale|live bridge buffer of call shift#0|capture: 1", other.data);
        else
            EXPECT_CLEAN(graph, BG_CHECK_ALL);
    }
}

/* A block that the pass has released is a later bridge's to take. */
FIXTURE_TEST(test_bridge_in_released_block)
{
    OWN_POOL(pool, make_pool());
    bg_capture *capture = check_begin(f, pool);
    bg_tensor block = check_vector(take(pool));
    shift_args a = {.x = f->x, .y = check_vector(NULL)};

    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = block, .factor = 2));
    bg_pool_release(pool, block.data);
    EXPECT_OK(BG_CALL_ARGS(shift, f->stream, &a));
    assert_ptr_equal(a.y.data, block.data);
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
}

FIXTURE_TEST(test_bridges_overlap)
{
    for (int planted = 0; planted < 2; planted++) {
        OWN_POOL(pool, make_pool());
        bg_capture *capture = check_begin(f, pool);
        shift_args a = {.x = f->x, .y = check_vector(NULL)}, b = a;
        EXPECT_OK(BG_CALL_ARGS(shift, f->stream, &a));
        if (planted)
            release_pinned(pool);
        EXPECT_OK(BG_CALL_ARGS(shift, f->stream, &b));
        OWN_GRAPH(graph, end_capture(capture));
        OWN_REPORT(report, check_graph(graph, OVERLAP));
        assert_int_equal(bg_report_count(report) > 0, planted);
        if (planted) {
            assert_string_equal(finding_of(report, 0).kind, "overlap");
            EXPECT_IN(finding_of(report, 0).message, "bridge buffer");
        }
    }
}
