/* Checks of addresses: each bug, and what looks like it but is none. */
#include "tests/support/test.h"
#include "tests/support/tools/checked_graphs.h"

#include "memory/pages.h"
#include <stdlib.h>

TEST_VARIABLE(HOSTCUDA_MEMORY, "reuse");

enum { OTHERS = BG_CHECK_ALL & ~BG_CHECK_LEAKS }; /* of graphs with ops that leave no work */

/* Touches no memory. */
BG_OP(split, BG_IN(x), BG_OUTS(parts, 3))
{
    (void)args;
    (void)stream;
    return BG_OK;
}

/* ---- the driver's allocations ---- */

FIXTURE_TEST(test_clean)
{
    OWN_GRAPH(graph, check_capture(f, f->x.data));
    char *other = allocate(BYTES);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    check_replay_times(f, graph, 3);
    EXPECT_CUDA(cudaFree(other)); /* none of the graph's */
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
}

FIXTURE_TEST(test_freed)
{
    char *memory = allocate(BYTES);
    OWN_GRAPH(graph, check_capture(f, memory));
    check_replay_times(f, graph, 2);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    EXPECT_CUDA(cudaFree(memory));
    EXPECT_FOUND(
        graph, ADDRESSES, "freed", "scale#0", scale_line,
        "x of scale|256 bytes at|device allocation of 256 bytes|allocation id|replays since the capture: 2|was "
        "freed",
        memory);
    EXPECT_CLEAN(graph, OVERLAP); /* not what it was asked for */
}

FIXTURE_TEST(test_reused)
{
    enum { SIZE = 1 << 20 };
    OWN_MEMORY(char, memory, allocate(SIZE));
    OWN_GRAPH(graph, check_capture(f, memory + 512));
    check_replay_times(f, graph, 1);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    reuse(memory, SIZE);
    EXPECT_FOUND(graph, ADDRESSES, "reused", "scale#0", scale_line,
                 "x of scale|now in device allocation of 1048576 bytes|replays since the capture: 1", memory + 512);
}

FIXTURE_TEST(test_pinned)
{
    void *pinned;
    EXPECT_CUDA(cudaMallocHost(&pinned, BYTES));
    bg_capture *capture = check_begin(f, NULL);
    int line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(touch, f->stream, .x = check_vector(pinned), .w = f->y, .state = f->z));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_CLEAN(graph, OTHERS);
    EXPECT_CUDA(cudaFreeHost(pinned));
    EXPECT_FOUND(graph, ADDRESSES, "freed", "touch#0", line, "x of touch|pinned host allocation of 256", pinned);
}

/* Of pageable memory nothing is known. */
FIXTURE_TEST(test_pageable)
{
    static float here[N];
    bg_capture *capture = check_begin(f, NULL);
    EXPECT_OK(BG_CALL(touch, f->stream, .x = check_vector(here), .w = f->y, .state = f->z));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_CLEAN(graph, OTHERS);
}

FIXTURE_TEST(test_out_of_range)
{
    OWN_MEMORY(char, memory, allocate(BYTES));
    bg_tensor fits = check_vector(memory), long_one = bg_tensor_1d(memory + BYTES - 4, BG_F32, 4);
    bg_capture *capture = check_begin(f, NULL);
    EXPECT_OK(BG_CALL(touch, f->stream, .x = fits, .w = f->y, .state = f->z));
    int line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(touch, f->stream, .x = fits, .w = long_one, .state = f->z));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_FOUND(graph, ADDRESSES, "out-of-range", "touch#1", line,
                 "w of touch|16 bytes at|extends 12 bytes beyond its allocation|in device allocation of 256 bytes",
                 memory + BYTES - 4);
}

/* An allocation that is a node of the graph itself. */
FIXTURE_TEST(test_memory_nodes)
{
    bg_capture *capture = begin_capture(f->stream, OPTIONS(.check = BG_REPLAY_CHECK_ON));
    void *memory;
    EXPECT_CUDA(cudaMallocAsync(&memory, BYTES, f->stream));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = check_vector(memory), .factor = 2));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = check_vector(memory), .y = f->y, .factor = 2));
    EXPECT_CUDA(cudaFreeAsync(memory, f->stream));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    check_replay_times(f, graph, 2);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
}

/* ---- mapped memory ---- */

static bg_graph *capture_of_bytes(fixture *f, void *memory, size_t bytes)
{
    bg_capture *capture = check_begin(f, NULL);
    EXPECT_OK(CALL_AT(scale_line, touch, f->stream, .x = bg_tensor_1d(memory, BG_U8, (int64_t)bytes), .w = f->y,
                      .state = f->z));
    return end_capture(capture);
}

static void unmap_last(bg__pages *pages)
{
    bg__mapped_end *low = &pages->ends[BG__LOW];
    size_t step = low->steps[--low->count];
    low->bytes -= step;
    assert_int_equal(pages->unmap((CUdeviceptr)(uintptr_t)(pages->base + low->bytes), step), CUDA_SUCCESS);
}

