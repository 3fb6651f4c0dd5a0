/* The driver's current context: what a thread without one can do, and which one calls of the runtime bring back. */
#include "tests/support/cuda_support.h"

#include <pthread.h>

DRIVER_ENTRY(cu_get_current, cuCtxGetCurrent, 4000);
DRIVER_ENTRY(cu_set_current, cuCtxSetCurrent, 4000);
DRIVER_ENTRY(cu_get_device, cuCtxGetDevice, 2000);
DRIVER_ENTRY(cu_synchronize, cuCtxSynchronize, 2000);
DRIVER_ENTRY(cu_allocate, cuMemAlloc, 3020);
DRIVER_ENTRY(cu_allocate_host, cuMemAllocHost, 3020);
DRIVER_ENTRY(cu_memory, cuMemGetInfo, 3020);
DRIVER_ENTRY(cu_make_stream, cuStreamCreate, 2000);
DRIVER_ENTRY(cu_make_event, cuEventCreate, 2000);
DRIVER_ENTRY(cu_wait, cuStreamSynchronize, 2000);
DRIVER_ENTRY(cu_count, cuDeviceGetCount, 2000);

/* Begins the device's context, too. */
static int setup(void **state)
{
    make_shared(state);
    OK(cudaFree(NULL));
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
    a->current = cu_get_current(&a->context);
    a->allocate = cu_allocate(&memory, 64);
    a->allocate_host = cu_allocate_host(&host, 64);
    a->memory = cu_memory(&available, &total);
    a->stream = cu_make_stream(&stream, CU_STREAM_DEFAULT);
    a->event = cu_make_event(&event, CU_EVENT_DEFAULT);
    a->wait = cu_wait(NULL);
    a->synchronize = cu_synchronize();
    a->device = cu_get_device(&device);
    a->count = cu_count(&count);
    a->runtime = cudaMalloc(&block, 64);
    if (!a->runtime)
        a->runtime = cudaFree(block);
    a->again = cu_get_current(&a->after);
    return NULL;
}

static void expect_no_context(const struct answers *a)
{
    CUcontext ours = NULL;
    CU_OK(cu_get_current(&ours));
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
    CU_OK(cu_set_current(NULL));
    ask(&answers);
    expect_no_context(&answers);
}

/* A context that is made current again is as good as one that the runtime brings back. */
TEST(test_made_current)
{
    CUcontext ours = NULL;
    CUdevice device = -1;
    CU_OK(cu_get_current(&ours));
    CU_OK(cu_set_current(NULL));
    CU_OK(cu_set_current(ours));
    CU_OK(cu_get_device(&device));
    assert_int_equal(device, 0);
    CU_OK(cu_wait(NULL));
}

TEST_GROUP(setup, NULL);
