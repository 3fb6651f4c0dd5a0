/* Several host devices in one process, each case in a process of its own: the number is read once. Host device only. */
#include "tests/support/test.h"
#include "tests/support/child.h"

#include "tests/support/kernels/hostcuda_kernels.h"

TESTS_ON_HOST_DEVICE("HOSTCUDA_DEVICES");

static int three_devices(void)
{
    int count = 0, device = -1;
    cudaStream_t first = NULL, second = NULL;
    cudaEvent_t event = NULL;
    const dim3 one = {1, 1, 1};
    EXPECT(!cudaGetDeviceCount(&count) && count == 3);
    EXPECT(cudaSetDevice(3) == cudaErrorInvalidDevice);
    EXPECT(!cudaStreamCreate(&first) && !cudaEventCreate(&event));
    EXPECT(!cudaSetDevice(2) && !cudaGetDevice(&device) && device == 2);
    EXPECT(!cudaStreamCreate(&second) && !cudaStreamGetDevice(second, &device) && device == 2);
    EXPECT(!cudaStreamGetDevice(first, &device) && device == 0);
    EXPECT(!hk_empty(one, one, 0, second));
    EXPECT(hk_empty(one, one, 0, first) == cudaErrorInvalidResourceHandle);
    EXPECT(cudaEventRecord(event, second) == cudaErrorInvalidResourceHandle);
    EXPECT(!cudaEventRecord(event, first) && !cudaStreamWaitEvent(second, event, 0));
    EXPECT(!cudaStreamSynchronize(second) && !cudaEventQuery(event));
    EXPECT(!cudaStreamDestroy(first) && !cudaStreamDestroy(second) && !cudaEventDestroy(event));
    return 0;
}

static int failure_stays_on_its_device(void)
{
    cudaStream_t stream = NULL;
    EXPECT(!cudaSetDevice(1) && !cudaStreamCreate(&stream) && !hk_trap(stream));
    EXPECT(cudaStreamSynchronize(stream) == cudaErrorLaunchFailure);
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    EXPECT(!cudaSetDevice(0) && !cudaDeviceSynchronize());
    EXPECT(cudaSetDevice(1) == cudaErrorLaunchFailure);
    EXPECT(!cudaStreamDestroy(stream));
    return 0;
}

/* What is freed waits for the work of its own device, too, not only for that of the thread's. */
static int free_waits_for_the_memory(void)
{
    enum { BYTES = 8 << 20 };
    void *memory = NULL, *pinned = NULL;
    cudaStream_t stream = NULL;
    cudaEvent_t event = NULL;
    EXPECT(!cudaSetDevice(1) && !cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    EXPECT(!cudaEventCreate(&event) && !cudaMalloc(&memory, BYTES) && !cudaMallocHost(&pinned, BYTES));
    EXPECT(!cudaMemsetAsync(memory, 1, BYTES, stream) && !cudaEventRecord(event, stream));
    EXPECT(!cudaSetDevice(0) && !cudaFree(memory) && !cudaEventQuery(event));
    EXPECT(!cudaSetDevice(1) && !cudaMemsetAsync(pinned, 1, BYTES, stream) && !cudaEventRecord(event, stream));
    EXPECT(!cudaSetDevice(0) && !cudaFreeHost(pinned) && !cudaEventQuery(event));
    EXPECT(!cudaSetDevice(1) && !cudaStreamSynchronize(stream));
    EXPECT(!cudaStreamDestroy(stream) && !cudaEventDestroy(event));
    return 0;
}

static int refused(void)
{
    int count = -1;
    void *memory = NULL;
    EXPECT(cudaGetDeviceCount(&count) == cudaErrorInitializationError);
    EXPECT(cudaMalloc(&memory, 16) == cudaErrorInitializationError);
    EXPECT(cudaGetLastError() == cudaErrorInitializationError);
    return 0;
}

#define EXPECT_PROGRAM(...) expect_child("HOSTCUDA_DEVICES", &(const struct child){__VA_ARGS__})

TEST(test_three_devices)
{
    EXPECT_PROGRAM("3", three_devices, 0, NULL);
}

TEST(test_failure)
{
    EXPECT_PROGRAM("2", failure_stays_on_its_device, 0, "called __trap");
}

TEST(test_free_of_another_device)
{
    EXPECT_PROGRAM("2", free_waits_for_the_memory, 0, NULL);
}

TEST(test_bad_values)
{
    static const char *const values[] = {"0", "-1", "two", "3x", "65", "99999999999999999999"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        EXPECT_PROGRAM(values[i], refused, 0, "HOSTCUDA_DEVICES");
}
