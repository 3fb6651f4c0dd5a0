/* The memory pool: growth, best fit, reuse in order, buckets, and blocks that never overlap. */
#include "tests/support/runner/pool_support.h"

/* ---- growth ---- */

FIXTURE_TEST(test_memory_is_mapped_when_it_is_needed)
{
    size_t page = pool_page();
    MADE_POOL(pool);
    char *blocks[3];

    assert_int_equal(pool_stats(pool).mapped, 0);
    blocks[0] = pool_take(pool, 1);
    assert_int_equal(pool_stats(pool).mapped, page);
    assert_int_equal(pool_stats(pool).in_use, 256);
    blocks[1] = pool_take(pool, page - 256);
    assert_int_equal(pool_stats(pool).mapped, page);
    blocks[2] = pool_take(pool, page + 1);
    assert_int_equal(pool_stats(pool).mapped, 3 * page);
    assert_int_equal(pool_stats(pool).in_use, 2 * page + 256);
    for (int i = 0; i < 3; i++)
        pool_release(pool, blocks[i]);
    assert_int_equal(pool_stats(pool).mapped, 3 * page);
    assert_int_equal(pool_stats(pool).in_use, 0);
    assert_int_equal(pool_stats(pool).peak, 2 * page + 256);
}

/* Across the borders of what was mapped step by step, by kernels, copies and fills. */
FIXTURE_TEST(test_blocks_hold_what_is_written)
{
    MADE_POOL(pool);
    const size_t page = pool_page(), n = 3 * page / sizeof(float), bytes = n * sizeof(float);
    float *first, *second;

    pool_begin(pool, "pages");
    (void)pool_take(pool, page - 512);
    first = (float *)pool_take(pool, bytes); /* extends the first page */
    EXPECT_FAILS(bg__pool_bucket_begin(pool, "inner"), BG_ERROR_BUSY, "pages");
    EXPECT_OK(bg__pool_alloc_kept(pool, page + 1, (void **)&second));
    EXPECT_OK(bg__pool_alloc_kept(pool, bytes, (void **)&second));
    EXPECT_CUDA(bgk_fill(first, 3, n, f->stream));
    EXPECT_CUDA(cudaMemcpyAsync(second, first, bytes, cudaMemcpyDeviceToDevice, f->stream));
    EXPECT_CUDA(cudaMemsetAsync(first, 0, bytes, f->stream));
    EXPECT_CUDA(bgk_add(first, first, second, n, f->stream));
    EXPECT_FLOATS(f, first, n, 3);
    pool_end(pool);
}

TEST_F(test_defaults, fixture_setup, fixture_teardown, void *ptr)
{
    bg_pool *pool;
    size_t before = free_device_memory();
    EXPECT_OK(bg_pool_create(&pool, NULL));
    EXPECT_OK(bg_pool_alloc(pool, 0, &ptr));
    assert_null(ptr);
    assert_int_equal(pool_stats(pool).mapped, 0);
    pool_take(pool, 99 * MIB);
    bg_pool_destroy(pool);
    expect_given_back(before);
    bg_pool_destroy(NULL);
    bg_pool_release(NULL, NULL);
}

/* ---- reuse ---- */

FIXTURE_TEST(test_the_smallest_block_that_fits)
{
    MADE_POOL(pool);
    const size_t sizes[] = {8 * KIB, 2 * KIB, 4 * KIB};
    char *blocks[3], *again;

    for (int i = 0; i < 3; i++) {
        blocks[i] = pool_take(pool, sizes[i]);
        (void)pool_take(pool, 256);
    }
    for (int i = 0; i < 3; i++)
        pool_release(pool, blocks[i]);
    char *large = blocks[0], *small = blocks[1], *middle = blocks[2];
    assert_int_equal(pool_stats(pool).in_use, 3 * 256);
    assert_ptr_equal(pool_take(pool, 2 * KIB), small);
    again = pool_take(pool, 3 * KIB);
    assert_true(again >= middle && again + 3 * KIB <= middle + 4 * KIB);
    assert_int_equal(pool_stats(pool).reused, 5 * KIB);
    again = pool_take(pool, 7 * KIB);
    assert_true(again >= large && again + 7 * KIB <= large + 8 * KIB);
    again = pool_take(pool, KIB); /* what was left of two blocks is not torn out of a third */
    assert_true((again >= middle && again < middle + 4 * KIB) || (again >= large && again < large + 8 * KIB));
    assert_int_equal(pool_stats(pool).reused, 13 * KIB);
}

