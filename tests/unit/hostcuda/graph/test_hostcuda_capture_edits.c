/* Captures that are asked and edited: into a graph, by dependencies, with external events, in another mode; and user
 * objects, which graphs keep. Runs on both devices. */
#include "tests/support/cuda_support.h"

#include <string.h>

#include "tests/support/kernels/graph_kernels.h"

static cudaStream_t stream, side;
static cudaEvent_t event;
static int *x;

static int setup(void **state)
{
    (void)state;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    x = device_memory(sizeof *x);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(side));
    OK(cudaEventDestroy(event));
    OK(cudaFree(x));
    return 0;
}

static void begin(void)
{
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
}

/* From *x = 0. */
static int run(cudaGraph_t graph)
{
    cudaGraphExec_t exec = NULL;
    const int zero = 0;
    OK(cudaMemcpy(x, &zero, sizeof zero, cudaMemcpyHostToDevice));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    int value = read_int(x, stream);
    OK(cudaGraphExecDestroy(exec));
    return value;
}

static size_t nodes_of(cudaGraph_t graph)
{
    size_t count = 0;
    OK(cudaGraphGetNodes(graph, NULL, &count));
    return count;
}

/* ---- what a capture is ------------------------------------------------------------------------------------------- */

TEST(test_capture_info)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
    unsigned long long id = 0, second = 0;
    cudaGraph_t graph = NULL, ended = NULL;
    const cudaGraphNode_t *frontier = NULL;
    const cudaGraphEdgeData *edges = NULL;
    size_t count = 99;
    OK(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, NULL, NULL));
    assert_int_equal(status, cudaStreamCaptureStatusNone);
    begin();
    OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &frontier, &edges, &count));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    assert_non_null(graph);
    assert_int_equal(count, 0);
    OK(gk_add(x, 1, stream));
    OK(cudaStreamGetCaptureInfo(stream, &status, &second, &graph, &frontier, &edges, &count));
    assert_true(second == id);
    assert_int_equal(count, 1);
    assert_int_equal(nodes_of(graph), 1);
    OK(cudaStreamEndCapture(stream, &ended));
    assert_ptr_equal(ended, graph);
    OK(cudaGraphDestroy(ended));
    begin();
    OK(cudaStreamGetCaptureInfo(stream, &status, &second, NULL, NULL, NULL, NULL));
    assert_true(second != id);
    OK(cudaStreamEndCapture(stream, &ended));
    OK(cudaGraphDestroy(ended));
    EXPECT_INVALID(cudaStreamGetCaptureInfo(stream, NULL, &id, NULL, NULL, NULL, NULL));
}

/* The program adds a node of its own to the graph under capture, and goes on behind it. */
TEST(test_update_dependencies)
{
    enum cudaStreamCaptureStatus status;
    cudaGraph_t graph = NULL, ended = NULL;
    const cudaGraphNode_t *frontier = NULL;
    const cudaGraphEdgeData *edges = NULL;
    cudaGraphNode_t fill = NULL, before[4];
    size_t count = 0;
    struct cudaMemsetParams params = {x, 4, 40, 4, 1, 1};
    begin();
    OK(gk_add(x, 1, stream));
    OK(cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, &frontier, &edges, &count));
    OK(cudaGraphAddMemsetNode(&fill, graph, frontier, count, &params));
    OK(cudaStreamUpdateCaptureDependencies(stream, &fill, NULL, 1, cudaStreamSetCaptureDependencies));
    OK(gk_add(x, 2, stream));
    OK(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, &frontier, &edges, &count));
    assert_int_equal(count, 1);
    count = 4;
    OK(cudaGraphNodeGetDependencies(frontier[0], before, NULL, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(before[0], fill);
    EXPECT_INVALID(cudaStreamUpdateCaptureDependencies(stream, NULL, NULL, 1, cudaStreamAddCaptureDependencies));
    OK(cudaStreamUpdateCaptureDependencies(stream, &fill, NULL, 1, cudaStreamAddCaptureDependencies));
    OK(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, &frontier, &edges, &count));
    assert_int_equal(count, 2);
    OK(cudaStreamEndCapture(stream, &ended));
    assert_int_equal(run(ended), 42);
    OK(cudaGraphDestroy(ended));
    EXPECT_CODE(cudaStreamUpdateCaptureDependencies(stream, NULL, NULL, 0, cudaStreamAddCaptureDependencies),
                cudaErrorIllegalState);
}