FIXTURE_TEST(test_shrunk)
{
    bg__pages pages;
    EXPECT_OK(bg__pages_init(&pages, 0, (size_t)64 << 20, 0));
    size_t page = pages.granularity;
    EXPECT_OK(bg__pages_grow(&pages, BG__LOW, 2 * page));
    OWN_GRAPH(graph, capture_of_bytes(f, pages.base, 2 * page));
    EXPECT_CLEAN(graph, OTHERS);
    unmap_last(&pages);
    EXPECT_FOUND(graph, ADDRESSES, "freed", "touch#0", scale_line, "x of touch", pages.base);
    EXPECT_OK(bg__pages_grow(&pages, BG__LOW, page));
    OWN_GRAPH(short_graph, capture_of_bytes(f, pages.base, page));
    EXPECT_FOUND(graph, ADDRESSES, "shrunk", "touch#0", scale_line, "x of touch|which is shorter now", pages.base);
    EXPECT_CLEAN(short_graph, OTHERS);
    bg__pages_clear(&pages);
}

/* A tensor across mappings that make one range. */
FIXTURE_TEST(test_shrunk_behind)
{
    bg__pages pages;
    EXPECT_OK(bg__pages_init(&pages, 0, (size_t)64 << 20, 0));
    size_t page = pages.granularity;
    EXPECT_OK(bg__pages_grow(&pages, BG__LOW, page));
    EXPECT_OK(bg__pages_grow(&pages, BG__LOW, 3 * page));
    OWN_GRAPH(graph, capture_of_bytes(f, pages.base + 16, 3 * page - 16));
    EXPECT_CLEAN(graph, OTHERS);
    unmap_last(&pages);
    EXPECT_FOUND(graph, ADDRESSES, "shrunk", "touch#0", scale_line, "x of touch|was unmapped in part after the capture",
                 pages.base + page);
    EXPECT_OK(bg__pages_grow(&pages, BG__LOW, 2 * page));
    OWN_GRAPH(second, capture_of_bytes(f, pages.base, 2 * page + 1));
    EXPECT_FOUND(second, ADDRESSES, "out-of-range", "touch#0", scale_line, "x of touch|extends 1 byte beyond",
                 pages.base + page);
    bg__pages_clear(&pages);
}

/* ---- one call's tensors ---- */

FIXTURE_TEST(test_overlap)
{
    OWN_MEMORY(char, memory, allocate((size_t)4 * BYTES));
    bg_tensor whole = check_vector(memory), half = check_vector(memory + BYTES / 2),
              apart = check_vector(memory + (size_t)2 * BYTES);
    bg_capture *capture = check_begin(f, NULL);
    EXPECT_OK(BG_CALL(scale, f->stream, .x = whole, .y = whole, .factor = 2));   /* in place */
    EXPECT_OK(BG_CALL(scale, f->stream, .x = whole, .y = apart, .factor = 2));   /* side by side */
    EXPECT_OK(BG_CALL(touch, f->stream, .x = whole, .w = half, .state = apart)); /* read alone */
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_CLEAN(graph, OTHERS);
    capture = check_begin(f, NULL);
    int line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(scale, f->stream, .x = whole, .y = half, .factor = 2));
    OWN_GRAPH(overlapping, end_capture(capture));
    EXPECT_FOUND(overlapping, OVERLAP, "overlap", "scale#0", line, "x of scale#0 and y of scale#0 share 128 bytes",
                 half.data);
    EXPECT_CLEAN(overlapping, ADDRESSES);
}

FIXTURE_TEST(test_outputs_overlap)
{
    bg_capture *capture = check_begin(f, NULL);
    split_args a = {.x = f->x, .parts = {f->z, f->y, check_vector(NULL)}};
    EXPECT_OK(BG_CALL_ARGS(split, f->stream, &a));
    a.parts[2] = f->z;
    int line = __LINE__ + 1;
    EXPECT_OK(BG_CALL_ARGS(split, f->stream, &a));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_FOUND(graph, OVERLAP, "overlap", "split#1", line,
                 "parts[0] of split#1 and parts[2] of split#1 share 256 bytes|writes both", f->z.data);
}

/* ---- eager calls ---- */

FIXTURE_TEST(test_eager_arguments)
{
    char *old = allocate(BYTES), *fresh = allocate(BYTES);
    bg_capture *capture = check_begin(f, NULL);
    shift_args *stored;
    int line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(shift, f->stream, .x = check_vector(old), .y = f->y));
    OWN_GRAPH(graph, end_capture(capture));
    stored = bg_graph_args(graph, "shift#0", sizeof *stored);
    assert_non_null(stored);
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    stored->x.data = fresh;
    EXPECT_CUDA(cudaFree(old)); /* the call uses it no longer */
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    check_replay_times(f, graph, 1);
    stored->x.data = old;
    EXPECT_FOUND(graph, ADDRESSES, "freed", "shift#0", line, "x of shift|was freed after the capture", old);
    stored->x.data = fresh + 4;
    EXPECT_FOUND(graph, ADDRESSES, "out-of-range", "shift#0", line, "x of shift|extends 4 bytes beyond", fresh + 4);
    EXPECT_CUDA(cudaFree(fresh));
    stored->x.data = fresh;
    EXPECT_FOUND(graph, ADDRESSES, "freed", "shift#0", line, "set by bg_graph_args|nothing is allocated", fresh);
    stored->x.data = f->z.data;
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
}

/* ---- arguments ---- */

FIXTURE_TEST(test_arguments)
{
    OWN_GRAPH(graph, check_capture(f, f->x.data));
    bg_report *report;
    EXPECT_STATUS(bg_check(NULL, ADDRESSES, &report), BG_ERROR_INVALID_ARGUMENT);
    assert_null(report);
    EXPECT_STATUS(bg_check(graph, ADDRESSES, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_check(graph, 0, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_check(graph, BG_CHECK_ALL + 1, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("what is 0x20");
}
