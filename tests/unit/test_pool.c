/* The memory pool: growth, best fit, reuse in order, buckets, limits, releases that are none, and failing calls. */
#include "host_only.h"
#include "support.h"

#include <hostcuda/hostcuda.h>
#include <memory/memory.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma weak hostcuda_fail
#pragma weak hostcuda_faults
#pragma weak hostcuda_count_live

enum { KIB = 1024, MIB = 1024 * 1024 };
#define RESERVE ((size_t)256 * MIB)

static bg_pool_stats stats_of(const bg_pool *pool)
{
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    EXPECT_OK(bg_pool_get_stats(pool, &stats));
    return stats;
}

static bg_pool *make_pool(size_t limit)
{
    bg_pool_options options = BG_POOL_OPTIONS_INIT;
    bg_pool *pool;
    options.reserve_bytes = RESERVE;
    options.limit_bytes = limit;
    EXPECT_OK(bg_pool_create(&pool, &options));
    return pool;
}

static char *take(bg_pool *pool, size_t bytes)
{
    void *ptr;
    EXPECT_OK(bg_pool_alloc(pool, bytes, &ptr));
    EXPECT_OK(bg__pool_check(pool));
    assert_non_null(ptr);
    assert_int_equal((uintptr_t)ptr % 256, 0);
    return ptr;
}

static char *pin(bg_pool *pool, size_t bytes)
{
    void *ptr;
    EXPECT_OK(bg__pool_pin(pool, bytes, &ptr));
    EXPECT_OK(bg__pool_check(pool));
    return ptr;
}

static void release(bg_pool *pool, void *ptr)
{
    bg_pool_release(pool, ptr);
    EXPECT_OK(bg__pool_check(pool));
}

static void begin_bucket(bg_pool *pool, const char *name)
{
    EXPECT_OK(bg__pool_bucket_begin(pool, name));
}

static bg__bucket_figures end_bucket(bg_pool *pool)
{
    bg__bucket_figures figures;
    EXPECT_OK(bg__pool_bucket_end(pool, &figures));
    EXPECT_OK(bg__pool_check(pool));
    return figures;
}

/* The page size: what the first byte costs. */
static size_t page_of(void)
{
    bg_pool *pool = make_pool(0);
    size_t page;
    take(pool, 1);
    page = stats_of(pool).mapped;
    bg_pool_destroy(pool);
    return page;
}

/* The device's free memory, with all work done. */
static size_t free_memory(void)
{
    size_t free_bytes, total;
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemGetInfo(&free_bytes, &total));
    return free_bytes;
}

/* A GPU's driver keeps some of what is freed, for what comes next. */
static void expect_given_back(size_t before)
{
    size_t slack = strcmp(bg_device_kind(), "host") == 0 ? 0 : (size_t)16 * MIB;
    size_t now = free_memory();
    if (now + slack < before || now > before + slack)
        fail_msg("%zu bytes were free before, %zu are now", before, now);
}

/* ---- growth ---- */

static void test_memory_is_mapped_when_it_is_needed(void **state)
{
    size_t page = page_of();
    bg_pool *pool = make_pool(0);
    char *blocks[3];
    (void)state;

    assert_int_equal(stats_of(pool).mapped, 0);
    blocks[0] = take(pool, 1);
    assert_int_equal(stats_of(pool).mapped, page);
    assert_int_equal(stats_of(pool).in_use, 256);
    blocks[1] = take(pool, page - 256);
    assert_int_equal(stats_of(pool).mapped, page);
    blocks[2] = take(pool, page + 1);
    assert_int_equal(stats_of(pool).mapped, 3 * page);
    assert_int_equal(stats_of(pool).in_use, 2 * page + 256);
    for (int i = 0; i < 3; i++)
        release(pool, blocks[i]);
    assert_int_equal(stats_of(pool).mapped, 3 * page);
    assert_int_equal(stats_of(pool).in_use, 0);
    assert_int_equal(stats_of(pool).peak, 2 * page + 256);
    bg_pool_destroy(pool);
}

