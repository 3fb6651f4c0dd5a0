/* Checks of addresses: each bug, and what looks like it but is none. */
#include "tests/support/check_support.h"

#include "memory/pages.h"
#include "memory/pool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = N * sizeof(float), ADDRESSES = BG_CHECK_ADDRESSES, OVERLAP = BG_CHECK_OVERLAP };
enum { OTHERS = BG_CHECK_ALL & ~BG_CHECK_LEAKS }; /* of graphs with ops that leave no work */

BG_OP(scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}

BG_EAGER_OP(shift, BG_IN(x), BG_OUT(y))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, 5, N, stream));
}

/* They touch no memory. */
BG_OP(touch, BG_IN(x), BG_IN(w), BG_INOUT(state))
{
    (void)args;
    (void)stream;
    return BG_OK;
}

BG_OP(split, BG_IN(x), BG_OUTS(parts, 3))
{
    (void)args;
    (void)stream;
    return BG_OK;
}

static bg_tensor vector(void *data)
{
    return bg_tensor_1d(data, BG_F32, N);
}

static bg_capture *begin(fixture *f, bg_pool *pool)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *capture;
    options.pool = pool;
    options.name = "decode";
    EXPECT_OK(bg_capture_begin(&capture, f->stream, &options));
    return capture;
}

static bg_graph *end(bg_capture *capture)
{
    bg_graph *graph;
    EXPECT_OK(bg_capture_end(capture, &graph));
    return graph;
}

static int scale_line, shift_line; /* of the calls below */

/* memory -> y -> z, the second call at a break. */
static bg_graph *capture_of(fixture *f, void *memory)
{
    bg_capture *capture = begin(f, NULL);
    scale_line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(scale, f->stream, .x = vector(memory), .y = f->y, .factor = 3));
    shift_line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(shift, f->stream, .x = f->y, .y = f->z));
    return end(capture);
}

static void replay(fixture *f, bg_graph *graph, int times)
{
    for (int i = 0; i < times; i++)
        EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
}

/* ---- the driver's allocations ---- */

static void test_clean(void **state)
{
    fixture *f = *state;
    bg_graph *graph = capture_of(f, f->x.data);
    char *other = allocate(BYTES);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    replay(f, graph, 3);
    EXPECT_CUDA(cudaFree(other)); /* none of the graph's */
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    bg_graph_destroy(graph);
}

static void test_freed(void **state)
{
    fixture *f = *state;
    char *memory = allocate(BYTES);
    bg_graph *graph = capture_of(f, memory);
    replay(f, graph, 2);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    EXPECT_CUDA(cudaFree(memory));
    EXPECT_FOUND(
        graph, ADDRESSES, "freed", "scale#0", scale_line, memory,
        "x of scale|256 bytes at|device allocation of 256 bytes|allocation id|replays since the capture: 2|was "
        "freed");
    EXPECT_CLEAN(graph, OVERLAP); /* not what it was asked for */
    bg_graph_destroy(graph);
}

static void test_reused(void **state)
{
    fixture *f = *state;
    enum { SIZE = 1 << 20 };
    char *memory = allocate(SIZE);
    bg_graph *graph = capture_of(f, memory + 512);
    replay(f, graph, 1);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    reuse(memory, SIZE);
    EXPECT_FOUND(graph, ADDRESSES, "reused", "scale#0", scale_line, memory + 512,
                 "x of scale|now in device allocation of 1048576 bytes|replays since the capture: 1");
    EXPECT_CUDA(cudaFree(memory));
    bg_graph_destroy(graph);
}

static void test_pinned(void **state)
{
    fixture *f = *state;
    bg_capture *capture;
    bg_graph *graph;
    void *pinned;
    int line;
    EXPECT_CUDA(cudaMallocHost(&pinned, BYTES));
    capture = begin(f, NULL);
    line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(touch, f->stream, .x = vector(pinned), .w = f->y, .state = f->z));
    graph = end(capture);
    EXPECT_CLEAN(graph, OTHERS);
    EXPECT_CUDA(cudaFreeHost(pinned));
    EXPECT_FOUND(graph, ADDRESSES, "freed", "touch#0", line, pinned, "x of touch|pinned host allocation of 256");
    bg_graph_destroy(graph);
}

