/* The memory pool: limits, releases that are none, what lives how long, and calls that fail. */
#include "tests/support/runner/pool_support.h"

#include "memory/pool.h"

TEST_VARIABLE(HOSTCUDA_DEVICES, "2"); /* a GPU's machine has what it has */

/* ---- releases that are none ---- */

/* What bg_pool_release says on standard error. */
static void expect_warning(bg_pool *pool, void *ptr, const char *warning)
{
    const char *said;
    size_t in_use = pool_stats(pool).in_use;
    hold_errors();
    bg_pool_release(pool, ptr);
    said = held_errors();
    assert_int_equal(pool_stats(pool).in_use, in_use);
    EXPECT_OK(bg__pool_check(pool));
    if (warning == NULL ? said[0] != '\0' : strstr(said, warning) == NULL)
        fail_msg("bg_pool_release says \"%s\", expected is \"%s\"", said, warning ? warning : "");
}

FIXTURE_TEST(test_what_cannot_be_released)
{
    MADE_POOL(pool);
    MADE_POOL(other);
    char *kept = pool_take(pool, KIB), *foreign = pool_take(other, KIB), *inner, *pinned;

    expect_warning(pool, NULL, NULL);
    expect_warning(pool, f->memory, "does not belong to the pool");
    expect_warning(pool, foreign, "does not belong to the pool");
    expect_warning(pool, kept + 256, "is inside a block");
    bg_pool_release(pool, kept);
    expect_warning(pool, kept, "was already released");
    pool_begin(pool, "short");
    inner = pool_take(pool, KIB);
    pinned = pool_pin(pool, KIB);
    expect_warning(pool, pinned, "belongs to its graph");
    expect_warning(pool, pinned + 4 * KIB, "is not a block");
    pool_end(pool);
    expect_warning(pool, inner, "belongs to a capture that has ended");
}

/* ---- limits ---- */

FIXTURE_TEST(test_the_limit)
{
    void *ptr = f;
    size_t page = pool_page();
    char *kept, text[64];
    OWNED_POOL(pool);

    pool = pool_make(RESERVE, 3 * page);
    kept = pool_take(pool, page);
    pool_begin(pool, "decode-64");
    (void)pool_take(pool, page);
    EXPECT_STATUS(bg_pool_alloc(pool, page + 1, &ptr), BG_ERROR_OUT_OF_MEMORY);
    assert_null(ptr);
    snprintf(text, sizeof text, "requests %zu bytes", page + 1);
    EXPECT_ERROR("decode-64");
    EXPECT_ERROR(text);
    snprintf(text, sizeof text, "%zu bytes are mapped, the limit is %zu bytes", 2 * page, 3 * page);
    EXPECT_ERROR(text);
    EXPECT_ERROR("limit_bytes of the pool's options (for a runner: memory_limit");
    EXPECT_ERROR("smaller sizes");
    EXPECT_OK(bg__pool_check(pool));
    assert_int_equal(pool_stats(pool).mapped, 2 * page);
    (void)pool_take(pool, page); /* the pool is as it was */
    pool_end(pool);
    EXPECT_FAILS(bg_pool_alloc(pool, page, &ptr), BG_ERROR_OUT_OF_MEMORY, "outside the buckets");
    pool_release(pool, kept);
    assert_ptr_equal(pool_take(pool, page), kept);
}

FIXTURE_TEST(test_the_reserve)
{
    void *ptr = f;
    MADE_POOL(pool);
    EXPECT_FAILS(bg_pool_alloc(pool, RESERVE + 1, &ptr), BG_ERROR_OUT_OF_MEMORY, "options.reserve_bytes");
    EXPECT_ERROR("the limit is none");
    for (size_t less = 0; less < 300; less += 50)
        EXPECT_STATUS(bg_pool_alloc(pool, SIZE_MAX - less, &ptr), BG_ERROR_OUT_OF_MEMORY);
    pool_take(pool, RESERVE / 2);
    pool_begin(pool, "rest");
    pool_take(pool, RESERVE / 4);
    EXPECT_STATUS(bg_pool_alloc(pool, RESERVE / 2, &ptr), BG_ERROR_OUT_OF_MEMORY);
    pool_take(pool, RESERVE / 4);
    assert_int_equal(pool_stats(pool).mapped, RESERVE);
    pool_end(pool);
}

