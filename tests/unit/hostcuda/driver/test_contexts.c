/* The driver's current context: what a thread without one can do, and which one calls of the runtime bring back. */
#include "tests/support/test.h"
#include "tests/support/cuda_support.h"

#include <cudaTypedefs.h>
#include <pthread.h>

static struct {
    PFN_cuCtxGetCurrent_v4000 get_current;
    PFN_cuCtxSetCurrent_v4000 set_current;
    PFN_cuCtxGetDevice_v2000 get_device;
    PFN_cuCtxSynchronize_v2000 synchronize;
    PFN_cuMemAlloc_v3020 allocate;
    PFN_cuMemAllocHost_v3020 allocate_host;
    PFN_cuMemGetInfo_v3020 memory;
    PFN_cuStreamCreate_v2000 make_stream;
    PFN_cuEventCreate_v2000 make_event;
    PFN_cuStreamSynchronize_v2000 wait;
    PFN_cuDeviceGetCount_v2000 count;
} cu;

static int setup(void **state)
{
    (void)state;
    driver_entry("cuCtxGetCurrent", 4000, &cu.get_current);
    driver_entry("cuCtxSetCurrent", 4000, &cu.set_current);
    driver_entry("cuCtxGetDevice", 2000, &cu.get_device);
    driver_entry("cuCtxSynchronize", 2000, &cu.synchronize);
    driver_entry("cuMemAlloc", 3020, &cu.allocate);
    driver_entry("cuMemAllocHost", 3020, &cu.allocate_host);
    driver_entry("cuMemGetInfo", 3020, &cu.memory);
    driver_entry("cuStreamCreate", 2000, &cu.make_stream);
    driver_entry("cuEventCreate", 2000, &cu.make_event);
    driver_entry("cuStreamSynchronize", 2000, &cu.wait);
    driver_entry("cuDeviceGetCount", 2000, &cu.count);
    OK(cudaFree(NULL)); /* begins the device's context */
    return 0;
}

/* In a thread of its own, whose failures are told by the answers alone. */
struct answers {
    CUresult current, allocate, allocate_host, memory, stream, event, wait, synchronize, device, count, again;
    CUcontext context, after;
    cudaError_t runtime;
};

static void *ask(void *data)
{
    struct answers *a = data;
    CUdeviceptr memory = 0;
    CUstream stream = NULL;
    CUevent event = NULL;
    CUdevice device = 0;
    void *host = NULL, *block = NULL;
    size_t available = 0, total = 0;
    int count = 0;
    a->current = cu.get_current(&a->context);
    a->allocate = cu.allocate(&memory, 64);
    a->allocate_host = cu.allocate_host(&host, 64);
    a->memory = cu.memory(&available, &total);
    a->stream = cu.make_stream(&stream, CU_STREAM_DEFAULT);
    a->event = cu.make_event(&event, CU_EVENT_DEFAULT);
    a->wait = cu.wait(NULL);
    a->synchronize = cu.synchronize();
    a->device = cu.get_device(&device);
    a->count = cu.count(&count);
    a->runtime = cudaMalloc(&block, 64);
    if (!a->runtime)
        a->runtime = cudaFree(block);
    a->again = cu.get_current(&a->after);
    return NULL;
}

static void expect_no_context(const struct answers *a)
{
    CUcontext ours = NULL;
    CU_OK(cu.get_current(&ours));
    CU_OK(a->current);
    assert_null(a->context);
    CU_EXPECT(a->allocate, CUDA_ERROR_INVALID_CONTEXT);
    CU_EXPECT(a->allocate_host, CUDA_ERROR_INVALID_CONTEXT);
    CU_EXPECT(a->memory, CUDA_ERROR_INVALID_CONTEXT);
    CU_EXPECT(a->stream, CUDA_ERROR_INVALID_CONTEXT);
    CU_EXPECT(a->event, CUDA_ERROR_INVALID_CONTEXT);
    CU_EXPECT(a->wait, CUDA_ERROR_INVALID_CONTEXT);
    CU_EXPECT(a->synchronize, CUDA_ERROR_INVALID_CONTEXT);
    CU_EXPECT(a->device, CUDA_ERROR_INVALID_CONTEXT);
    CU_OK(a->count);
    OK(a->runtime);
    CU_OK(a->again);
    assert_ptr_equal(a->after, ours);
}

TEST(test_new_thread)
{
    struct answers answers = {0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask, &answers), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_no_context(&answers);
}

TEST(test_none)
{
    struct answers answers = {0};
    CU_OK(cu.set_current(NULL));
    ask(&answers);
    expect_no_context(&answers);
}

/* A context that is made current again is as good as one that the runtime brings back. */
TEST(test_made_current)
{
    CUcontext ours = NULL;
    CUdevice device = -1;
    CU_OK(cu.get_current(&ours));
    CU_OK(cu.set_current(NULL));
    CU_OK(cu.set_current(ours));
    CU_OK(cu.get_device(&device));
    assert_int_equal(device, 0);
    CU_OK(cu.wait(NULL));
}

TEST_GROUP(setup, NULL);
