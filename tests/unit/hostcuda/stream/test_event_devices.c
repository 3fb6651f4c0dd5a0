/* Events of two devices: where they can be recorded and waited for, and the time between them. */
#include "tests/support/cuda_support.h"

TEST_VARIABLE(HOSTCUDA_DEVICES, "2");

static int devices;
static cudaStream_t streams[2];
static cudaEvent_t first[2], second[2]; /* recorded on their devices' streams, and reached */

static int setup(void **state)
{
    (void)state;
    OK(cudaGetDeviceCount(&devices));
    for (int i = 0; i < 2 && devices >= 2; i++) {
        OK(cudaSetDevice(i));
        OK(cudaStreamCreate(&streams[i]));
        OK(cudaEventCreate(&first[i]));
        OK(cudaEventCreate(&second[i]));
        OK(cudaEventRecord(first[i], streams[i]));
        OK(cudaEventRecord(second[i], streams[i]));
        OK(cudaStreamSynchronize(streams[i]));
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 2 && devices >= 2; i++) {
        OK(cudaEventDestroy(first[i]));
        OK(cudaEventDestroy(second[i]));
        OK(cudaStreamDestroy(streams[i]));
    }
    return 0;
}

static void need_devices(void)
{
    skip_unless(devices >= 2, "needs two devices, and there %s %d", devices == 1 ? "is" : "are", devices);
}

DRIVER_ENTRY(elapsed, cuEventElapsedTime, 12080);
SHARED_TEST(test_elapsed)
{
    need_devices();
    for (int i = 0; i < 2; i++) {
        float ms = -77;
        OK(cudaSetDevice(i));
        for (int device = 0; device < 2; device++) /* the current device does not matter */
            OK(cudaEventElapsedTime(&ms, first[device], second[device]));
        assert_true(ms >= 0);
        ms = -77;
        EXPECT_CODE(cudaEventElapsedTime(&ms, first[0], second[1]), cudaErrorInvalidResourceHandle);
        EXPECT_CODE(cudaEventElapsedTime(&ms, first[1], second[0]), cudaErrorInvalidResourceHandle);
        CU_EXPECT(elapsed(&ms, first[0], second[1]), CUDA_ERROR_INVALID_HANDLE);
        assert_true(ms == -77);
    }
}

TEST(test_record_and_wait)
{
    need_devices();
    EXPECT_CODE(cudaEventRecord(first[0], streams[1]), cudaErrorInvalidResourceHandle);
    EXPECT_CODE(cudaEventRecord(first[1], streams[0]), cudaErrorInvalidResourceHandle);
    OK(cudaStreamWaitEvent(streams[0], first[1], 0));
    OK(cudaStreamWaitEvent(streams[1], first[0], 0));
    for (int i = 0; i < 2; i++) {
        OK(cudaStreamSynchronize(streams[i]));
        OK(cudaEventSynchronize(first[i]));
        OK(cudaEventQuery(first[i]));
    }
}

TEST_GROUP(setup, teardown);
