/* Many streams, captures, blocks, user objects and launches: what one more costs does not depend on how many there are.
 * Host device only. */
#include "tests/support/cuda_support.h"

#include <malloc.h>
#include <stdlib.h>
#include <time.h>

TESTS_ON_HOST_DEVICE("what many handles cost here");

/* A fraction of a second, where no step looks at all others; minutes, where one does. */
enum { SECONDS_MOST = 15 };

static int many; /* streams */

static cudaStream_t *make_streams(unsigned flags)
{
    cudaStream_t *streams = calloc((size_t)many, sizeof *streams);
    assert_non_null(streams);
    for (int i = 0; i < many; i++)
        OK(cudaStreamCreateWithFlags(&streams[i], flags));
    return streams;
}

static void destroy_streams(cudaStream_t *streams)
{
    for (int i = many; i-- > 0;)
        OK(cudaStreamDestroy(streams[i]));
    free(streams);
}

static clock_t began;

static int start_clock(void **state)
{
    (void)state;
    many = by_size(6000, 6000, 60000);
    began = clock();
    return 0;
}

static int expect_fast(void **state)
{
    (void)state;
    double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    if (seconds > SECONDS_MOST)
        fail_msg("%.1f s of processor time, at most %d are right", seconds, SECONDS_MOST);
    return 0;
}

#define FAST_TEST(name) TEST_F(name, start_clock, expect_fast, void *state)

FAST_TEST(test_streams)
{
    int count = 0;
    hostcuda_seed(0); /* a seed chooses among all that could run, at each step */
    cudaStream_t *streams = make_streams(cudaStreamNonBlocking);
    for (int i = 0; i < many; i++)
        OK(cudaLaunchHostFunc(streams[i], count_up, &count));
    OK(cudaDeviceSynchronize());
    assert_int_equal(count, many);
    for (int i = 0; i < many; i++) {
        OK(cudaLaunchHostFunc(streams[i], count_up, &count));
        OK(cudaStreamSynchronize(streams[i]));
    }
    assert_int_equal(count, 2 * many);
    destroy_streams(streams);
}

/* Which wait for the legacy stream, and it for them. */
FAST_TEST(test_blocking_streams)
{
    int count = 0;
    hostcuda_seed(0);
    cudaStream_t *streams = make_streams(cudaStreamDefault);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < many; i++)
            OK(cudaLaunchHostFunc(streams[i], count_up, &count));
        OK(cudaLaunchHostFunc(cudaStreamLegacy, count_up, &count));
    }
    OK(cudaDeviceSynchronize());
    assert_int_equal(count, 2 * (many + 1));
    destroy_streams(streams);
}

FAST_TEST(test_captures)
{
    int count = 0;
    cudaStream_t *streams = make_streams(cudaStreamNonBlocking);
    for (int i = 0; i < many; i++) {
        OK(cudaStreamBeginCapture(streams[i], cudaStreamCaptureModeRelaxed));
        OK(cudaLaunchHostFunc(streams[i], count_up, &count));
        CAPTURED(graph, streams[i]);
    }
    destroy_streams(streams);
}

/* Freed in the order of their allocation, every other one before the rest. */
FAST_TEST(test_blocks)
{
    enum { BLOCKS = 400000, BYTES = 16 };
    const char *hostile = getenv("HOSTCUDA_MEMORY");
    skip_unless(hostile == NULL || hostile[0] == '\0',
                "HOSTCUDA_MEMORY maps each block for itself, and of mappings there is a limit");
    char *range = malloc(2 * BLOCKS * BYTES);
    void **blocks = calloc(BLOCKS, sizeof *blocks);
    assert_non_null(range);
    assert_non_null(blocks);
    for (int i = 0; i < BLOCKS; i++)
        OK(cudaMalloc(&blocks[i], BYTES));
    for (int i = 0; i < BLOCKS; i++)
        OK(cudaHostRegister(range + 2 * (size_t)i * BYTES, BYTES, 0));
    for (int first = 0; first < 2; first++)
        for (int i = first; i < BLOCKS; i += 2)
            OK(cudaFree(blocks[i]));
    EXPECT_INVALID(cudaFree(blocks[1]));
    EXPECT_CODE(cudaHostRegister(range + BYTES - 1, BYTES, 0), cudaErrorHostMemoryAlreadyRegistered);
    for (int i = 0; i < BLOCKS; i++)
        OK(cudaHostUnregister(range + 2 * (size_t)i * BYTES));
    assert_int_equal(hostcuda_count_live().blocks, 0);
    free(blocks);
    free(range);
}

FAST_TEST(test_user_objects)
{
    enum { OBJECTS = 200000 };
    cudaGraph_t graph = NULL, copy = NULL;
    int count = 0;
    OK(cudaGraphCreate(&graph, 0));
    for (int i = 0; i < OBJECTS; i++) {
        cudaUserObject_t object = NULL;
        OK(cudaUserObjectCreate(&object, &count, count_up, 1, cudaUserObjectNoDestructorSync));
        OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    }
    OK(cudaGraphClone(&copy, graph));
    OK(cudaGraphDestroy(graph));
    assert_int_equal(count, 0);
    OK(cudaGraphDestroy(copy));
    assert_int_equal(count, OBJECTS);
}

static size_t heap_bytes(void)
{
    return mallinfo2().uordblks;
}

/* A program that never waits. */
static void launch_graphs(int count)
{
    for (int i = 0; i < count; i++) {
        cudaGraphNode_t node = NULL;
        NEW_GRAPH(graph);
        OK(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
        EXEC_OF(exec, graph);
        OK(cudaGraphLaunch(exec, NULL));
    }
}

TEST(test_memory_of_launches)
{
    enum { WARM = 10000, MORE = 50000, BYTES_MOST = 1 << 20 };
    size_t before = heap_bytes();
    void *volatile probe = malloc(4096); /* which the compiler is to keep */
    bool counts = heap_bytes() >= before + 4096;
    free(probe);
    skip_unless(counts, "mallinfo2 does not count here");
    launch_graphs(WARM);
    before = heap_bytes();
    launch_graphs(MORE);
    assert_in_range(heap_bytes(), 0, before + BYTES_MOST);
    OK(cudaDeviceSynchronize());
}

/* What may wait for the thread that makes the call does not run in it, however much is queued. */
TEST(test_no_function_runs_early)
{
    enum { COUNT = 20000 };
    int count = 0;
    for (int i = 0; i < COUNT; i++)
        OK(cudaLaunchHostFunc(NULL, count_up, &count));
    assert_int_equal(count, 0);
    OK(cudaDeviceSynchronize());
    assert_int_equal(count, COUNT);
}
