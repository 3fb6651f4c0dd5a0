/* Conformance: memory, copies, streams, events, errors, host functions. One source for both devices. */
#include "tests/support/test.h"
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <string.h>

#include "conformance_kernels.h"
#include "step.h"

#define GIVES(call, error)                                                                                             \
    do {                                                                                                               \
        assert_int_equal((call), (error));                                                                             \
        assert_int_equal(cudaGetLastError(), (error));                                                                 \
    } while (0)

static int *device_int(int value)
{
    int *x = NULL;
    STEP(cudaMalloc((void **)&x, sizeof *x));
    STEP(cudaMemcpy(x, &value, sizeof value, cudaMemcpyHostToDevice));
    return x;
}

static int take(int *x)
{
    int value = 0;
    STEP(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost));
    STEP(cudaFree(x));
    return value;
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

TEST(test_allocations)
{
    char *memory = NULL, *pinned = NULL, local = 0;
    STEP(cudaMalloc((void **)&memory, 1000));
    assert_int_equal((uintptr_t)memory % 256, 0);
    GIVES(cudaFree(memory + 8), cudaErrorInvalidValue);
    GIVES(cudaFree(&local), cudaErrorInvalidValue);
    GIVES(cudaFree(NULL), cudaSuccess);
    STEP(cudaFree(memory));
    GIVES(cudaFree(memory), cudaErrorInvalidValue);
    STEP(cudaHostAlloc((void **)&pinned, 100, cudaHostAllocDefault));
    memset(pinned, 1, 100);
    STEP(cudaFreeHost(pinned));
    GIVES(cudaHostAlloc((void **)&pinned, 100, 0x1000), cudaErrorInvalidValue);
    GIVES(cudaMalloc(NULL, 16), cudaErrorInvalidValue);
    GIVES(cudaMalloc((void **)&memory, (size_t)1 << 50), cudaErrorMemoryAllocation);
}

TEST(test_pointer_attributes)
{
    char *memory = NULL, *pinned = NULL, local = 0;
    struct cudaPointerAttributes attributes;
    STEP(cudaMalloc((void **)&memory, 64));
    STEP(cudaMallocHost((void **)&pinned, 64));
    STEP(cudaPointerGetAttributes(&attributes, memory + 63));
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    assert_ptr_equal(attributes.devicePointer, memory + 63);
    STEP(cudaPointerGetAttributes(&attributes, pinned));
    assert_int_equal(attributes.type, cudaMemoryTypeHost);
    assert_ptr_equal(attributes.hostPointer, pinned);
    STEP(cudaPointerGetAttributes(&attributes, &local));
    assert_int_equal(attributes.type, cudaMemoryTypeUnregistered);
    STEP(cudaFree(memory));
    STEP(cudaFreeHost(pinned));
}

static void expect_type(const void *memory, enum cudaMemoryType type)
{
    struct cudaPointerAttributes attributes;
    STEP(cudaPointerGetAttributes(&attributes, memory));
    assert_int_equal(attributes.type, type);
    assert_true((attributes.devicePointer != NULL) == (type == cudaMemoryTypeDevice));
}