FIXTURE_TEST(test_arguments)
{
    bg_pool *none = (bg_pool *)f;
    bg_pool_stats stats = BG_POOL_STATS_INIT;
    void *ptr;
    MADE_POOL(pool);

    EXPECT_INVALID(bg_pool_create(NULL, NULL));
    EXPECT_FAILS(bg_pool_create(&none, POOL_OPTIONS(.struct_size = 1)), BG_ERROR_INVALID_ARGUMENT,
                 "BG_POOL_OPTIONS_INIT");
    assert_null(none);
    EXPECT_FAILS(bg_pool_create(&none, POOL_OPTIONS(.reserve_bytes = SIZE_MAX)), BG_ERROR_INVALID_ARGUMENT,
                 "reserve_bytes");
    EXPECT_INVALID(bg_pool_alloc(NULL, 1, &ptr));
    EXPECT_INVALID(bg_pool_alloc(pool, 1, NULL));
    EXPECT_INVALID(bg_pool_get_stats(NULL, &stats));
    EXPECT_INVALID(bg_pool_get_stats(pool, NULL));
    stats.struct_size = 2;
    EXPECT_INVALID(bg_pool_get_stats(pool, &stats));
    stats.struct_size = offsetof(bg_pool_stats, peak);
    stats.peak = 77;
    EXPECT_OK(bg_pool_get_stats(pool, &stats)); /* an older program's */
    assert_int_equal(stats.peak, 77);
}

/* ---- life ---- */

/* Work in flight keeps the memory. */
FIXTURE_TEST(test_destroy_waits_for_work)
{
    enum { ROUNDS = 50 };
    bg_pool *pool = pool_make(RESERVE, 0);
    size_t n = 16 * MIB / sizeof(float);
    float *block = (float *)pool_take(pool, n * sizeof(float));
    EXPECT_CUDA(bgk_fill(block, 1, n, f->stream));
    for (int i = 0; i < ROUNDS; i++)
        EXPECT_CUDA(bgk_scale(block, block, 1, n, f->stream));
    EXPECT_CUDA(cudaMemcpyAsync(f->x.data, block + n - N, N * sizeof(float), cudaMemcpyDeviceToDevice, f->stream));
    bg_pool_destroy(pool);
    assert_true(get(&f->x) == 1);
}

FIXTURE_TEST(test_references)
{
    size_t before = free_device_memory();
    bg_pool *pool = pool_make(RESERVE, 0);
    float *block = (float *)pool_take(pool, N * sizeof(float));
    bg_tensor view = bg_tensor_1d(block, BG_F32, N);
    pool_take(pool, 99 * MIB);
    bg__pool_retain(pool);
    bg_pool_destroy(pool);
    put(&view, 5);
    assert_true(get(&view) == 5);
    bg_pool_destroy(pool);
    expect_given_back(before);
}

FIXTURE_TEST(test_another_device)
{
    void *ptr = f;
    bg_capture *capture;
    cudaStream_t stream;
    OWNED_POOL(pool);

    need_two_devices();
    pool = pool_make(RESERVE, 0);
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_FAILS(bg_pool_alloc(pool, 1, &ptr), BG_ERROR_INVALID_ARGUMENT, "cudaSetDevice(0)");
    EXPECT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    EXPECT_FAILS(bg_capture_begin(&capture, stream, OPTIONS(.pool = pool)), BG_ERROR_INVALID_ARGUMENT,
                 "the pool belongs to device 0");
    EXPECT_CUDA(cudaStreamDestroy(stream));
    EXPECT_CUDA(cudaSetDevice(0));
    EXPECT_OK(bg_pool_alloc(pool, 1, &ptr));
}

/* ---- calls that fail ---- */

TESTS_ON_HOST_DEVICE("that calls fail on request");

FAULT_TEST(test_driver_calls_that_fail_at_create)
{
    static const char *const calls[] = {"cuMemGetAllocationGranularity",
                                        "cuMemAddressReserve",
                                        "cudaMalloc",
                                        "cudaGetDevice",
                                        "cudaEventCreateWithFlags",
                                        "cudaGetDriverEntryPointByVersion"};
    size_t before = free_device_memory();
    struct hostcuda_live live = hostcuda_count_live();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char fault[100];
        bg_pool *pool;
        snprintf(fault, sizeof fault, "%s@1=800", calls[i]);
        fail_calls(fault);
        EXPECT_STATUS(bg_pool_create(&pool, NULL), BG_ERROR_CUDA);
        assert_int_equal(hostcuda_faults(), 1);
        EXPECT_ERROR(calls[i]);
        EXPECT_ERROR("cudaErrorNotPermitted");
        assert_null(pool);
        fail_calls(NULL);
        assert_int_equal(hostcuda_count_live().blocks, live.blocks);
        assert_int_equal(hostcuda_count_live().events, live.events);
        assert_int_equal(free_device_memory(), before);
        EXPECT_CUDA(cudaGetLastError());
    }
}