/* ---- into a graph of the program's ---------------------------------------------------------------------------------
 */

TEST(test_into_a_graph)
{
    cudaGraph_t graph = NULL, ended = NULL;
    cudaGraphNode_t fill = NULL, nodes[4], before[4];
    size_t count = 4, depends = 4;
    struct cudaMemsetParams params = {x, 4, 30, 4, 1, 1};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&fill, graph, NULL, 0, &params));
    OK(cudaStreamBeginCaptureToGraph(stream, graph, &fill, NULL, 1, cudaStreamCaptureModeThreadLocal));
    OK(gk_add(x, 3, stream));
    OK(cudaStreamEndCapture(stream, &ended));
    assert_ptr_equal(ended, graph);
    OK(cudaGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 2);
    cudaGraphNode_t kernel = nodes[0] == fill ? nodes[1] : nodes[0];
    OK(cudaGraphNodeGetDependencies(kernel, before, NULL, &depends));
    assert_int_equal(depends, 1);
    assert_ptr_equal(before[0], fill);
    assert_int_equal(run(graph), 33);
    /* and once more, behind what the first capture left */
    OK(cudaStreamBeginCaptureToGraph(stream, graph, &kernel, NULL, 1, cudaStreamCaptureModeThreadLocal));
    OK(gk_add(x, 4, stream));
    OK(cudaStreamEndCapture(stream, &ended));
    assert_int_equal(run(graph), 37);
    OK(cudaGraphDestroy(graph));
}

TEST(test_into_a_graph_refused)
{
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphNode_t foreign = NULL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddEmptyNode(&foreign, other, NULL, 0));
    EXPECT_INVALID(cudaStreamBeginCaptureToGraph(stream, graph, &foreign, NULL, 1, cudaStreamCaptureModeThreadLocal));
    EXPECT_CODE(cudaStreamBeginCaptureToGraph(cudaStreamLegacy, graph, NULL, NULL, 0, cudaStreamCaptureModeThreadLocal),
                cudaErrorStreamCaptureUnsupported);
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    OK(cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, cudaStreamCaptureStatusNone);
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
}

/* ---- external events --------------------------------------------------------------------------------------------- */

static enum cudaGraphNodeType only_type(cudaGraph_t graph)
{
    cudaGraphNode_t node = NULL;
    size_t count = 1;
    enum cudaGraphNodeType type = cudaGraphNodeTypeCount;
    assert_int_equal(nodes_of(graph), 1);
    OK(cudaGraphGetNodes(graph, &node, &count));
    OK(cudaGraphNodeGetType(node, &type));
    return type;
}