/* Neighbours that are free become one block, and the last one grows instead of being left. */
FIXTURE_TEST(test_released_blocks_join)
{
    MADE_POOL(pool);
    char *blocks[4];
    bg__bucket_stats figures;

    pool_begin(pool, "joined");
    for (int i = 0; i < 4; i++)
        blocks[i] = pool_take(pool, KIB);
    pool_release(pool, blocks[0]);
    pool_release(pool, blocks[2]);
    pool_release(pool, blocks[1]);
    assert_ptr_equal(pool_take(pool, 3 * KIB), blocks[0]);
    pool_release(pool, blocks[0]);
    pool_release(pool, blocks[3]);
    assert_ptr_equal(pool_take(pool, 6 * KIB), blocks[0]);
    figures = pool_end(pool);
    assert_int_equal(figures.bytes, 6 * KIB);
    assert_int_equal(figures.reused, 7 * KIB);
    assert_int_equal(figures.pinned, 0);
}

/* With several streams, what is released waits for the break; what was released before, too, since a stream may have
 * forked earlier. */
FIXTURE_TEST(test_reuse_waits_for_a_break)
{
    MADE_POOL(pool);

    pool_begin(pool, "streams");
    char *a = pool_take(pool, KIB), *b = pool_take(pool, KIB), *c = pool_take(pool, KIB), *d = pool_take(pool, KIB);
    pool_release(pool, a);
    assert_ptr_equal(pool_take(pool, KIB), a); /* one stream: at once */
    pool_release(pool, a);
    bg__pool_set_concurrent(pool, true);
    assert_true(pool_take(pool, KIB) > d);
    pool_release(pool, b);
    assert_true(pool_take(pool, KIB) > d);
    assert_int_equal(bg__pool_bucket_stats(pool).reused, KIB);
    bg__pool_barrier(pool);
    EXPECT_OK(bg__pool_check(pool));
    assert_ptr_equal(pool_take(pool, 2 * KIB), a); /* they have joined, too */
    pool_release(pool, a);
    assert_true(pool_take(pool, 2 * KIB) > d);
    bg__pool_barrier(pool);
    pool_release(pool, c); /* beside a, which need not wait */
    assert_ptr_equal(pool_take(pool, 2 * KIB), a);
    assert_true(pool_take(pool, KIB) > d);
    bg__pool_set_concurrent(pool, false);
    assert_ptr_equal(pool_take(pool, KIB), c);
    assert_int_equal(pool_end(pool).bytes, 9 * KIB);
    pool_begin(pool, "alone"); /* starts with one stream */
    a = pool_take(pool, KIB);
    pool_release(pool, a);
    assert_ptr_equal(pool_take(pool, KIB), a);
    pool_end(pool);
}

/* The rest of a block that was cut waits as the block does. */
static void expect_rest_waits(bg_pool *pool)
{
    pool_begin(pool, "parts");
    char *a = pool_take(pool, 3 * KIB), *end = pool_take(pool, KIB);
    pool_release(pool, a);
    assert_ptr_equal(pool_take(pool, KIB), a);
    bg__pool_set_concurrent(pool, true);
    assert_true(pool_take(pool, KIB) > end); /* not the rest of a */
    pool_end(pool);
}

/* Of several blocks that became one, the last was released behind the break. */
static void expect_joined_wait(bg_pool *pool, int count, bool concurrent_first)
{
    char *blocks[4];
    pool_begin(pool, "joined");
    for (int i = 0; i <= count; i++)
        blocks[i] = pool_take(pool, KIB);
    for (int i = 0; i < count; i += 2)
        pool_release(pool, blocks[i]);
    bg__pool_barrier(pool);
    bg__pool_set_concurrent(pool, concurrent_first);
    pool_release(pool, blocks[1]);
    bg__pool_set_concurrent(pool, true);
    assert_true(pool_take(pool, (size_t)count * KIB) > blocks[count]);
    bg__pool_set_concurrent(pool, false);
    assert_ptr_equal(pool_take(pool, (size_t)count * KIB), blocks[0]);
    pool_end(pool);
}

FIXTURE_TEST(test_parts_of_released_blocks_wait)
{
    MADE_POOL(pool);
    expect_rest_waits(pool);
    expect_joined_wait(pool, 3, false);
    expect_joined_wait(pool, 2, true);
}

/* ---- buckets ---- */

