/* Captures that are asked and edited: into a graph, by dependencies, with external events, in another mode; and user
 * objects, which graphs keep. Runs on both devices. */
#include "tests/support/cuda_support.h"

#include "tests/support/kernels/graph_kernels.h"

SHARED_STREAM(stream, cudaStreamNonBlocking);
SHARED_STREAM(side, cudaStreamNonBlocking);
SHARED_MEMORY(int, x, 1);

/* From *x = 0. */
static int run(cudaGraph_t graph)
{
    const int zero = 0;
    EXEC_OF(exec, graph);
    OK(cudaMemcpy(x, &zero, sizeof zero, cudaMemcpyHostToDevice));
    OK(cudaGraphLaunch(exec, stream));
    return read_int(x, stream);
}

/* ---- what a capture is ------------------------------------------------------------------------------------------- */

static struct {
    enum cudaStreamCaptureStatus status;
    unsigned long long id;
    cudaGraph_t graph;
    const cudaGraphNode_t *frontier;
    const cudaGraphEdgeData *edges;
    size_t count; /* of the frontier */
} info;

static void ask(void)
{
    info.count = 99;
    OK(cudaStreamGetCaptureInfo(stream, &info.status, &info.id, &info.graph, &info.frontier, &info.edges, &info.count));
}

TEST(test_capture_info)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
    unsigned long long id = 0;
    OK(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, NULL, NULL));
    assert_int_equal(status, cudaStreamCaptureStatusNone);
    BEGIN_CAPTURE(stream);
    ask();
    assert_int_equal(info.status, cudaStreamCaptureStatusActive);
    assert_non_null(info.graph);
    assert_int_equal(info.count, 0);
    OK(gk_add(x, 1, stream));
    id = info.id;
    ask();
    assert_true(info.id == id);
    assert_int_equal(info.count, 1);
    assert_int_equal(nodes_of(info.graph), 1);
    CAPTURED(first, stream);
    assert_ptr_equal(first, info.graph);
    BEGIN_CAPTURE(stream);
    OK(cudaStreamGetCaptureInfo(stream, &status, &info.id, NULL, NULL, NULL, NULL));
    assert_true(info.id != id);
    CAPTURED(second, stream);
    EXPECT_INVALID(cudaStreamGetCaptureInfo(stream, NULL, &id, NULL, NULL, NULL, NULL));
}

