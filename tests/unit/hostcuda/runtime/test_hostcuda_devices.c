/* Several host devices in one process, each case in a process of its own: the number is read once. Host device only. */
#include "tests/support/test.h"
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/kernels/hostcuda_kernels.h"

TESTS_ON_HOST_DEVICE("HOSTCUDA_DEVICES");

/* The line of the first broken expectation, as an exit status. */
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return __LINE__ % 250 + 1;                                                                                 \
    } while (0)

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

static void in_process(const char *devices, int (*run)(void))
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(setenv("HOSTCUDA_DEVICES", devices, 1) ? 255 : run());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(test_three_devices)
{
    in_process("3", three_devices);
}

TEST(test_failure)
{
    in_process("2", failure_stays_on_its_device);
}

TEST(test_free_of_another_device)
{
    in_process("2", free_waits_for_the_memory);
}

TEST(test_bad_values)
{
    static const char *const values[] = {"0", "-1", "two", "3x", "65", "99999999999999999999"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        in_process(values[i], refused);
}