FIXTURE_TEST(test_buckets_share_their_base)
{
    size_t page = pool_page();
    MADE_POOL(pool);
    char *base, *kept;
    bg__bucket_stats figures;

    kept = pool_take(pool, page / 2);
    pool_begin(pool, "large");
    base = pool_pin(pool, 3 * page);
    (void)pool_take(pool, page);
    figures = pool_end(pool);
    assert_int_equal(figures.bytes, 4 * page);
    assert_int_equal(figures.pinned, 3 * page);
    assert_int_equal(pool_stats(pool).mapped, 5 * page);
    assert_int_equal(pool_stats(pool).in_use, page / 2);
    pool_begin(pool, "small");
    assert_ptr_equal(pool_take(pool, page), base);
    assert_true(pool_pin(pool, page) >= base + page);
    assert_int_equal(pool_stats(pool).in_use, page / 2 + 2 * page);
    figures = pool_end(pool);
    assert_int_equal(figures.bytes, 2 * page);
    assert_int_equal(figures.pinned, page);
    assert_int_equal(pool_stats(pool).mapped, 5 * page); /* the largest, and what is kept */
    assert_int_equal(pool_stats(pool).pinned, 3 * page);
    assert_int_equal(pool_stats(pool).peak, 4 * page + page / 2);
    assert_true(kept >= base + 4 * page || kept + page / 2 <= base);
    EXPECT_INVALID(bg__pool_bucket_end(pool, &figures));
    assert_int_equal(figures.bytes, 0);
}

/* A static input that is released while a graph is captured stays as it is until the capture ends. */
FIXTURE_TEST(test_kept_blocks_wait_for_the_bucket)
{
    MADE_POOL(pool);
    char *before = pool_take(pool, KIB), *during = pool_take(pool, KIB);
    void *kept;

    pool_release(pool, before);
    pool_begin(pool, "waits");
    pool_release(pool, during);
    assert_int_equal(pool_stats(pool).in_use, 0);
    EXPECT_OK(bg__pool_alloc_kept(pool, KIB, &kept));
    assert_ptr_equal(kept, before);
    EXPECT_OK(bg__pool_alloc_kept(pool, KIB, &kept));
    assert_true(kept != before && kept != during);
    bg__pool_barrier(pool);
    EXPECT_OK(bg__pool_alloc_kept(pool, KIB, &kept));
    assert_true(kept != during);
    pool_end(pool);
    assert_ptr_equal(pool_take(pool, KIB), during);
}

FIXTURE_TEST(test_pinned_blocks_are_not_reused)
{
    MADE_POOL(pool);
    char *free_block, *pinned;
    pool_begin(pool, "pinned");
    free_block = pool_take(pool, KIB);
    pinned = pool_pin(pool, KIB);
    pool_release(pool, free_block);
    assert_ptr_equal(pool_pin(pool, KIB), free_block); /* from released memory, but never again */
    pool_release(pool, pinned);                        /* warned of, and nothing else */
    assert_true(pool_take(pool, KIB) > pinned);
    assert_int_equal(pool_stats(pool).pinned, 2 * KIB);
    pool_end(pool);
}

/* ---- churn ---- */

/* Random allocations, releases, breaks and buckets: what a block holds is nobody else's, nor was it released since the
 * last break where there are several streams. */
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

FIXTURE_TEST(test_churn)
{
    enum { STEPS = 20000, BLOCKS = 64, RELEASED = 1024 };
    const char *wanted = getenv("BREAKGRAPH_TEST_SEED");
    const int steps = by_size(STEPS / 10, STEPS, STEPS);
    MADE_POOL(pool);
    block blocks[BLOCKS], released[RELEASED];
    int count = 0, released_count = 0;
    bool open = false, concurrent = false;

    churn_state = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 1;
    print_message("seed %u (BREAKGRAPH_TEST_SEED)\n", churn_state);
    for (int i = 0; i < steps; i++) {
        unsigned what = draw(100);
        if (what < 50 && count < BLOCKS) {
            block fresh = {.bytes = 1 + draw(draw(10) ? 4 * KIB : MIB), .kept = !open, .pinned = open && draw(8) == 0};
            fresh.ptr = fresh.pinned ? pool_pin(pool, fresh.bytes) : pool_take(pool, fresh.bytes);
            expect_apart(blocks, count, &fresh);
            if (concurrent && open)
                expect_apart(released, released_count, &fresh);
            blocks[count++] = fresh;
        } else if (what < 92 && count > 0) {
            int at = (int)draw((unsigned)count);
            if (!blocks[at].pinned) {
                pool_release(pool, blocks[at].ptr);
                assert_true(released_count < RELEASED);
                released[released_count++] = blocks[at];
                blocks[at] = blocks[--count];
            }
        } else if (what < 95) {
            concurrent = draw(2);
            bg__pool_set_concurrent(pool, concurrent);
        } else if (what < 98) {
            bg__pool_barrier(pool);
            released_count = 0;
        } else {
            if (open) {
                pool_end(pool);
                drop_bucket_blocks(blocks, &count);
            } else {
                pool_begin(pool, "churn");
            }
            open = !open;
            released_count = 0;
            concurrent = false;
        }
        EXPECT_OK(bg__pool_check(pool));
    }
    assert_true(pool_stats(pool).reused > 0 && pool_stats(pool).pinned > 0);
}
