/* cudaDeviceReset and the flags of a device, by the runtime and by the driver's primary context. */
#include "tests/support/cuda_support.h"

DRIVER_ENTRY(get_state, cuDevicePrimaryCtxGetState, 7000);
DRIVER_ENTRY(set_flags, cuDevicePrimaryCtxSetFlags, 11000);
DRIVER_ENTRY(reset_context, cuDevicePrimaryCtxReset, 11000);

TEST(test_reset)
{
    int *before = device_memory(64);
    OK(cudaDeviceReset());
    EXPECT_INVALID(cudaFree(before));
    DEVICE_MEMORY(int, after, 16);
    OK(cudaMemset(after, 1, 64));
    assert_int_equal(read_int(after, NULL), 0x01010101);
}

/* That of cudaMalloc is free again; what a stream allocated is not (measured), since its pool holds it. */
TEST(test_reset_keeps_what_streams_allocated)
{
    const size_t half = 32 << 20; /* a context takes some memory of its own, not always as much */
    void *plain = NULL, *ordered = NULL;
    size_t free_before = 0, free_after = 0, total = 0;
    OK(cudaDeviceReset());
    OK(cudaMemGetInfo(&free_before, &total));
    OK(cudaMalloc(&plain, 2 * half));
    OK(cudaMallocAsync(&ordered, 2 * half, NULL));
    OK(cudaDeviceReset());
    OK(cudaMemGetInfo(&free_after, &total));
    print_message("free: %zu bytes before, %zu after\n", free_before, free_after);
    assert_true(free_after + half < free_before);
    assert_true(free_after + 3 * half > free_before);
    if (hostcuda_fail) /* nobody has asked CUDA whether it is still of use */
        OK(cudaFree(ordered));
}

TEST(test_flags)
{
    static const unsigned good[] = {cudaDeviceScheduleAuto, cudaDeviceScheduleSpin, cudaDeviceScheduleYield,
                                    cudaDeviceScheduleBlockingSync, cudaDeviceScheduleSpin | cudaDeviceMapHost};
    static const unsigned bad[] = {3, 5, 6, 7, 0xffff};
    unsigned flags = 0;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        OK(cudaSetDeviceFlags(good[i]));
        OK(cudaGetDeviceFlags(&flags));
        assert_int_equal(flags & cudaDeviceScheduleMask, good[i] & cudaDeviceScheduleMask);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT_INVALID(cudaSetDeviceFlags(bad[i]));
    EXPECT_INVALID(cudaGetDeviceFlags(NULL));
    OK(cudaDeviceReset());
    OK(cudaGetDeviceFlags(&flags));
    /* what the other flags are until the device is used again is not told */
    assert_int_equal(flags & cudaDeviceScheduleMask, cudaDeviceScheduleAuto);
}

TEST(test_primary_context)
{
    unsigned flags = 0;
    int active = 0;
    int *memory = device_memory(64);
    CU_OK(get_state(0, &flags, &active));
    assert_int_equal(active, 1);
    CU_OK(set_flags(0, CU_CTX_SCHED_YIELD));
    CU_OK(get_state(0, &flags, &active));
    assert_int_equal(flags & CU_CTX_SCHED_MASK, CU_CTX_SCHED_YIELD);
    CU_INVALID(set_flags(0, 0xffff));
    CU_EXPECT(set_flags(1000, 0), CUDA_ERROR_INVALID_DEVICE);
    CU_OK(reset_context(0));
    EXPECT_INVALID(cudaFree(memory));
    CU_EXPECT(reset_context(1000), CUDA_ERROR_INVALID_DEVICE);
    CU_EXPECT(get_state(1000, &flags, &active), CUDA_ERROR_INVALID_DEVICE);
}

TEST_GROUP(make_shared, drop_shared);