/* The graph waits, at each launch, for what the event stands for then. */
TEST(test_external_events)
{
    cudaGraph_t waits = NULL, records = NULL;
    cudaGraphExec_t exec = NULL;
    OK(cudaEventRecord(event, side));
    begin();
    OK(cudaStreamWaitEvent(stream, event, cudaEventWaitExternal));
    OK(cudaStreamEndCapture(stream, &waits));
    assert_int_equal(only_type(waits), cudaGraphNodeTypeWaitEvent);
    OK(cudaGraphDestroy(waits));
    begin();
    OK(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
    OK(cudaStreamEndCapture(stream, &records));
    assert_int_equal(only_type(records), cudaGraphNodeTypeEventRecord);
    OK(cudaGraphInstantiate(&exec, records, 0));
    const int seven = 7;
    int got = 0;
    OK(cudaMemcpy(x, &seven, sizeof seven, cudaMemcpyHostToDevice));
    OK(gk_add(x, 1, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamWaitEvent(side, event, 0)); /* another stream waits for the graph's record */
    OK(cudaMemcpyAsync(&got, x, sizeof got, cudaMemcpyDeviceToHost, side));
    OK(cudaStreamSynchronize(side));
    assert_int_equal(got, 8);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(records));
    EXPECT_CODE(cudaStreamWaitEvent(stream, event, cudaEventWaitExternal), cudaErrorIllegalState);
    OK(cudaStreamSynchronize(stream));
}

/* ---- modes ----------------------------------------------------------------------------------------------------------
 */

TEST(test_exchanged_mode)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaGraph_t graph = NULL;
    void *memory = NULL;
    begin();
    OK(gk_add(x, 1, stream));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, cudaStreamCaptureModeGlobal); /* a thread's default */
    OK(cudaMalloc(&memory, 64));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, cudaStreamCaptureModeRelaxed);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(memory));
    mode = (enum cudaStreamCaptureMode)7;
    OK(cudaThreadExchangeStreamCaptureMode(&mode)); /* CUDA does not look at it */
    assert_int_equal(mode, cudaStreamCaptureModeGlobal);
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, 7);
}

/* ---- user objects --------------------------------------------------------------------------------------------------
 */

static void count_up(void *user)
{
    ++*(int *)user;
}

/* CUDA may end an object on a thread of its own: waits for that, for as long as a test may take. */
static void expect_ended(const volatile int *ended)
{
    while (!__atomic_load_n(ended, __ATOMIC_ACQUIRE))
        OK(cudaStreamSynchronize(stream));
}

TEST(test_user_object)
{
    int ended = 0;
    cudaUserObject_t object = NULL;
    OK(cudaUserObjectCreate(&object, &ended, count_up, 1, cudaUserObjectNoDestructorSync));
    OK(cudaUserObjectRetain(object, 2));
    OK(cudaUserObjectRelease(object, 2));
    assert_int_equal(ended, 0);
    OK(cudaUserObjectRelease(object, 1));
    expect_ended(&ended);
    assert_int_equal(ended, 1);
    EXPECT_INVALID(cudaUserObjectCreate(&object, &ended, count_up, 1, 0));
    EXPECT_INVALID(cudaUserObjectCreate(&object, &ended, NULL, 1, cudaUserObjectNoDestructorSync));
}

/* A clone and an executable graph hold it, too. */
TEST(test_object_of_a_graph)
{
    int ended = 0;
    cudaUserObject_t object = NULL;
    cudaGraph_t graph = NULL, clone = NULL;
    cudaGraphExec_t exec = NULL;
    OK(cudaUserObjectCreate(&object, &ended, count_up, 1, cudaUserObjectNoDestructorSync));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(clone));
    assert_int_equal(ended, 0);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(ended, 0);
    OK(cudaGraphExecDestroy(exec));
    expect_ended(&ended);
    assert_int_equal(ended, 1);
}

TEST(test_object_released_by_hand)
{
    int ended = 0;
    cudaUserObject_t object = NULL;
    cudaGraph_t graph = NULL;
    OK(cudaUserObjectCreate(&object, &ended, count_up, 1, cudaUserObjectNoDestructorSync));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphRetainUserObject(graph, object, 2, 0));
    OK(cudaUserObjectRelease(object, 1));
    OK(cudaGraphReleaseUserObject(graph, object, 1));
    assert_int_equal(ended, 0);
    OK(cudaGraphReleaseUserObject(graph, object, 1));
    expect_ended(&ended);
    assert_int_equal(ended, 1);
    OK(cudaGraphDestroy(graph));
}

TEST_GROUP(setup, teardown);
