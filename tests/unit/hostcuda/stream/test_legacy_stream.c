/* The legacy default stream waits for the blocking streams of its device, and for no other. */
#include "tests/support/cuda_support.h"

#include <sched.h>
#include <stdatomic.h>

SHARED_STREAM(blocking, cudaStreamDefault);
SHARED_STREAM(independent, cudaStreamNonBlocking);
static atomic_int gate, ended;

static int setup(void **state)
{
    atomic_store(&gate, 0);
    atomic_store(&ended, 0);
    return make_shared(state) || cudaDeviceSynchronize();
}

static int teardown(void **state)
{
    atomic_store(&gate, 1);
    return drop_shared(state);
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
    OK(cudaLaunchHostFunc(blocking, take_long, NULL));
    OK(cudaStreamSynchronize(NULL));
    assert_int_equal(atomic_load(&ended), 1);
    atomic_store(&ended, 0);
    OK(cudaLaunchHostFunc(cudaStreamPerThread, take_long, NULL));
    OK(cudaStreamSynchronize(cudaStreamLegacy));
    assert_int_equal(atomic_load(&ended), 1);
}

LEGACY_STREAM_TEST(test_query_sees_blocking_streams)
{
    cudaError_t error;

    OK(cudaStreamQuery(NULL));
    OK(cudaLaunchHostFunc(blocking, wait_for_gate, NULL));
    assert_int_equal(cudaStreamQuery(NULL), cudaErrorNotReady);
    atomic_store(&gate, 1);
    while ((error = cudaStreamQuery(NULL)) == cudaErrorNotReady)
        sched_yield();
    assert_int_equal(error, cudaSuccess);
    assert_int_equal(atomic_load(&ended), 1);
}

LEGACY_STREAM_TEST(test_other_streams_are_not_waited_for)
{
    OK(cudaLaunchHostFunc(independent, wait_for_gate, NULL));
    OK(cudaStreamQuery(NULL));
    OK(cudaStreamSynchronize(NULL));
    assert_int_equal(atomic_load(&ended), 0);
    atomic_store(&gate, 1);
    OK(cudaStreamSynchronize(independent));
    assert_int_equal(atomic_load(&ended), 1);
}