/* Of pageable memory nothing is known. */
static void test_pageable(void **state)
{
    fixture *f = *state;
    static float here[N];
    bg_capture *capture = begin(f, NULL);
    bg_graph *graph;
    EXPECT_OK(BG_CALL(touch, f->stream, .x = vector(here), .w = f->y, .state = f->z));
    graph = end(capture);
    EXPECT_CLEAN(graph, OTHERS);
    bg_graph_destroy(graph);
}

static void test_out_of_range(void **state)
{
    fixture *f = *state;
    char *memory = allocate(BYTES);
    bg_tensor fits = vector(memory), long_one = bg_tensor_1d(memory + BYTES - 4, BG_F32, 4);
    bg_capture *capture = begin(f, NULL);
    bg_graph *graph;
    int line;
    EXPECT_OK(BG_CALL(touch, f->stream, .x = fits, .w = f->y, .state = f->z));
    line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(touch, f->stream, .x = fits, .w = long_one, .state = f->z));
    graph = end(capture);
    EXPECT_FOUND(graph, ADDRESSES, "out-of-range", "touch#1", line, memory + BYTES - 4,
                 "w of touch|16 bytes at|extends 12 bytes beyond its allocation|in device allocation of 256 bytes");
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaFree(memory));
}

/* An allocation that is a node of the graph itself. */
static void test_memory_nodes(void **state)
{
    fixture *f = *state;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *capture;
    bg_graph *graph;
    void *memory;
    options.check = BG_REPLAY_CHECK_ON;
    EXPECT_OK(bg_capture_begin(&capture, f->stream, &options));
    EXPECT_CUDA(cudaMallocAsync(&memory, BYTES, f->stream));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = vector(memory), .factor = 2));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = vector(memory), .y = f->y, .factor = 2));
    EXPECT_CUDA(cudaFreeAsync(memory, f->stream));
    graph = end(capture);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    replay(f, graph, 2);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    bg_graph_destroy(graph);
}

/* ---- mapped memory ---- */

static bg_graph *capture_of_bytes(fixture *f, void *memory, size_t bytes)
{
    bg_capture *capture = begin(f, NULL);
    scale_line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(touch, f->stream, .x = bg_tensor_1d(memory, BG_U8, (int64_t)bytes), .w = f->y, .state = f->z));
    return end(capture);
}

static void unmap_last(bg__pages *pages)
{
    bg__mapped_end *low = &pages->ends[BG__LOW];
    size_t step = low->steps[--low->count];
    low->bytes -= step;
    assert_int_equal(pages->unmap((CUdeviceptr)(uintptr_t)(pages->base + low->bytes), step), CUDA_SUCCESS);
}

static void test_shrunk(void **state)
{
    fixture *f = *state;
    bg__pages pages;
    bg_graph *graph, *short_graph;
    size_t page;
    EXPECT_OK(bg__pages_init(&pages, 0, (size_t)64 << 20, 0));
    page = pages.granularity;
    EXPECT_OK(bg__pages_grow(&pages, BG__LOW, 2 * page));
    graph = capture_of_bytes(f, pages.base, 2 * page);
    EXPECT_CLEAN(graph, OTHERS);
    unmap_last(&pages);
    EXPECT_FOUND(graph, ADDRESSES, "freed", "touch#0", scale_line, pages.base, "x of touch");
    EXPECT_OK(bg__pages_grow(&pages, BG__LOW, page));
    short_graph = capture_of_bytes(f, pages.base, page);
    EXPECT_FOUND(graph, ADDRESSES, "shrunk", "touch#0", scale_line, pages.base, "x of touch|which is shorter now");
    EXPECT_CLEAN(short_graph, OTHERS);
    bg_graph_destroy(graph);
    bg_graph_destroy(short_graph);
    bg__pages_clear(&pages);
}

/* A tensor across mappings that make one range. */
static void test_shrunk_behind(void **state)
{
    fixture *f = *state;
    bg__pages pages;
    bg_graph *graph;
    size_t page;
    EXPECT_OK(bg__pages_init(&pages, 0, (size_t)64 << 20, 0));
    page = pages.granularity;
    EXPECT_OK(bg__pages_grow(&pages, BG__LOW, page));
    EXPECT_OK(bg__pages_grow(&pages, BG__LOW, 3 * page));
    graph = capture_of_bytes(f, pages.base + 16, 3 * page - 16);
    EXPECT_CLEAN(graph, OTHERS);
    unmap_last(&pages);
    EXPECT_FOUND(graph, ADDRESSES, "shrunk", "touch#0", scale_line, pages.base + page,
                 "x of touch|was unmapped in part after the capture");
    bg_graph_destroy(graph);
    EXPECT_OK(bg__pages_grow(&pages, BG__LOW, 2 * page));
    graph = capture_of_bytes(f, pages.base, 2 * page + 1);
    EXPECT_FOUND(graph, ADDRESSES, "out-of-range", "touch#0", scale_line, pages.base + page,
                 "x of touch|extends 1 byte beyond");
    bg_graph_destroy(graph);
    bg__pages_clear(&pages);
}