/* Across the borders of what was mapped step by step, by kernels, copies and fills. */
static void test_blocks_hold_what_is_written(void **state)
{
    fixture *f = *state;
    bg_pool *pool = make_pool(0);
    size_t page = page_of(), n = 3 * page / sizeof(float);
    float *host = malloc(n * sizeof *host);
    float *first, *second;
    assert_non_null(host);
    begin_bucket(pool, "pages");
    (void)take(pool, page - 512);
    first = (float *)take(pool, n * sizeof *host); /* extends the first page */
    EXPECT_STATUS(bg__pool_bucket_begin(pool, "inner"), BG_ERROR_BUSY);
    EXPECT_ERROR("pages");
    EXPECT_OK(bg__pool_keep(pool, page + 1, (void **)&second));
    EXPECT_OK(bg__pool_keep(pool, n * sizeof *host, (void **)&second));
    EXPECT_CUDA(bgk_fill(first, 3, n, f->stream));
    EXPECT_CUDA(cudaMemcpyAsync(second, first, n * sizeof *host, cudaMemcpyDeviceToDevice, f->stream));
    EXPECT_CUDA(cudaMemsetAsync(first, 0, n * sizeof *host, f->stream));
    EXPECT_CUDA(bgk_add(first, first, second, n, f->stream));
    EXPECT_CUDA(cudaMemcpyAsync(host, first, n * sizeof *host, cudaMemcpyDeviceToHost, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    for (size_t i = 0; i < n; i++)
        if (host[i] != 3)
            fail_msg("element %zu is %g", i, (double)host[i]);
    end_bucket(pool);
    free(host);
    bg_pool_destroy(pool);
}

static void test_defaults(void **state)
{
    bg_pool *pool;
    void *ptr = *state;
    size_t before = free_memory();
    EXPECT_OK(bg_pool_create(&pool, NULL));
    EXPECT_OK(bg_pool_alloc(pool, 0, &ptr));
    assert_null(ptr);
    assert_int_equal(stats_of(pool).mapped, 0);
    take(pool, 99 * MIB);
    bg_pool_destroy(pool);
    expect_given_back(before);
    bg_pool_destroy(NULL);
    bg_pool_release(NULL, NULL);
}

/* ---- reuse ---- */

static void test_the_smallest_block_that_fits(void **state)
{
    bg_pool *pool = make_pool(0);
    char *large, *small, *middle, *again;
    (void)state;

    large = take(pool, 8 * KIB);
    (void)take(pool, 256);
    small = take(pool, 2 * KIB);
    (void)take(pool, 256);
    middle = take(pool, 4 * KIB);
    (void)take(pool, 256);
    release(pool, large);
    release(pool, small);
    release(pool, middle);
    assert_int_equal(stats_of(pool).in_use, 3 * 256);
    assert_ptr_equal(take(pool, 2 * KIB), small);
    again = take(pool, 3 * KIB);
    assert_true(again >= middle && again + 3 * KIB <= middle + 4 * KIB);
    assert_int_equal(stats_of(pool).reused, 5 * KIB);
    again = take(pool, 7 * KIB);
    assert_true(again >= large && again + 7 * KIB <= large + 8 * KIB);
    again = take(pool, KIB); /* what was left of two blocks is not torn out of a third */
    assert_true((again >= middle && again < middle + 4 * KIB) || (again >= large && again < large + 8 * KIB));
    assert_int_equal(stats_of(pool).reused, 13 * KIB);
    bg_pool_destroy(pool);
}

/* Neighbours that are free become one block, and the last one grows instead of being left. */
static void test_released_blocks_join(void **state)
{
    bg_pool *pool = make_pool(0);
    char *blocks[4];
    bg__bucket_figures figures;
    (void)state;

    begin_bucket(pool, "joined");
    for (int i = 0; i < 4; i++)
        blocks[i] = take(pool, KIB);
    release(pool, blocks[0]);
    release(pool, blocks[2]);
    release(pool, blocks[1]);
    assert_ptr_equal(take(pool, 3 * KIB), blocks[0]);
    release(pool, blocks[0]);
    release(pool, blocks[3]);
    assert_ptr_equal(take(pool, 6 * KIB), blocks[0]);
    figures = end_bucket(pool);
    assert_int_equal(figures.bytes, 6 * KIB);
    assert_int_equal(figures.reused, 7 * KIB);
    assert_int_equal(figures.pinned, 0);
    bg_pool_destroy(pool);
}

/* With several streams, what is released waits for the break; what was released before, too, since a stream may have
 * forked earlier. */
static void test_reuse_waits_for_a_break(void **state)
{
    bg_pool *pool = make_pool(0);
    char *a, *b, *c, *d;
    (void)state;

    begin_bucket(pool, "streams");
    a = take(pool, KIB);
    b = take(pool, KIB);
    c = take(pool, KIB);
    d = take(pool, KIB);
    release(pool, a);
    assert_ptr_equal(take(pool, KIB), a); /* one stream: at once */
    release(pool, a);
    bg__pool_set_concurrent(pool, true);
    assert_true(take(pool, KIB) > d);
    release(pool, b);
    assert_true(take(pool, KIB) > d);
    assert_int_equal(bg__pool_bucket_figures(pool).reused, KIB);
    bg__pool_break(pool);
    EXPECT_OK(bg__pool_check(pool));
    assert_ptr_equal(take(pool, 2 * KIB), a); /* they have joined, too */
    release(pool, a);
    assert_true(take(pool, 2 * KIB) > d);
    bg__pool_break(pool);
    release(pool, c); /* beside a, which need not wait */
    assert_ptr_equal(take(pool, 2 * KIB), a);
    assert_true(take(pool, KIB) > d);
    bg__pool_set_concurrent(pool, false);
    assert_ptr_equal(take(pool, KIB), c);
    assert_int_equal(end_bucket(pool).bytes, 9 * KIB);
    begin_bucket(pool, "alone"); /* starts with one stream */
    a = take(pool, KIB);
    release(pool, a);
    assert_ptr_equal(take(pool, KIB), a);
    end_bucket(pool);
    bg_pool_destroy(pool);
}

/* ---- buckets ---- */

static void test_buckets_share_their_base(void **state)
{
    size_t page = page_of();
    bg_pool *pool = make_pool(0);
    char *base, *kept;
    bg__bucket_figures figures;
    (void)state;

    kept = take(pool, page / 2);
    begin_bucket(pool, "large");
    base = pin(pool, 3 * page);
    (void)take(pool, page);
    figures = end_bucket(pool);
    assert_int_equal(figures.bytes, 4 * page);
    assert_int_equal(figures.pinned, 3 * page);
    assert_int_equal(stats_of(pool).mapped, 5 * page);
    assert_int_equal(stats_of(pool).in_use, page / 2);
    begin_bucket(pool, "small");
    assert_ptr_equal(take(pool, page), base);
    assert_true(pin(pool, page) >= base + page);
    assert_int_equal(stats_of(pool).in_use, page / 2 + 2 * page);
    figures = end_bucket(pool);
    assert_int_equal(figures.bytes, 2 * page);
    assert_int_equal(figures.pinned, page);
    assert_int_equal(stats_of(pool).mapped, 5 * page); /* the largest, and what is kept */
    assert_int_equal(stats_of(pool).pinned, 3 * page);
    assert_int_equal(stats_of(pool).peak, 4 * page + page / 2);
    assert_true(kept >= base + 4 * page || kept + page / 2 <= base);
    EXPECT_STATUS(bg__pool_bucket_end(pool, &figures), BG_ERROR_INVALID_ARGUMENT);
    assert_int_equal(figures.bytes, 0);
    bg_pool_destroy(pool);
}

/* A static input that is released while a graph is captured stays as it is until the capture ends. */
static void test_kept_blocks_wait_for_the_bucket(void **state)
{
    bg_pool *pool = make_pool(0);
    char *before = take(pool, KIB), *during = take(pool, KIB);
    void *kept;
    (void)state;

    release(pool, before);
    begin_bucket(pool, "waits");
    release(pool, during);
    assert_int_equal(stats_of(pool).in_use, 0);
    EXPECT_OK(bg__pool_keep(pool, KIB, &kept));
    assert_ptr_equal(kept, before);
    EXPECT_OK(bg__pool_keep(pool, KIB, &kept));
    assert_true(kept != before && kept != during);
    bg__pool_break(pool);
    EXPECT_OK(bg__pool_keep(pool, KIB, &kept));
    assert_true(kept != during);
    end_bucket(pool);
    assert_ptr_equal(take(pool, KIB), during);
    bg_pool_destroy(pool);
}

static void test_pinned_blocks_are_not_reused(void **state)
{
    bg_pool *pool = make_pool(0);
    char *free_block, *pinned;
    (void)state;
    begin_bucket(pool, "pinned");
    free_block = take(pool, KIB);
    pinned = pin(pool, KIB);
    release(pool, free_block);
    assert_ptr_equal(pin(pool, KIB), free_block); /* from released memory, but never again */
    release(pool, pinned);                        /* warned of, and nothing else */
    assert_true(take(pool, KIB) > pinned);
    assert_int_equal(stats_of(pool).pinned, 2 * KIB);
    end_bucket(pool);
    bg_pool_destroy(pool);
}

/* ---- releases that are none ---- */

/* What bg_pool_release says on standard error. */
static void expect_warning(bg_pool *pool, void *ptr, const char *warning)
{
    char said[400];
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    size_t in_use = stats_of(pool).in_use;
    assert_non_null(file);
    assert_true(kept >= 0 && fflush(stderr) == 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    bg_pool_release(pool, ptr);
    fflush(stderr);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    assert_int_equal(stats_of(pool).in_use, in_use);
    EXPECT_OK(bg__pool_check(pool));
    if (warning == NULL ? said[0] != '\0' : strstr(said, warning) == NULL)
        fail_msg("bg_pool_release says \"%s\", expected is \"%s\"", said, warning ? warning : "");
}

static void test_what_cannot_be_released(void **state)
{
    fixture *f = *state;
    bg_pool *pool = make_pool(0), *other = make_pool(0);
    char *kept = take(pool, KIB), *foreign = take(other, KIB), *inner, *pinned;

    expect_warning(pool, NULL, NULL);
    expect_warning(pool, f->memory, "is not the pool's");
    expect_warning(pool, foreign, "is not the pool's");
    expect_warning(pool, kept + 256, "lies inside a block");
    bg_pool_release(pool, kept);
    expect_warning(pool, kept, "is released already");
    begin_bucket(pool, "short");
    inner = take(pool, KIB);
    pinned = pin(pool, KIB);
    expect_warning(pool, pinned, "belongs to its graph");
    expect_warning(pool, pinned + 4 * KIB, "is no block");
    end_bucket(pool);
    expect_warning(pool, inner, "belongs to a capture that has ended");
    bg_pool_destroy(pool);
    bg_pool_destroy(other);
}

/* ---- limits ---- */

static void test_the_limit(void **state)
{
    size_t page = page_of();
    bg_pool *pool = make_pool(3 * page);
    char *kept;
    void *ptr = *state;
    char text[64];

    kept = take(pool, page);
    begin_bucket(pool, "decode-64");
    (void)take(pool, page);
    EXPECT_STATUS(bg_pool_alloc(pool, page + 1, &ptr), BG_ERROR_OUT_OF_MEMORY);
    assert_null(ptr);
    snprintf(text, sizeof text, "asks for %zu bytes", page + 1);
    EXPECT_ERROR("decode-64");
    EXPECT_ERROR(text);
    snprintf(text, sizeof text, "%zu bytes are mapped, the limit is %zu bytes", 2 * page, 3 * page);
    EXPECT_ERROR(text);
    EXPECT_ERROR("options.limit_bytes");
    EXPECT_ERROR("smaller sizes");
    EXPECT_OK(bg__pool_check(pool));
    assert_int_equal(stats_of(pool).mapped, 2 * page);
    (void)take(pool, page); /* the pool is as it was */
    end_bucket(pool);
    EXPECT_STATUS(bg_pool_alloc(pool, page, &ptr), BG_ERROR_OUT_OF_MEMORY);
    EXPECT_ERROR("outside the buckets");
    release(pool, kept);
    assert_ptr_equal(take(pool, page), kept);
    bg_pool_destroy(pool);
}

static void test_the_reserve(void **state)
{
    bg_pool *pool = make_pool(0);
    void *ptr = *state;
    EXPECT_STATUS(bg_pool_alloc(pool, RESERVE + 1, &ptr), BG_ERROR_OUT_OF_MEMORY);
    EXPECT_ERROR("options.reserve_bytes");
    EXPECT_ERROR("the limit is none");
    EXPECT_STATUS(bg_pool_alloc(pool, SIZE_MAX, &ptr), BG_ERROR_OUT_OF_MEMORY);
    take(pool, RESERVE / 2);
    begin_bucket(pool, "rest");
    take(pool, RESERVE / 4);
    EXPECT_STATUS(bg_pool_alloc(pool, RESERVE / 2, &ptr), BG_ERROR_OUT_OF_MEMORY);
    take(pool, RESERVE / 4);
    assert_int_equal(stats_of(pool).mapped, RESERVE);
    end_bucket(pool);
    bg_pool_destroy(pool);
}

static void test_arguments(void **state)
{
    bg_pool_options options = BG_POOL_OPTIONS_INIT;
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    bg_pool *pool = *state;
    void *ptr;
    EXPECT_STATUS(bg_pool_create(NULL, NULL), BG_ERROR_INVALID_ARGUMENT);
    options.struct_size = 1;
    EXPECT_STATUS(bg_pool_create(&pool, &options), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("BG_POOL_OPTIONS_INIT");
    assert_null(pool);
    options = (bg_pool_options)BG_POOL_OPTIONS_INIT;
    options.reserve_bytes = SIZE_MAX;
    EXPECT_STATUS(bg_pool_create(&pool, &options), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("reserve_bytes");
    pool = make_pool(0);
    EXPECT_STATUS(bg_pool_alloc(NULL, 1, &ptr), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_pool_alloc(pool, 1, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_pool_get_stats(NULL, &stats), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_pool_get_stats(pool, NULL), BG_ERROR_INVALID_ARGUMENT);
    stats.struct_size = 2;
    EXPECT_STATUS(bg_pool_get_stats(pool, &stats), BG_ERROR_INVALID_ARGUMENT);
    stats.struct_size = offsetof(bg_pool_stats, peak);
    stats.peak = 77;
    EXPECT_OK(bg_pool_get_stats(pool, &stats)); /* an older program's */
    assert_int_equal(stats.peak, 77);
    bg_pool_destroy(pool);
}

/* ---- life ---- */

/* Work in flight keeps the memory. */
static void test_destroy_waits_for_work(void **state)
{
    enum { ROUNDS = 50 };
    fixture *f = *state;
    bg_pool *pool = make_pool(0);
    size_t n = 16 * MIB / sizeof(float);
    float *block = (float *)take(pool, n * sizeof(float));
    EXPECT_CUDA(bgk_fill(block, 1, n, f->stream));
    for (int i = 0; i < ROUNDS; i++)
        EXPECT_CUDA(bgk_scale(block, block, 1, n, f->stream));
    EXPECT_CUDA(cudaMemcpyAsync(f->x.data, block + n - N, N * sizeof(float), cudaMemcpyDeviceToDevice, f->stream));
    bg_pool_destroy(pool);
    assert_true(get(&f->x) == 1);
}

static void test_references(void **state)
{
    size_t before = free_memory();
    bg_pool *pool = make_pool(0);
    float *block = (float *)take(pool, N * sizeof(float));
    bg_tensor view = bg_tensor_1d(block, BG_F32, N);
    (void)state;
    take(pool, 99 * MIB);
    bg__pool_retain(pool);
    bg_pool_destroy(pool);
    put(&view, 5);
    assert_true(get(&view) == 5);
    bg_pool_destroy(pool);
    expect_given_back(before);
}

static void test_another_device(void **state)
{
    bg_pool *pool;
    void *ptr = *state;
    int devices = 0;
    EXPECT_CUDA(cudaGetDeviceCount(&devices));
    if (devices < 2) {
        print_message("skipped: needs two devices\n");
        skip();
    }
    pool = make_pool(0);
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_STATUS(bg_pool_alloc(pool, 1, &ptr), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("cudaSetDevice(0)");
    EXPECT_CUDA(cudaSetDevice(0));
    EXPECT_OK(bg_pool_alloc(pool, 1, &ptr));
    bg_pool_destroy(pool);
}

/* ---- churn ---- */

/* Random allocations, releases, breaks and buckets: what a block holds is nobody else's. */
typedef struct block {
    char *ptr;
    size_t bytes;
    bool kept, pinned;
} block;

static unsigned churn_state;
static unsigned draw(unsigned below)
{
    churn_state = churn_state * 1664525u + 1013904223u;
    return (churn_state >> 8) % below;
}

static void expect_apart(const block *blocks, int count, const block *fresh)
{
    for (int i = 0; i < count; i++)
        if (fresh->ptr < blocks[i].ptr + blocks[i].bytes && blocks[i].ptr < fresh->ptr + fresh->bytes)
            fail_msg("%zu bytes at %p overlap %zu at %p", fresh->bytes, (void *)fresh->ptr, blocks[i].bytes,
                     (void *)blocks[i].ptr);
}

static void drop_bucket_blocks(block *blocks, int *count)
{
    int left = 0;
    for (int i = 0; i < *count; i++)
        if (blocks[i].kept)
            blocks[left++] = blocks[i];
    *count = left;
}

static void test_churn(void **state)
{
    enum { STEPS = 20000, BLOCKS = 64 };
    const char *wanted = getenv("BREAKGRAPH_TEST_SEED");
    const int steps = getenv("BREAKGRAPH_TEST_SMALL") ? STEPS / 10 : STEPS;
    bg_pool *pool = make_pool(0);
    block blocks[BLOCKS];
    int count = 0;
    bool open = false;
    (void)state;

    churn_state = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 1;
    print_message("seed %u (BREAKGRAPH_TEST_SEED)\n", churn_state);
    for (int i = 0; i < steps; i++) {
        unsigned what = draw(100);
        if (what < 50 && count < BLOCKS) {
            block fresh = {.bytes = 1 + draw(draw(10) ? 4 * KIB : MIB), .kept = !open, .pinned = open && draw(8) == 0};
            fresh.ptr = fresh.pinned ? pin(pool, fresh.bytes) : take(pool, fresh.bytes);
            expect_apart(blocks, count, &fresh);
            blocks[count++] = fresh;
        } else if (what < 92 && count > 0) {
            int at = (int)draw((unsigned)count);
            if (!blocks[at].pinned) {
                release(pool, blocks[at].ptr);
                blocks[at] = blocks[--count];
            }
        } else if (what < 95) {
            bg__pool_set_concurrent(pool, draw(2));
        } else if (what < 98) {
            bg__pool_break(pool);
        } else if (open) {
            end_bucket(pool);
            drop_bucket_blocks(blocks, &count);
            open = false;
        } else {
            begin_bucket(pool, "churn");
            open = true;
        }
        EXPECT_OK(bg__pool_check(pool));
    }
    assert_true(stats_of(pool).reused > 0 && stats_of(pool).pinned > 0);
    bg_pool_destroy(pool);
}

/* ---- calls that fail ---- */

static void test_driver_calls_that_fail_at_create(void **state)
{
    static const char *const calls[] = {"cuMemGetAllocationGranularity",
                                        "cuMemAddressReserve",
                                        "cudaMalloc",
                                        "cudaGetDevice",
                                        "cudaEventCreateWithFlags",
                                        "cudaGetDriverEntryPointByVersion"};
    size_t before = free_memory();
    struct hostcuda_live live = hostcuda_count_live();
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char fault[100];
        bg_pool *pool;
        snprintf(fault, sizeof fault, "%s@1=800", calls[i]);
        assert_int_equal(hostcuda_fail(fault), 0);
        EXPECT_STATUS(bg_pool_create(&pool, NULL), BG_ERROR_CUDA);
        assert_int_equal(hostcuda_faults(), 1);
        EXPECT_ERROR(calls[i]);
        EXPECT_ERROR("cudaErrorNotPermitted");
        assert_null(pool);
        assert_int_equal(hostcuda_fail(NULL), 0);
        assert_int_equal(hostcuda_count_live().blocks, live.blocks);
        assert_int_equal(hostcuda_count_live().events, live.events);
        assert_int_equal(free_memory(), before);
        EXPECT_CUDA(cudaGetLastError());
    }
}

static void test_driver_calls_that_fail_in_growth(void **state)
{
    static const char *const calls[] = {"cuMemCreate", "cuMemMap", "cuMemSetAccess"};
    size_t page = page_of(), before = free_memory();
    struct hostcuda_live live = hostcuda_count_live();
    bg_pool *pool = make_pool(0);
    char *first;
    void *ptr = *state;

    begin_bucket(pool, "grows");
    first = take(pool, page);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char fault[100];
        size_t left = free_memory();
        snprintf(fault, sizeof fault, "%s@1=CUDA_ERROR_OUT_OF_MEMORY", calls[i]);
        assert_int_equal(hostcuda_fail(fault), 0);
        EXPECT_STATUS(bg_pool_alloc(pool, 2 * page, &ptr), BG_ERROR_OUT_OF_MEMORY);
        assert_int_equal(hostcuda_faults(), 1);
        EXPECT_ERROR(calls[i]);
        EXPECT_ERROR("bucket grows");
        EXPECT_ERROR("smaller sizes");
        assert_null(ptr);
        assert_int_equal(hostcuda_fail(NULL), 0);
        assert_int_equal(free_memory(), left); /* the half-made mapping is gone */
        assert_int_equal(stats_of(pool).mapped, page * (i + 1));
        EXPECT_OK(bg__pool_check(pool));
        assert_true(take(pool, page) > first);
        EXPECT_CUDA(cudaGetLastError());
    }
    end_bucket(pool);
    bg_pool_destroy(pool);
    assert_int_equal(free_memory(), before);
    assert_int_equal(hostcuda_count_live().blocks, live.blocks);
}

/* The device really has no more. */
static void test_device_memory_runs_out(void **state)
{
    size_t left = free_memory();
    bg_pool *pool;
    void *ptr = *state, *small;
    EXPECT_OK(bg_pool_create(&pool, NULL));
    EXPECT_OK(bg_pool_alloc(pool, KIB, &small));
    EXPECT_STATUS(bg_pool_alloc(pool, left, &ptr), BG_ERROR_OUT_OF_MEMORY);
    EXPECT_ERROR("outside the buckets");
    EXPECT_OK(bg__pool_check(pool));
    EXPECT_OK(bg_pool_alloc(pool, KIB, &ptr));
    bg_pool_destroy(pool);
    EXPECT_CUDA(cudaGetLastError());
}

static int no_faults(void **state)
{
    if (hostcuda_fail)
        assert_int_equal(hostcuda_fail(NULL), 0);
    return fixture_teardown(state);
}

int main(void)
{
    struct CMUnitTest faults[] = {
        cmocka_unit_test_setup_teardown(test_driver_calls_that_fail_at_create, fixture_setup, no_faults),
        cmocka_unit_test_setup_teardown(test_driver_calls_that_fail_in_growth, fixture_setup, no_faults),
    };
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_memory_is_mapped_when_it_is_needed),
        TEST(test_blocks_hold_what_is_written),
        TEST(test_defaults),
        TEST(test_the_smallest_block_that_fits),
        TEST(test_released_blocks_join),
        TEST(test_reuse_waits_for_a_break),
        TEST(test_buckets_share_their_base),
        TEST(test_kept_blocks_wait_for_the_bucket),
        TEST(test_pinned_blocks_are_not_reused),
        TEST(test_what_cannot_be_released),
        TEST(test_the_limit),
        TEST(test_the_reserve),
        TEST(test_arguments),
        TEST(test_destroy_waits_for_work),
        TEST(test_references),
        TEST(test_another_device),
        TEST(test_churn),
        TEST(test_device_memory_runs_out),
    };
    int failed;
    skip_on_gpu(faults, sizeof faults / sizeof *faults, "that calls fail on request");
    failed = cmocka_run_group_tests_name("pool", tests, NULL, NULL);
    return failed + cmocka_run_group_tests_name("pool, calls that fail", faults, NULL, NULL);
}