/* A graph's allocation is known from a launch until it is freed, by the graph or after it. */
TEST(test_pointer_of_a_graph)
{
    for (int freed = 0; freed < 2; freed++) {
        cudaStream_t stream = NULL;
        cudaGraph_t graph = NULL;
        cudaGraphExec_t exec = NULL;
        void *memory = NULL;
        STEP(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        STEP(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        STEP(cudaMallocAsync(&memory, 256, stream));
        STEP(cudaMemsetAsync(memory, 1, 256, stream));
        expect_type(memory, cudaMemoryTypeUnregistered);
        if (freed)
            STEP(cudaFreeAsync(memory, stream));
        STEP(cudaStreamEndCapture(stream, &graph));
        STEP(cudaGraphInstantiate(&exec, graph, 0));
        expect_type(memory, cudaMemoryTypeUnregistered);
        STEP(cudaGraphLaunch(exec, stream));
        STEP(cudaStreamSynchronize(stream));
        expect_type(memory, freed ? cudaMemoryTypeUnregistered : cudaMemoryTypeDevice);
        if (!freed) {
            STEP(cudaFreeAsync(memory, stream));
            STEP(cudaStreamSynchronize(stream));
            expect_type(memory, cudaMemoryTypeUnregistered);
        }
        STEP(cudaGraphExecDestroy(exec));
        STEP(cudaGraphDestroy(graph));
        STEP(cudaStreamDestroy(stream));
    }
}

TEST(test_ordered_memory)
{
    cudaStream_t stream = NULL;
    int *memory = NULL, *again = NULL, *result = device_int(0);
    STEP(cudaStreamCreate(&stream));
    STEP(cudaMallocAsync((void **)&memory, sizeof *memory, stream));
    STEP(cudaMemsetAsync(memory, 0, sizeof *memory, stream));
    STEP(ck_add(memory, 3, stream));
    STEP(cudaMemcpyAsync(result, memory, sizeof *memory, cudaMemcpyDeviceToDevice, stream));
    STEP(cudaFreeAsync(memory, stream));
    STEP(cudaMallocAsync((void **)&again, sizeof *again, stream));
    STEP(cudaStreamSynchronize(stream));
    STEP(cudaFree(again)); /* plain frees are allowed, too */
    assert_int_equal(take(result), 3);
    STEP(cudaStreamDestroy(stream));
}

/* ---- copies -------------------------------------------------------------------------------------------------------
 */

TEST(test_copy_checks)
{
    char *memory = NULL, host[64] = {0};
    STEP(cudaMalloc((void **)&memory, 64));
    GIVES(cudaMemcpy(memory, host, 64, (enum cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    GIVES(cudaMemcpy(NULL, host, 64, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    GIVES(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice), cudaSuccess);
    GIVES(cudaMemset(NULL, 0, 64), cudaErrorInvalidValue);
    GIVES(cudaMemcpy2D(memory, 4, host, 8, 8, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    STEP(cudaFree(memory));
}

TEST(test_overrun)
{
    static char host[(4 << 20) + 1];
    char *memory = NULL;
    STEP(cudaMalloc((void **)&memory, 4 << 20)); /* whole pages on a GPU, so that it notices */
    GIVES(cudaMemcpy(memory, host, sizeof host, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    GIVES(cudaMemset(memory + 1, 0, 4 << 20), cudaErrorInvalidValue);
    STEP(cudaFree(memory));
}

TEST(test_pageable_snapshot)
{
    cudaStream_t stream = NULL;
    int host = 5, back = 0, *x = device_int(0);
    STEP(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    STEP(cudaMemcpyAsync(x, &host, sizeof host, cudaMemcpyHostToDevice, stream));
    host = 6;
    STEP(ck_add(x, 10, stream));
    STEP(cudaMemcpyAsync(&back, x, sizeof back, cudaMemcpyDeviceToHost, stream));
    assert_int_equal(back, 15); /* without a wait */
    STEP(cudaStreamDestroy(stream));
    STEP(cudaFree(x));
}

TEST(test_rows)
{
    unsigned char host[4][8], back[4][5], *memory = NULL;
    for (int i = 0; i < 32; i++)
        host[i / 8][i % 8] = (unsigned char)i;
    STEP(cudaMalloc((void **)&memory, 64));
    STEP(cudaMemset(memory, 0, 64));
    STEP(cudaMemcpy2D(memory, 16, host, 8, 5, 4, cudaMemcpyHostToDevice));
    STEP(cudaMemcpy2D(back, 5, memory, 16, 5, 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 20; i++)
        assert_int_equal(back[i / 5][i % 5], host[i / 5][i % 5]);
    STEP(cudaFree(memory));
}

/* ---- streams and events
 * ---------------------------------------------------------------------------------------------- */

TEST(test_stream_questions)
{
    cudaStream_t stream = NULL, other = NULL;
    unsigned flags = 0;
    unsigned long long id = 0, other_id = 0;
    int device = -1, least = 0, greatest = 0, priority = 1;
    STEP(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    assert_true(greatest <= least);
    STEP(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
    STEP(cudaStreamCreate(&other));
    STEP(cudaStreamGetFlags(stream, &flags));
    assert_int_equal(flags, cudaStreamNonBlocking);
    STEP(cudaStreamGetPriority(stream, &priority));
    assert_int_equal(priority, greatest);
    STEP(cudaStreamGetDevice(stream, &device));
    assert_int_equal(device, 0);
    STEP(cudaStreamGetId(stream, &id));
    STEP(cudaStreamGetId(other, &other_id));
    assert_true(id != other_id);
    GIVES(cudaStreamCreateWithFlags(&other, 0x40), cudaErrorInvalidValue);
    STEP(cudaStreamQuery(stream));
    STEP(cudaStreamDestroy(stream));
    STEP(cudaStreamDestroy(other));
}

TEST(test_wait_orders)
{
    cudaStream_t a = NULL, b = NULL;
    cudaEvent_t event = NULL;
    int *x = device_int(1), *y = device_int(0);
    STEP(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    STEP(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    STEP(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    STEP(ck_add(x, 1, a));
    STEP(cudaEventRecord(event, a));
    STEP(cudaStreamWaitEvent(b, event, 0));
    STEP(cudaEventRecord(event, b)); /* the wait is for the first record */
    STEP(cudaMemcpyAsync(y, x, sizeof *x, cudaMemcpyDeviceToDevice, b));
    STEP(cudaStreamDestroy(a)); /* its work still runs */
    STEP(cudaStreamSynchronize(b));
    assert_int_equal(take(y), 2);
    STEP(cudaEventDestroy(event));
    STEP(cudaStreamDestroy(b));
    STEP(cudaFree(x));
}

TEST(test_legacy_orders)
{
    cudaStream_t blocking = NULL;
    int *x = device_int(0), *y = device_int(0), *z = device_int(0);
    STEP(cudaStreamCreate(&blocking));
    STEP(ck_add(x, 1, blocking));
    STEP(cudaMemcpyAsync(y, x, sizeof *x, cudaMemcpyDeviceToDevice, NULL));
    STEP(ck_add(y, 10, blocking));
    STEP(cudaMemcpyAsync(z, y, sizeof *y, cudaMemcpyDeviceToDevice, cudaStreamPerThread));
    STEP(ck_add(z, 100, cudaStreamLegacy));
    STEP(cudaDeviceSynchronize());
    assert_int_equal(take(y), 11);
    int last = take(z);
    assert_true(last == 101 || last == 111); /* nothing orders the two blocking streams */
    STEP(cudaStreamDestroy(blocking));
    STEP(cudaFree(x));
}

TEST(test_events)
{
    cudaStream_t stream = NULL;
    cudaEvent_t start = NULL, end = NULL, untimed = NULL;
    float milliseconds = -1;
    int *x = device_int(0);
    STEP(cudaStreamCreate(&stream));
    STEP(cudaEventCreate(&start));
    STEP(cudaEventCreate(&end));
    STEP(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    STEP(cudaEventQuery(start)); /* never recorded: complete */
    STEP(cudaEventSynchronize(start));
    GIVES(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorInvalidResourceHandle);
    STEP(cudaEventRecord(start, stream));
    STEP(ck_add(x, 1, stream));
    STEP(cudaEventRecord(end, stream));
    STEP(cudaEventRecord(untimed, stream));
    cudaError_t error;
    while ((error = cudaEventQuery(end)) == cudaErrorNotReady)
        ; /* asking is enough for it to get on */
    STEP(error);
    cudaGetLastError();
    STEP(cudaEventSynchronize(untimed));
    STEP(cudaEventElapsedTime(&milliseconds, start, end));
    assert_true(milliseconds >= 0 && milliseconds < 60000);
    GIVES(cudaEventElapsedTime(&milliseconds, start, untimed), cudaErrorInvalidResourceHandle);
    GIVES(cudaEventCreateWithFlags(&end, 0x100), cudaErrorInvalidValue);
    STEP(cudaEventDestroy(start));
    STEP(cudaEventDestroy(end));
    STEP(cudaEventDestroy(untimed));
    STEP(cudaStreamDestroy(stream));
    assert_int_equal(take(x), 1);
}

/* ---- host functions and errors
 * ------------------------------------------------------------------------------------------ */

struct seen {
    cudaError_t error;
    int order[2], count;
};

static void call_api(void *data)
{
    struct seen *seen = data;
    void *memory = NULL;
    seen->error = cudaMalloc(&memory, 16);
    seen->order[seen->count++] = 1;
}

static void CUDART_CB call_back(cudaStream_t stream, cudaError_t error, void *data)
{
    struct seen *seen = data;
    (void)stream;
    if (!error)
        seen->order[seen->count++] = 2;
}

TEST(test_host_functions)
{
    struct seen seen = {cudaSuccess, {0}, 0};
    cudaStream_t stream = NULL;
    STEP(cudaStreamCreate(&stream));
    STEP(cudaLaunchHostFunc(stream, call_api, &seen));
    STEP(cudaStreamAddCallback(stream, call_back, &seen, 0));
    STEP(cudaStreamSynchronize(stream));
    assert_int_equal(seen.error, cudaErrorNotPermitted);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.order[0], 1);
    assert_int_equal(seen.order[1], 2);
    cudaGetLastError(); /* the host function may have run in this thread */
    GIVES(cudaLaunchHostFunc(stream, NULL, NULL), cudaErrorInvalidValue);
    STEP(cudaStreamDestroy(stream));
}

static void *fail_here(void *unused)
{
    cudaMalloc(NULL, 1);
    return cudaPeekAtLastError() == cudaErrorInvalidValue ? unused : NULL;
}

TEST(test_last_error)
{
    pthread_t thread;
    void *result = NULL;
    int marker = 0;
    assert_int_equal(pthread_create(&thread, NULL, fail_here, &marker), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &marker);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess); /* each thread has its own */
    assert_int_equal(cudaMalloc(NULL, 1), cudaErrorInvalidValue);
    STEP(cudaDeviceSynchronize()); /* a success does not clear it */
    assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidValue);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
}

TEST(test_error_names)
{
    assert_string_equal(cudaGetErrorName(cudaSuccess), "cudaSuccess");
    assert_string_equal(cudaGetErrorName(cudaErrorStreamCaptureUnjoined), "cudaErrorStreamCaptureUnjoined");
    assert_string_equal(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
    assert_string_equal(cudaGetErrorName((cudaError_t)5555), "unrecognized error code");
}

TEST(test_device)
{
    struct cudaDeviceProp properties;
    int count = 0, device = -1, value = 0, version = 0;
    STEP(cudaGetDeviceCount(&count));
    assert_true(count >= 1);
    STEP(cudaGetDevice(&device));
    assert_int_equal(device, 0);
    STEP(cudaGetDeviceProperties(&properties, 0));
    assert_int_equal(properties.warpSize, 32);
    assert_true(properties.name[0] && properties.totalGlobalMem > 0);
    STEP(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
    assert_int_equal(value, 1024);
    STEP(cudaRuntimeGetVersion(&version));
    assert_true(version >= CUDART_VERSION / 1000 * 1000);
    GIVES(cudaSetDevice(count), cudaErrorInvalidDevice);
    GIVES(cudaGetDeviceProperties(&properties, -1), cudaErrorInvalidDevice);
}