/* ---- blocks of other allocators ---- */

static void test_registered(void **state)
{
    fixture *f = *state;
    char *arena = allocate((size_t)16 * BYTES);
    char *first = arena + BYTES, *second = arena + (size_t)2 * BYTES;
    bg_graph *graph;
    EXPECT_OK(bg_ledger_alloc(first, BYTES, "kv"));
    EXPECT_OK(bg_ledger_alloc(second, BYTES, "other"));
    graph = capture_of(f, first);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    EXPECT_OK(bg_ledger_free(second)); /* another one */
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    EXPECT_OK(bg_ledger_free(first));
    EXPECT_FOUND(graph, ADDRESSES, "freed", "scale#0", scale_line, first,
                 "x of scale|block \"kv\" of 256 bytes|was freed after the capture");
    EXPECT_OK(bg_ledger_alloc(second, BYTES, "kv")); /* the allocator moved it */
    EXPECT_FOUND(graph, ADDRESSES, "moved", "scale#0", scale_line, first, "now in block \"kv\" of 256 bytes");
    EXPECT_OK(bg_ledger_alloc(first, 2 * BYTES - BYTES, "logits"));
    EXPECT_FOUND(graph, ADDRESSES, "reused", "scale#0", scale_line, first, "now in block \"logits\"");
    EXPECT_OK(bg_ledger_free(first));
    EXPECT_OK(bg_ledger_alloc(first, 100, "logits"));
    EXPECT_FOUND(graph, ADDRESSES, "shrunk", "scale#0", scale_line, first, "block \"logits\" of 100 bytes");
    EXPECT_OK(bg_ledger_free(first));
    EXPECT_OK(bg_ledger_alloc(arena + 64, BYTES + 64, "wide"));
    EXPECT_FOUND(graph, ADDRESSES, "moved", "scale#0", scale_line, first, "block \"wide\" of 320 bytes");
    EXPECT_OK(bg_ledger_free(arena + 64));
    EXPECT_OK(bg_ledger_free(second));
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaFree(arena));
}

static void test_registered_bounds(void **state)
{
    fixture *f = *state;
    char *arena = allocate((size_t)16 * BYTES);
    bg_graph *graph;
    EXPECT_OK(bg_ledger_alloc(arena, BYTES - 8, "kv")); /* the allocation goes on, the block does not */
    graph = capture_of(f, arena);
    EXPECT_FOUND(graph, ADDRESSES, "out-of-range", "scale#0", scale_line, arena,
                 "extends 8 bytes beyond its allocation|in block \"kv\" of 248 bytes");
    bg_graph_destroy(graph);
    EXPECT_OK(bg_ledger_free(arena));
    EXPECT_OK(bg_ledger_alloc(arena, BYTES, "kv"));
    EXPECT_OK(bg_ledger_free(arena));
    graph = capture_of(f, arena); /* freed when it was captured */
    EXPECT_FOUND(graph, ADDRESSES | OVERLAP, "freed", "scale#0", scale_line, arena, "block \"kv\"|before the capture");
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaFree(arena));
    graph = capture_of(f, f->x.data);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    bg_graph_destroy(graph);
}

