/* How many blocks run at once, as programs ask before they shape a launch. */
#include "tests/support/cuda_support.h"

#include "tests/support/kernels/graph_kernels.h"

static int blocks_of(int threads, size_t shared_bytes)
{
    int blocks = -1, again = -1;
    const void *kernel = gk_add_function();
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&again, kernel, threads, shared_bytes,
                                                              cudaOccupancyDisableCachingOverride));
    assert_int_equal(again, blocks);
    return blocks;
}

TEST(test_blocks)
{
    struct cudaDeviceProp properties;
    OK(cudaGetDeviceProperties(&properties, 0));
    int most = properties.maxThreadsPerMultiProcessor;
    assert_int_equal(blocks_of(1024, 0), most / 1024);
    assert_int_equal(blocks_of(1, 0), properties.maxBlocksPerMultiProcessor);
    int full = blocks_of(1024, 48 << 10);
    assert_true(full >= 1 && full * 1024 <= most);
    assert_true(blocks_of(128, 32 << 10) < blocks_of(128, 0));
}

TEST(test_memory)
{
    size_t one = 0, two = 0;
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&one, gk_add_function(), 1, 128));
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&two, gk_add_function(), 16, 128));
    assert_true(one >= 48 << 10 && two > 0 && two < one);
    assert_true(blocks_of(128, two) < 16); /* what each block needs besides is not taken off */
    assert_true(blocks_of(128, two - 1024) >= 16);
}

TEST(test_shape)
{
    int grid = 0, block = 0;
    OK(gk_add_shape(&grid, &block));
    assert_true(grid > 0 && block > 0 && block <= 1024);
    EXPECT_INVALID(gk_add_shape(NULL, &block));
    EXPECT_INVALID(gk_add_shape(&grid, NULL));
}

TEST(test_refused)
{
    int blocks = 0;
    const void *kernel = gk_add_function();
    EXPECT_INVALID(cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, kernel, 128, 0));
    EXPECT_INVALID(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 0, 0));
    EXPECT_CODE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 128, 0), cudaErrorInvalidDeviceFunction);
    EXPECT_INVALID(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, kernel, 128, 0, 2));
}

DRIVER_ENTRY(count, cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050);
SHARED_TEST(test_driver)
{
    cudaFunction_t function = function_of(gk_add_function());
    int blocks = 0;
    CU_OK(count(&blocks, function, 256, 0));
    assert_int_equal(blocks, blocks_of(256, 0));
    CU_INVALID(count(NULL, function, 256, 0));
}
