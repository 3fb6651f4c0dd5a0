/* The legacy default stream waits for the blocking streams of its device, and for no other. */
#include "tests/support/test.h"
#include <stdint.h>
#include <cuda_runtime_api.h>
#include <sched.h>
#include <stdatomic.h>

#define STEP(call) assert_int_equal(call, cudaSuccess)

static cudaStream_t blocking, independent;
static atomic_int gate, ended;

static int setup(void **state)
{
    (void)state;
    atomic_store(&gate, 0);
    atomic_store(&ended, 0);
    STEP(cudaStreamCreate(&blocking));
    STEP(cudaStreamCreateWithFlags(&independent, cudaStreamNonBlocking));
    STEP(cudaDeviceSynchronize());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    atomic_store(&gate, 1);
    STEP(cudaStreamDestroy(blocking));
    STEP(cudaStreamDestroy(independent));
    return 0;
}

static void take_long(void *user)
{
    enum { TURNS = 1000 };
    (void)user;
    for (int i = 0; i < TURNS; i++)
        sched_yield();
    atomic_store(&ended, 1);
}

static void wait_for_gate(void *user)
{
    (void)user;
    while (!atomic_load(&gate))
        sched_yield();
    atomic_store(&ended, 1);
}

#define LEGACY_STREAM_TEST(name) TEST_F(name, setup, teardown, void *state)

LEGACY_STREAM_TEST(test_synchronize_waits_for_blocking_streams)
{
    STEP(cudaLaunchHostFunc(blocking, take_long, NULL));
    STEP(cudaStreamSynchronize(NULL));
    assert_int_equal(atomic_load(&ended), 1);
    atomic_store(&ended, 0);
    STEP(cudaLaunchHostFunc(cudaStreamPerThread, take_long, NULL));
    STEP(cudaStreamSynchronize(cudaStreamLegacy));
    assert_int_equal(atomic_load(&ended), 1);
}

LEGACY_STREAM_TEST(test_query_sees_blocking_streams)
{
    cudaError_t error;

    STEP(cudaStreamQuery(NULL));
    STEP(cudaLaunchHostFunc(blocking, wait_for_gate, NULL));
    assert_int_equal(cudaStreamQuery(NULL), cudaErrorNotReady);
    atomic_store(&gate, 1);
    while ((error = cudaStreamQuery(NULL)) == cudaErrorNotReady)
        sched_yield();
    assert_int_equal(error, cudaSuccess);
    assert_int_equal(atomic_load(&ended), 1);
}

LEGACY_STREAM_TEST(test_other_streams_are_not_waited_for)
{
    STEP(cudaLaunchHostFunc(independent, wait_for_gate, NULL));
    STEP(cudaStreamQuery(NULL));
    STEP(cudaStreamSynchronize(NULL));
    assert_int_equal(atomic_load(&ended), 0);
    atomic_store(&gate, 1);
    STEP(cudaStreamSynchronize(independent));
    assert_int_equal(atomic_load(&ended), 1);
}
