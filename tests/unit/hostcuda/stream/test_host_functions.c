/* Programs that wait for the device without a call of CUDA, and host functions that wait for the program. All are
 * legal: on a GPU each of them ends. A test that hangs is killed by the runner of tests. */
#include "tests/support/cuda_support.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "breakgraph/breakgraph.h"
#include "tests/support/child.h"
#include "tests/support/kernels/trap.h"

enum { BYTES = 64, SEEDS = 3 };

SHARED_STREAM(a, cudaStreamNonBlocking);
SHARED_STREAM(b, cudaStreamNonBlocking);
static unsigned char *pinned;
static atomic_int flag, gate;

static void raise_flag(void *user)
{
    (void)user;
    atomic_fetch_add(&flag, 1);
}

static void wait_for_gate(void *user)
{
    (void)user;
    while (!atomic_load(&gate))
        sched_yield();
    atomic_fetch_add(&flag, 1);
}

static void wait_for_ever(void *user)
{
    (void)user;
    for (;;)
        (void)pause();
}

static int end_while_a_function_waits(void)
{
    EXPECT(cudaLaunchHostFunc(cudaStreamPerThread, wait_for_ever, NULL) == cudaSuccess);
    EXPECT(cudaStreamQuery(cudaStreamPerThread) == cudaErrorNotReady);
    return 0;
}

/* The error of another stream comes through, though the function has not returned. */
static int fail_while_a_function_waits(void)
{
    EXPECT(cudaStreamCreate(&a) == cudaSuccess);
    EXPECT(cudaLaunchHostFunc(cudaStreamPerThread, wait_for_gate, NULL) == cudaSuccess);
    EXPECT(cudaStreamQuery(cudaStreamPerThread) == cudaErrorNotReady);
    EXPECT(hostcuda_fail("cudaMemsetAsync@1~cudaErrorIllegalAddress") == 0);
    EXPECT(cudaHostAlloc((void **)&pinned, BYTES, cudaHostAllocDefault) == cudaSuccess);
    EXPECT(cudaMemsetAsync(pinned, 1, BYTES, a) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(a) == cudaErrorIllegalAddress);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    atomic_store(&gate, 1);
    return 0;
}

static void CUDART_CB keep_error(cudaStream_t stream, cudaError_t error, void *user)
{
    (void)stream;
    *(cudaError_t *)user = error;
}

/* What cudaStreamAddCallback queues is called and told of the error; what cudaLaunchHostFunc queues is not called. */
static int call_back_after_an_error(void)
{
    cudaError_t told[2] = {cudaErrorUnknown, cudaErrorUnknown};
    float *armed;

    EXPECT(cudaStreamCreate(&a) == cudaSuccess);
    EXPECT(cudaMalloc((void **)&armed, sizeof *armed) == cudaSuccess);
    EXPECT(cudaMemset(armed, 1, sizeof *armed) == cudaSuccess);
    EXPECT(cudaStreamAddCallback(a, keep_error, &told[0], 0) == cudaSuccess);
    EXPECT(trap_if(armed, a) == cudaSuccess);
    EXPECT(cudaLaunchHostFunc(a, raise_flag, NULL) == cudaSuccess);
    EXPECT(cudaStreamAddCallback(a, keep_error, &told[1], 0) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(a) == cudaErrorLaunchFailure);
    EXPECT(told[0] == cudaSuccess);
    EXPECT(told[1] == cudaErrorLaunchFailure);
    EXPECT(atomic_load(&flag) == 0);
    return 0;
}