static void expect_one_before(cudaGraphNode_t node, cudaGraphNode_t expected)
{
    cudaGraphNode_t before[4];
    size_t count = 4;
    OK(cudaGraphNodeGetDependencies(node, before, NULL, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(before[0], expected);
}

/* The program adds a node of its own to the graph under capture, and goes on behind it. */
TEST(test_update_dependencies)
{
    cudaGraphNode_t fill = NULL;
    const struct cudaMemsetParams params = {x, 4, 40, 4, 1, 1};
    BEGIN_CAPTURE(stream);
    OK(gk_add(x, 1, stream));
    ask();
    OK(cudaGraphAddMemsetNode(&fill, info.graph, info.frontier, info.count, &params));
    OK(cudaStreamUpdateCaptureDependencies(stream, &fill, NULL, 1, cudaStreamSetCaptureDependencies));
    OK(gk_add(x, 2, stream));
    ask();
    assert_int_equal(info.count, 1);
    expect_one_before(info.frontier[0], fill);
    EXPECT_INVALID(cudaStreamUpdateCaptureDependencies(stream, NULL, NULL, 1, cudaStreamAddCaptureDependencies));
    OK(cudaStreamUpdateCaptureDependencies(stream, &fill, NULL, 1, cudaStreamAddCaptureDependencies));
    ask();
    assert_int_equal(info.count, 2);
    CAPTURED(ended, stream);
    assert_int_equal(run(ended), 42);
    EXPECT_CODE(cudaStreamUpdateCaptureDependencies(stream, NULL, NULL, 0, cudaStreamAddCaptureDependencies),
                cudaErrorIllegalState);
}

/* ---- into a graph of the program's ---------------------------------------------------------------------------------
 */

TEST(test_into_a_graph)
{
    cudaGraph_t ended = NULL;
    cudaGraphNode_t fill = NULL, nodes[4];
    size_t count = 4;
    struct cudaMemsetParams params = {x, 4, 30, 4, 1, 1};
    NEW_GRAPH(graph);
    OK(cudaGraphAddMemsetNode(&fill, graph, NULL, 0, &params));
    OK(cudaStreamBeginCaptureToGraph(stream, graph, &fill, NULL, 1, cudaStreamCaptureModeThreadLocal));
    OK(gk_add(x, 3, stream));
    OK(cudaStreamEndCapture(stream, &ended));
    assert_ptr_equal(ended, graph);
    OK(cudaGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 2);
    cudaGraphNode_t kernel = nodes[0] == fill ? nodes[1] : nodes[0];
    expect_one_before(kernel, fill);
    assert_int_equal(run(graph), 33);
    /* and once more, behind what the first capture left */
    OK(cudaStreamBeginCaptureToGraph(stream, graph, &kernel, NULL, 1, cudaStreamCaptureModeThreadLocal));
    OK(gk_add(x, 4, stream));
    OK(cudaStreamEndCapture(stream, &ended));
    assert_int_equal(run(graph), 37);
}

TEST(test_into_a_graph_refused)
{
    cudaGraphNode_t foreign = NULL;
    NEW_GRAPH(graph);
    NEW_GRAPH(other);
    OK(cudaGraphAddEmptyNode(&foreign, other, NULL, 0));
    EXPECT_INVALID(cudaStreamBeginCaptureToGraph(stream, graph, &foreign, NULL, 1, cudaStreamCaptureModeThreadLocal));
    EXPECT_CODE(cudaStreamBeginCaptureToGraph(cudaStreamLegacy, graph, NULL, NULL, 0, cudaStreamCaptureModeThreadLocal),
                cudaErrorStreamCaptureUnsupported);
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    OK(cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, cudaStreamCaptureStatusNone);
}

/* ---- external events --------------------------------------------------------------------------------------------- */

/* The graph waits, at each launch, for what the event stands for then. */
TEST(test_external_events)
{
    OWNED_EVENT(event);
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaEventRecord(event, side));
    BEGIN_CAPTURE(stream);
    OK(cudaStreamWaitEvent(stream, event, cudaEventWaitExternal));
    CAPTURED(waits, stream);
    assert_int_equal(type_of(only_node(waits)), cudaGraphNodeTypeWaitEvent);
    BEGIN_CAPTURE(stream);
    OK(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
    CAPTURED(records, stream);
    assert_int_equal(type_of(only_node(records)), cudaGraphNodeTypeEventRecord);
    EXEC_OF(exec, records);
    const int seven = 7;
    int got = 0;
    OK(cudaMemcpy(x, &seven, sizeof seven, cudaMemcpyHostToDevice));
    OK(gk_add(x, 1, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamWaitEvent(side, event, 0)); /* another stream waits for the graph's record */
    OK(cudaMemcpyAsync(&got, x, sizeof got, cudaMemcpyDeviceToHost, side));
    OK(cudaStreamSynchronize(side));
    assert_int_equal(got, 8);
    EXPECT_CODE(cudaStreamWaitEvent(stream, event, cudaEventWaitExternal), cudaErrorIllegalState);
    OK(cudaStreamSynchronize(stream));
}

/* ---- modes ----------------------------------------------------------------------------------------------------------
 */

TEST(test_exchanged_mode)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    void *memory = NULL;
    BEGIN_CAPTURE(stream);
    OK(gk_add(x, 1, stream));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, cudaStreamCaptureModeGlobal); /* a thread's default */
    OK(cudaMalloc(&memory, 64));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, cudaStreamCaptureModeRelaxed);
    CAPTURED(graph, stream);
    OK(cudaFree(memory));
    mode = (enum cudaStreamCaptureMode)7;
    OK(cudaThreadExchangeStreamCaptureMode(&mode)); /* CUDA does not look at it */
    assert_int_equal(mode, cudaStreamCaptureModeGlobal);
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, 7);
}

/* ---- user objects --------------------------------------------------------------------------------------------------
 */

/* CUDA may end an object on a thread of its own: waits for that, for as long as a test may take. */
static void expect_ended(const volatile int *ended)
{
    while (!__atomic_load_n(ended, __ATOMIC_ACQUIRE))
        OK(cudaStreamSynchronize(stream));
    assert_int_equal(*ended, 1);
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
}

TEST(test_object_released_by_hand)
{
    int ended = 0;
    cudaUserObject_t object = NULL;
    OK(cudaUserObjectCreate(&object, &ended, count_up, 1, cudaUserObjectNoDestructorSync));
    NEW_GRAPH(graph);
    OK(cudaGraphRetainUserObject(graph, object, 2, 0));
    OK(cudaUserObjectRelease(object, 1));
    OK(cudaGraphReleaseUserObject(graph, object, 1));
    assert_int_equal(ended, 0);
    OK(cudaGraphReleaseUserObject(graph, object, 1));
    expect_ended(&ended);
}

TEST_GROUP(make_shared, drop_shared);