/* The memory under a block that is not freed. */
static void test_under_registered(void **state)
{
    fixture *f = *state;
    char *arena = allocate((size_t)16 * BYTES);
    bg_graph *graph;
    EXPECT_OK(bg_ledger_alloc(arena + BYTES, BYTES, "kv"));
    graph = capture_of(f, arena + BYTES);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    EXPECT_CUDA(cudaFree(arena));
    EXPECT_FOUND(graph, ADDRESSES, "freed", "scale#0", scale_line, arena + BYTES, "device allocation of 4096 bytes");
    EXPECT_OK(bg_ledger_free(arena + BYTES));
    bg_graph_destroy(graph);
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

static void test_kept_block(void **state)
{
    fixture *f = *state;
    bg_pool *pool = make_pool();
    char *block = take(pool);
    bg_graph *graph = capture_of(f, block);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    bg_pool_release(pool, block);
    EXPECT_FOUND(graph, ADDRESSES, "freed", "scale#0", scale_line, block,
                 "pool block of 256 bytes|was freed after the capture");
    assert_ptr_equal(take(pool), block);
    EXPECT_FOUND(graph, ADDRESSES, "reused", "scale#0", scale_line, block, "now in pool block");
    bg_pool_destroy(pool);
    EXPECT_FOUND(graph, ADDRESSES, "freed", "scale#0", scale_line, block, "pool block");
    bg_graph_destroy(graph);
}

/* x -> t -> t' -> y, with t' where t was: the pass released it in between. */
static bg_graph *capture_in_pool(fixture *f, bg_pool *pool)
{
    bg_capture *capture = begin(f, pool);
    bg_tensor t = vector(take(pool)), again;
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = t, .factor = 2));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = t, .y = f->y, .factor = 2));
    bg_pool_release(pool, t.data);
    again = vector(take(pool));
    assert_ptr_equal(again.data, t.data);
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->y, .y = again, .factor = 2));
    EXPECT_OK(BG_CALL(shift, f->stream, .x = again, .y = f->z));
    return end(capture);
}

static void test_shared_blocks(void **state)
{
    fixture *f = *state;
    bg_pool *pool = make_pool();
    bg_graph *first = capture_in_pool(f, pool), *second;
    EXPECT_CLEAN(first, BG_CHECK_ALL);
    second = capture_in_pool(f, pool); /* in the same memory */
    replay(f, first, 1);
    replay(f, second, 1);
    bg_pool_destroy(pool); /* the graphs keep it */
    EXPECT_CLEAN(first, BG_CHECK_ALL);
    EXPECT_CLEAN(second, BG_CHECK_ALL);
    bg_graph_destroy(second);
    EXPECT_CLEAN(first, BG_CHECK_ALL);
    bg_graph_destroy(first);
}

/* A block that the pass releases before an op gets it. */
static void test_released_too_early(void **state)
{
    fixture *f = *state;
    bg_pool *pool = make_pool();
    bg_capture *capture = begin(f, pool);
    bg_tensor t = vector(take(pool));
    bg_graph *graph;
    int line;
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = t, .factor = 2));
    bg_pool_release(pool, t.data);
    line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(scale, f->stream, .x = t, .y = f->y, .factor = 2));
    graph = end(capture);
    EXPECT_FOUND(graph, ADDRESSES, "freed", "scale#1", line, t.data,
                 "pool block of bucket \"decode\"|before the capture");
    bg_graph_destroy(graph);
    bg_pool_destroy(pool);
}

/* What the pool cannot do by itself: gives a bridge's memory away. */
static void release_pinned(bg_pool *pool)
{
    bg__extent *extent = pool->arenas[BG__LOW].first;
    while (extent != NULL && extent->state != BG__PINNED)
        extent = extent->next;
    assert_non_null(extent);
    pool->in_use -= extent->bytes;
    pool->figures.pinned -= extent->bytes;
    bg__arena_release(&pool->arenas[BG__LOW], extent);
}

static bg_graph *capture_with_bridge(fixture *f, bg_pool *pool, bool planted, int *line, bg_tensor *other)
{
    bg_capture *capture = begin(f, pool);
    shift_args a = {.x = f->x, .y = vector(NULL)};
    EXPECT_OK(BG_CALL_ARGS(shift, f->stream, &a));
    if (planted)
        release_pinned(pool);
    *other = vector(take(pool));
    assert_true((other->data == a.y.data) == planted);
    *line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = *other, .factor = 2));
    return end(capture);
}

static void test_bridge_given_away(void **state)
{
    fixture *f = *state;
    bg_tensor other;
    int line;
    for (int planted = 0; planted < 2; planted++) {
        bg_pool *pool = make_pool();
        bg_graph *graph = capture_with_bridge(f, pool, planted, &line, &other);
        replay(f, graph, 1);
        if (planted)
            EXPECT_FOUND(graph, BG_CHECK_ALL & ~ADDRESSES, "reused", "scale#0", line, other.data,
                         "y of scale|live bridge buffer of call shift#0|capture: 1");
        else
            EXPECT_CLEAN(graph, BG_CHECK_ALL);
        bg_graph_destroy(graph);
        bg_pool_destroy(pool);
    }
}