/* The threads of the host device are not in a child; it gets its own. */
static int poll_in_a_child(void)
{
    int status;
    pid_t child;

    EXPECT(cudaHostAlloc((void **)&pinned, BYTES, cudaHostAllocDefault) == cudaSuccess);
    EXPECT(cudaLaunchHostFunc(cudaStreamPerThread, raise_flag, NULL) == cudaSuccess);
    while (!atomic_load(&flag))
        sched_yield();
    child = fork();
    if (child == 0) {
        atomic_store(&flag, 0);
        if (cudaLaunchHostFunc(cudaStreamPerThread, raise_flag, NULL) != cudaSuccess)
            _exit(1);
        while (!atomic_load(&flag))
            sched_yield();
        _exit(cudaDeviceSynchronize() == cudaSuccess ? 0 : 2);
    }
    EXPECT(child > 0 && waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}

static int call_once(void)
{
    return cudaFree(NULL) == cudaErrorInitializationError ? 0 : 1;
}

TEST(test_processes)
{
    static const struct child children[] = {
        {"", end_while_a_function_waits, 0, NULL},
        {"20", end_while_a_function_waits, 0, NULL},
        {"", fail_while_a_function_waits, 0, NULL},
        {"", call_back_after_an_error, 0, "called __trap"},
        {"", poll_in_a_child, 0, NULL},
        {"fast", call_once, 0, "HOSTCUDA_PROGRESS is \"fast\"; allowed are 0 (off) to 60000 milliseconds"},
    };
    for (size_t i = 0; i < sizeof children / sizeof *children; i++)
        expect_child("HOSTCUDA_PROGRESS", &children[i]);
}

static void close_gate(void)
{
    atomic_store(&flag, 0);
    atomic_store(&gate, 0);
    memset(pinned, 0, BYTES);
}

static int setup(void **state)
{
    OK(cudaHostAlloc((void **)&pinned, BYTES, cudaHostAllocDefault));
    close_gate();
    return make_shared(state);
}

static int teardown(void **state)
{
    if (hostcuda_seed)
        hostcuda_seed(0);
    OK(cudaFreeHost(pinned));
    return drop_shared(state);
}

#define HOST_FUNCTION_TEST(name) TEST_F(name, setup, teardown, void *state)
/* Runs under some seeds; on a GPU once. */
#define SEEDS_TEST(name)                                                                                               \
    static void name##_once(void);                                                                                     \
    HOST_FUNCTION_TEST(name)                                                                                           \
    {                                                                                                                  \
        under_seeds(name##_once);                                                                                      \
    }                                                                                                                  \
    static void name##_once(void)

static void under_seeds(void (*test)(void))
{
    test();
    for (unsigned long long seed = 1; hostcuda_seed && seed <= SEEDS; seed++) {
        hostcuda_seed(seed);
        test();
    }
}

static void poll_flag(void)
{
    atomic_store(&flag, 0);
    OK(cudaLaunchHostFunc(a, raise_flag, NULL));
    while (!atomic_load(&flag))
        sched_yield();
    OK(cudaStreamSynchronize(a));
    assert_int_equal(atomic_load(&flag), 1);
}

HOST_FUNCTION_TEST(test_poll_a_flag_that_a_host_function_sets)
{
    under_seeds(poll_flag);
}

SEEDS_TEST(test_poll_memory_that_the_device_writes)
{
    volatile const unsigned char *last = &pinned[BYTES - 1];
    memset(pinned, 0, BYTES);
    OK(cudaMemsetAsync(pinned, 7, BYTES, a));
    while (*last != 7)
        sched_yield();
    OK(cudaStreamSynchronize(a));
}

/* A loop of these, as engines with a polling thread have it: the first wait may be long, the others are not. */
HOST_FUNCTION_TEST(test_poll_again_and_again)
{
    enum { TIMES = 100 };
    for (int i = 0; i < TIMES; i++)
        poll_flag();
}

/* cudaStreamQuery and cudaEventQuery do not wait for a host function that waits for their thread. */
SEEDS_TEST(test_query_while_a_function_waits)
{
    cudaError_t error;
    OWNED_EVENT(event);
    close_gate();
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaLaunchHostFunc(a, wait_for_gate, NULL));
    OK(cudaEventRecord(event, a));
    assert_int_equal(cudaStreamQuery(a), cudaErrorNotReady);
    assert_int_equal(cudaEventQuery(event), cudaErrorNotReady);
    assert_int_equal(atomic_load(&flag), 0);
    atomic_store(&gate, 1);
    while ((error = cudaStreamQuery(a)) == cudaErrorNotReady)
        sched_yield();
    assert_int_equal(error, cudaSuccess);
    assert_int_equal(atomic_load(&flag), 1);
}

/* Other streams go on; what is behind the function does not. */
SEEDS_TEST(test_synchronize_another_stream)
{
    close_gate();
    OK(cudaLaunchHostFunc(a, wait_for_gate, NULL));
    OK(cudaMemsetAsync(pinned + 1, 1, 1, a));
    OK(cudaMemsetAsync(pinned, 2, 1, b));
    OK(cudaStreamSynchronize(b));
    assert_int_equal(pinned[0], 2);
    assert_int_equal(pinned[1], 0);
    atomic_store(&gate, 1);
    OK(cudaDeviceSynchronize());
    assert_int_equal(pinned[1], 1);
    assert_int_equal(atomic_load(&flag), 1);
}

/* The same function as a node: each launch calls it once. */
SEEDS_TEST(test_launch_a_graph_whose_function_waits)
{
    enum { LAUNCHES = 3 };
    close_gate();
    BEGIN_CAPTURE(a);
    OK(cudaMemsetAsync(pinned, 3, 1, a));
    OK(cudaLaunchHostFunc(a, wait_for_gate, NULL));
    OK(cudaMemsetAsync(pinned, 4, 1, a));
    CAPTURED(graph, a);
    EXEC_OF(exec, graph);
    for (int i = 0; i < LAUNCHES; i++)
        OK(cudaGraphLaunch(exec, i % 2 ? a : b));
    OK(cudaMemsetAsync(pinned + 1, 1, 1, cudaStreamPerThread));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    assert_int_equal(atomic_load(&flag), 0);
    atomic_store(&gate, 1);
    OK(cudaDeviceSynchronize());
    assert_int_equal(atomic_load(&flag), LAUNCHES);
    assert_int_equal(pinned[0], 4);
}