FAULT_TEST(test_what_a_device_lacks_at_create)
{
    bg_pool *pool = (bg_pool *)f;
    static const char *const unsupported[] = {"cuMemGetAllocationGranularity@1=CUDA_ERROR_NOT_SUPPORTED",
                                              "cuMemAddressReserve@1=CUDA_ERROR_NOT_SUPPORTED"};
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++) {
        fail_calls(unsupported[i]);
        EXPECT_FAILS(bg_pool_create(&pool, NULL), BG_ERROR_UNSUPPORTED,
                     "bg_pool_create: device 0 does not support virtual memory management");
        assert_null(pool);
        fail_calls(NULL);
    }
    EXPECT_FAILS(bg_pool_create(&pool, POOL_OPTIONS(.reserve_bytes = (size_t)1 << 60)), BG_ERROR_OUT_OF_MEMORY,
                 "1152921504606846976 bytes of virtual addresses");
    EXPECT_ERROR("lower options.reserve_bytes");
    assert_null(pool);
}

/* A process may have fewer addresses than the device has memory: then a pool that asked for no size has fewer. */
FAULT_TEST(test_fewer_addresses)
{
    static const char *const fault = "cuMemAddressReserve@1=CUDA_ERROR_OUT_OF_MEMORY";
    size_t whole, half, free_bytes, total;
    bg_pool *pool;
    void *ptr;

    EXPECT_CUDA(cudaMemGetInfo(&free_bytes, &total));
    if (total < (size_t)4 << 30) {
        print_message("skipped: the device has less than 4 GiB, too little for two halves\n");
        skip();
    }
    EXPECT_OK(bg_pool_create(&pool, NULL));
    whole = pool->pages.bytes;
    bg_pool_destroy(pool);
    fail_calls(fault);
    EXPECT_OK(bg_pool_create(&pool, NULL));
    assert_int_equal(hostcuda_faults(), 1);
    half = pool->pages.bytes;
    assert_in_range(half, whole / 2 - pool->pages.granularity, whole / 2);
    EXPECT_OK(bg_pool_alloc(pool, 1, &ptr));
    bg_pool_destroy(pool);

    /* One that asked has what it asked for, or nothing. */
    fail_calls(fault);
    EXPECT_FAILS(bg_pool_create(&pool, POOL_OPTIONS(.reserve_bytes = whole)), BG_ERROR_OUT_OF_MEMORY,
                 "lower options.reserve_bytes");
    fail_calls(NULL);
}

FAULT_TEST(test_driver_calls_that_fail_in_growth)
{
    void *ptr = f;
    static const char *const calls[] = {"cuMemCreate", "cuMemMap", "cuMemSetAccess"};
    size_t page = pool_page(), before = free_device_memory();
    struct hostcuda_live live = hostcuda_count_live();
    bg_pool *pool = pool_make(RESERVE, 0);
    char *first;

    pool_begin(pool, "grows");
    first = pool_take(pool, page);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char fault[100];
        size_t left = free_device_memory();
        snprintf(fault, sizeof fault, "%s@1=CUDA_ERROR_OUT_OF_MEMORY", calls[i]);
        fail_calls(fault);
        EXPECT_STATUS(bg_pool_alloc(pool, 2 * page, &ptr), BG_ERROR_OUT_OF_MEMORY);
        assert_int_equal(hostcuda_faults(), 1);
        EXPECT_ERROR(calls[i]);
        EXPECT_ERROR("bucket grows");
        EXPECT_ERROR("smaller sizes");
        assert_null(ptr);
        fail_calls(NULL);
        assert_int_equal(free_device_memory(), left); /* the half-made mapping is gone */
        assert_int_equal(pool_stats(pool).mapped, page * (i + 1));
        EXPECT_OK(bg__pool_check(pool));
        assert_true(pool_take(pool, page) > first);
        EXPECT_CUDA(cudaGetLastError());
    }
    pool_end(pool);
    bg_pool_destroy(pool);
    assert_int_equal(free_device_memory(), before);
    assert_int_equal(hostcuda_count_live().blocks, live.blocks);
}

TESTS_ON_ANY_DEVICE;

/* The device really has no more. */
FIXTURE_TEST(test_device_memory_runs_out)
{
    size_t left = free_device_memory();
    bg_pool *pool;
    void *ptr = f, *small;
    EXPECT_OK(bg_pool_create(&pool, NULL));
    EXPECT_OK(bg_pool_alloc(pool, KIB, &small));
    EXPECT_FAILS(bg_pool_alloc(pool, left, &ptr), BG_ERROR_OUT_OF_MEMORY, "outside the buckets");
    EXPECT_OK(bg__pool_check(pool));
    EXPECT_OK(bg_pool_alloc(pool, KIB, &ptr));
    bg_pool_destroy(pool);
    EXPECT_CUDA(cudaGetLastError());
}