/* A block that the pass has released is a later bridge's to take. */
static void test_bridge_in_released_block(void **state)
{
    fixture *f = *state;
    bg_pool *pool = make_pool();
    bg_capture *capture = begin(f, pool);
    bg_tensor block = vector(take(pool));
    shift_args a = {.x = f->x, .y = vector(NULL)};
    bg_graph *graph;

    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = block, .factor = 2));
    bg_pool_release(pool, block.data);
    EXPECT_OK(BG_CALL_ARGS(shift, f->stream, &a));
    assert_ptr_equal(a.y.data, block.data);
    graph = end(capture);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    bg_graph_destroy(graph);
    bg_pool_destroy(pool);
}

static void test_bridges_overlap(void **state)
{
    fixture *f = *state;
    for (int planted = 0; planted < 2; planted++) {
        bg_pool *pool = make_pool();
        bg_capture *capture = begin(f, pool);
        shift_args a = {.x = f->x, .y = vector(NULL)}, b = a;
        bg_report *report;
        bg_finding finding = BG_FINDING_INIT;
        bg_graph *graph;
        EXPECT_OK(BG_CALL_ARGS(shift, f->stream, &a));
        if (planted)
            release_pinned(pool);
        EXPECT_OK(BG_CALL_ARGS(shift, f->stream, &b));
        graph = end(capture);
        EXPECT_OK(bg_check(graph, OVERLAP, &report));
        assert_int_equal(bg_report_count(report) > 0, planted);
        if (planted) {
            EXPECT_OK(bg_report_get(report, 0, &finding));
            assert_string_equal(finding.kind, "overlap");
            assert_non_null(strstr(finding.message, "bridge buffer"));
        }
        bg_report_destroy(report);
        bg_graph_destroy(graph);
        bg_pool_destroy(pool);
    }
}

/* ---- one call's tensors ---- */

static void test_overlap(void **state)
{
    fixture *f = *state;
    char *memory = allocate((size_t)4 * BYTES);
    bg_tensor whole = vector(memory), half = vector(memory + BYTES / 2), apart = vector(memory + (size_t)2 * BYTES);
    bg_capture *capture = begin(f, NULL);
    bg_graph *graph;
    int line;
    EXPECT_OK(BG_CALL(scale, f->stream, .x = whole, .y = whole, .factor = 2));   /* in place */
    EXPECT_OK(BG_CALL(scale, f->stream, .x = whole, .y = apart, .factor = 2));   /* side by side */
    EXPECT_OK(BG_CALL(touch, f->stream, .x = whole, .w = half, .state = apart)); /* read alone */
    graph = end(capture);
    EXPECT_CLEAN(graph, OTHERS);
    bg_graph_destroy(graph);
    capture = begin(f, NULL);
    line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(scale, f->stream, .x = whole, .y = half, .factor = 2));
    graph = end(capture);
    EXPECT_FOUND(graph, OVERLAP, "overlap", "scale#0", line, half.data,
                 "x of scale#0 and y of scale#0 share 128 bytes");
    EXPECT_CLEAN(graph, ADDRESSES);
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaFree(memory));
}

static void test_outputs_overlap(void **state)
{
    fixture *f = *state;
    bg_capture *capture = begin(f, NULL);
    split_args a = {.x = f->x, .parts = {f->z, f->y, vector(NULL)}};
    bg_graph *graph;
    int line;
    EXPECT_OK(BG_CALL_ARGS(split, f->stream, &a));
    a.parts[2] = f->z;
    line = __LINE__ + 1;
    EXPECT_OK(BG_CALL_ARGS(split, f->stream, &a));
    graph = end(capture);
    EXPECT_FOUND(graph, OVERLAP, "overlap", "split#1", line, f->z.data,
                 "parts[0] of split#1 and parts[2] of split#1 share 256 bytes|writes both");
    bg_graph_destroy(graph);
}

/* ---- eager calls ---- */

