#include "pool_support.h"

bg_pool_stats pool_stats(const bg_pool *pool)
{
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    EXPECT_OK(bg_pool_get_stats(pool, &stats));
    return stats;
}

bg_pool *pool_make(size_t reserve, size_t limit)
{
    bg_pool *pool;
    EXPECT_OK(bg_pool_create(&pool, POOL_OPTIONS(.reserve_bytes = reserve, .limit_bytes = limit)));
    return pool;
}

char *pool_take(bg_pool *pool, size_t bytes)
{
    void *ptr;
    EXPECT_OK(bg_pool_alloc(pool, bytes, &ptr));
    EXPECT_OK(bg__pool_check(pool));
    assert_non_null(ptr);
    assert_int_equal((uintptr_t)ptr % 256, 0);
    return ptr;
}

char *pool_pin(bg_pool *pool, size_t bytes)
{
    void *ptr;
    EXPECT_OK(bg__pool_alloc_pinned(pool, bytes, &ptr));
    EXPECT_OK(bg__pool_check(pool));
    return ptr;
}

void pool_release(bg_pool *pool, void *ptr)
{
    bg_pool_release(pool, ptr);
    EXPECT_OK(bg__pool_check(pool));
}

void pool_begin(bg_pool *pool, const char *name)
{
    EXPECT_OK(bg__pool_bucket_begin(pool, name));
}

bg__bucket_stats pool_end(bg_pool *pool)
{
    bg__bucket_stats figures;
    EXPECT_OK(bg__pool_bucket_end(pool, &figures));
    EXPECT_OK(bg__pool_check(pool));
    return figures;
}

/* The page size: what the first byte costs. */
size_t pool_page(void)
{
    MADE_POOL(pool);
    pool_take(pool, 1);
    return pool_stats(pool).mapped;
}

/* The device's free memory, with all work done. */
size_t free_device_memory(void)
{
    size_t free_bytes, total;
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemGetInfo(&free_bytes, &total));
    return free_bytes;
}

/* A GPU's driver keeps some of what is freed, for what comes next. */
void expect_given_back(size_t before)
{
    size_t slack = strcmp(bg_device_kind(), "host") == 0 ? 0 : (size_t)16 * MIB;
    size_t now = free_device_memory();
    if (now + slack < before || now > before + slack)
        fail_msg("%zu bytes were free before, %zu are now", before, now);
}