static void test_eager_arguments(void **state)
{
    fixture *f = *state;
    char *old = allocate(BYTES), *fresh = allocate(BYTES);
    bg_capture *capture = begin(f, NULL);
    shift_args *stored;
    bg_graph *graph;
    int line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(shift, f->stream, .x = vector(old), .y = f->y));
    graph = end(capture);
    stored = bg_graph_args(graph, "shift#0", sizeof *stored);
    assert_non_null(stored);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    stored->x.data = fresh;
    EXPECT_CUDA(cudaFree(old)); /* the call uses it no longer */
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    replay(f, graph, 1);
    stored->x.data = old;
    EXPECT_FOUND(graph, ADDRESSES, "freed", "shift#0", line, old, "x of shift|was freed after the capture");
    stored->x.data = fresh + 4;
    EXPECT_FOUND(graph, ADDRESSES, "out-of-range", "shift#0", line, fresh + 4, "x of shift|extends 4 bytes beyond");
    EXPECT_CUDA(cudaFree(fresh));
    stored->x.data = fresh;
    EXPECT_FOUND(graph, ADDRESSES, "freed", "shift#0", line, fresh, "set by bg_graph_args|nothing is allocated");
    stored->x.data = f->z.data;
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    bg_graph_destroy(graph);
}

/* ---- before each replay ---- */

static void test_replay(void **state)
{
    fixture *f = *state;
    char *memory = allocate(BYTES), line[40];
    bg_graph *graph;
    assert_int_equal(setenv("BG_CHECK", "replay", 1), 0);
    graph = capture_of(f, memory);
    assert_int_equal(unsetenv("BG_CHECK"), 0); /* it was read at begin */
    replay(f, graph, 3);
    EXPECT_CUDA(cudaFree(memory));
    put(&f->z, 42);
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_STALE_ADDRESS);
    EXPECT_ERROR("bg_replay: graph decode, call scale#0 at ");
    snprintf(line, sizeof line, ":%d: [freed] ", scale_line);
    EXPECT_ERROR(line);
    EXPECT_ERROR("x of scale");
    EXPECT_ERROR("replays since the capture: 3");
    assert_true(get(&f->z) == 42); /* nothing ran */
    assert_int_equal(info_of(graph).replays, 3);
    bg_graph_destroy(graph);
}

static void test_replay_of_blocks(void **state)
{
    fixture *f = *state;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    char *arena = allocate((size_t)4 * BYTES);
    bg_capture *capture;
    shift_args *stored;
    bg_graph *graph;
    options.check = BG_REPLAY_CHECK_ON;
    EXPECT_OK(bg_ledger_alloc(arena, BYTES, "kv"));
    EXPECT_OK(bg_capture_begin(&capture, f->stream, &options));
    EXPECT_OK(BG_CALL(shift, f->stream, .x = vector(arena), .y = f->y));
    graph = end(capture);
    replay(f, graph, 2);
    EXPECT_OK(bg_ledger_alloc(arena + BYTES, BYTES, "another"));
    replay(f, graph, 2);
    EXPECT_OK(bg_ledger_free(arena));
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_STALE_ADDRESS);
    EXPECT_ERROR("block \"kv\"");
    stored = bg_graph_args(graph, "shift#0", sizeof *stored);
    assert_non_null(stored);
    stored->x = vector(arena + BYTES);
    replay(f, graph, 2); /* fixed */
    EXPECT_OK(bg_ledger_free(arena + BYTES));
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_STALE_ADDRESS);
    EXPECT_ERROR("block \"another\"");
    stored->x = f->x;
    replay(f, graph, 1);
    bg_graph_destroy(graph);
    EXPECT_CUDA(cudaFree(arena));
}

static void test_replay_options(void **state)
{
    fixture *f = *state;
    char *memory = allocate(BYTES);
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_capture *capture;
    bg_graph *graph;
    assert_int_equal(setenv("BG_CHECK", "replay", 1), 0);
    options.check = BG_REPLAY_CHECK_OFF; /* before the environment */
    EXPECT_OK(bg_capture_begin(&capture, f->stream, &options));
    EXPECT_OK(BG_CALL(touch, f->stream, .x = vector(memory), .w = f->y, .state = f->z));
    graph = end(capture);
    EXPECT_CUDA(cudaFree(memory));
    replay(f, graph, 1);
    bg_graph_destroy(graph);
    options.check = (bg_replay_check)7;
    EXPECT_STATUS(bg_capture_begin(&capture, f->stream, &options), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("options.check is 7");
    assert_int_equal(setenv("BG_CHECK", "sometimes", 1), 0);
    EXPECT_STATUS(bg_capture_begin(&capture, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("BG_CHECK is \"sometimes\"; allowed are off, or some of graph, replay, recapture, poison");
}

/* ---- runners ---- */

static bg_tensor input;

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    fixture *f = user;
    bg_tensor x = input;
    x.dim[0] = context->padded_tokens;
    return from_cuda(cudaMemcpyAsync(f->z.data, x.data, bg_tensor_bytes(&x), cudaMemcpyDefault, stream));
}

static bg_runner *make_runner(fixture *f, void *bound)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    const int64_t dim[] = {0};
    bg_runner *runner;
    config.max_tokens = N;
    config.schedule = "64";
    config.mode = BG_MODE_FULL;
    EXPECT_OK(bg_runner_create(&runner, &config, forward, f, f->stream));
    EXPECT_OK(bg_runner_add_input(runner, "token", BG_F32, 1, dim, BG_PAD_ZERO, 0, &input));
    if (bound != NULL)
        EXPECT_OK(bg_runner_bind_input(runner, "token", bound, &input));
    EXPECT_OK(bg_runner_capture(runner));
    return runner;
}

static void test_runner(void **state)
{
    fixture *f = *state;
    bg_batch batch = {.tokens = N - 1, .requests = 1, .max_query_len = 1};
    char *memory = allocate(BYTES);
    bg_runner *runner;
    bg__owner owner;
    void *own;
    assert_int_equal(setenv("BG_CHECK", "replay", 1), 0);
    runner = make_runner(f, NULL);
    own = input.data;
    EXPECT_OK(bg__owner_find(BG__REGISTERED, own, &owner));
    assert_string_equal(owner.name, "input token");
    assert_int_equal(owner.bytes, BYTES);
    EXPECT_OK(bg_runner_run(runner, &batch, NULL, NULL, NULL));
    bg_runner_destroy(runner);
    EXPECT_OK(bg__owner_find(BG__REGISTERED, own, &owner));
    assert_int_equal(owner.kind, BG__OWNER_NONE);
    runner = make_runner(f, memory);
    EXPECT_OK(bg_runner_run(runner, &batch, NULL, NULL, NULL));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    EXPECT_CUDA(cudaFree(memory));
    EXPECT_STATUS(bg_runner_run(runner, &batch, NULL, NULL, NULL), BG_ERROR_STALE_ADDRESS);
    EXPECT_ERROR("[freed] buffer token of the runner");
    EXPECT_ERROR("device allocation of 256 bytes");
    bg_runner_destroy(runner);
}

/* ---- arguments ---- */

static void test_arguments(void **state)
{
    fixture *f = *state;
    bg_graph *graph = capture_of(f, f->x.data);
    bg_report *report;
    EXPECT_STATUS(bg_check(NULL, ADDRESSES, &report), BG_ERROR_INVALID_ARGUMENT);
    assert_null(report);
    EXPECT_STATUS(bg_check(graph, ADDRESSES, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_check(graph, 0, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_check(graph, BG_CHECK_ALL + 1, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("what is 0x20");
    bg_graph_destroy(graph);
}

#define CHECK_TEST(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHECK_TEST(test_clean),
        CHECK_TEST(test_freed),
        CHECK_TEST(test_reused),
        CHECK_TEST(test_pinned),
        CHECK_TEST(test_pageable),
        CHECK_TEST(test_out_of_range),
        CHECK_TEST(test_memory_nodes),
        CHECK_TEST(test_shrunk),
        CHECK_TEST(test_shrunk_behind),
        CHECK_TEST(test_registered),
        CHECK_TEST(test_registered_bounds),
        CHECK_TEST(test_under_registered),
        CHECK_TEST(test_kept_block),
        CHECK_TEST(test_shared_blocks),
        CHECK_TEST(test_released_too_early),
        CHECK_TEST(test_bridge_given_away),
        CHECK_TEST(test_bridge_in_released_block),
        CHECK_TEST(test_bridges_overlap),
        CHECK_TEST(test_overlap),
        CHECK_TEST(test_outputs_overlap),
        CHECK_TEST(test_eager_arguments),
        CHECK_TEST(test_replay),
        CHECK_TEST(test_replay_of_blocks),
        CHECK_TEST(test_replay_options),
        CHECK_TEST(test_runner),
        CHECK_TEST(test_arguments),
    };
    /* The host device then gives the next allocation the address that was freed last. */
    if (setenv("HOSTCUDA_MEMORY", "reuse", 0) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
