/* Conformance: graphs made by hand, asked, cloned, updated and launched. One source for both devices. */
#include "tests/support/test.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "conformance_kernels.h"
#include "step.h"

static cudaStream_t stream;
static int *x; /* two ints */

static struct cudaKernelNodeParams add_params(int **address, int *value, void **arguments)
{
    struct cudaKernelNodeParams params = {0};
    arguments[0] = address;
    arguments[1] = value;
    params.func = (void *)(uintptr_t)ck_add_function();
    params.gridDim = params.blockDim = (dim3){1, 1, 1};
    params.kernelParams = arguments;
    return params;
}

static cudaGraphNode_t add_node(cudaGraph_t graph, int value, const cudaGraphNode_t *after, size_t count)
{
    void *arguments[2];
    cudaGraphNode_t node = NULL;
    struct cudaKernelNodeParams params = add_params(&x, &value, arguments);
    STEP(cudaGraphAddKernelNode(&node, graph, after, count, &params));
    return node;
}

static int launch(cudaGraphExec_t exec)
{
    int value = 0;
    STEP(cudaGraphLaunch(exec, stream));
    STEP(cudaStreamSynchronize(stream));
    STEP(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

static int setup(void **state)
{
    (void)state;
    STEP(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    STEP(cudaMalloc((void **)&x, 2 * sizeof *x));
    STEP(cudaMemset(x, 0, 2 * sizeof *x));
    STEP(cudaDeviceSynchronize()); /* no other stream waits for a fill of device memory */
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    STEP(cudaStreamDestroy(stream));
    STEP(cudaFree(x));
    return 0;
}

static void count_up(void *user)
{
    ++*(int *)user;
}

TEST(test_every_kind)
{
    int calls = 0, host = 40, back = 0;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t chain[6];
    struct cudaMemsetParams fill = {x + 1, 0, 0x01020304, 4, 1, 1};
    struct cudaHostNodeParams host_params = {count_up, &calls};
    STEP(cudaGraphCreate(&graph, 0));
    STEP(cudaGraphAddMemcpyNode1D(&chain[0], graph, NULL, 0, x, &host, sizeof host, cudaMemcpyHostToDevice));
    STEP(cudaGraphAddMemsetNode(&chain[1], graph, &chain[0], 1, &fill));
    chain[2] = add_node(graph, 2, &chain[1], 1);
    STEP(cudaGraphAddEmptyNode(&chain[3], graph, &chain[2], 1));
    STEP(cudaGraphAddHostNode(&chain[4], graph, &chain[3], 1, &host_params));
    STEP(cudaGraphAddMemcpyNode1D(&chain[5], graph, &chain[4], 1, &back, x + 1, sizeof back, cudaMemcpyDeviceToHost));
    STEP(cudaGraphInstantiate(&exec, graph, 0));
    assert_int_equal(launch(exec), 42);
    assert_int_equal(launch(exec), 42);
    assert_int_equal(calls, 2);
    assert_int_equal(back, 0x01020304);
    STEP(cudaGraphExecDestroy(exec));
    STEP(cudaGraphDestroy(graph));
}

TEST(test_diamond)
{
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node[4], from[8], to[8], got[8];
    cudaGraphEdgeData data[8];
    size_t count = 0;
    STEP(cudaGraphCreate(&graph, 0));
    node[0] = add_node(graph, 1, NULL, 0);
    node[1] = add_node(graph, 1, &node[0], 1);
    node[2] = add_node(graph, 1, NULL, 0);
    node[3] = add_node(graph, 1, &node[1], 2);
    STEP(cudaGraphAddDependencies(graph, &node[0], &node[2], NULL, 1));
    STEP(cudaGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 4);
    count = 8;
    STEP(cudaGraphGetRootNodes(graph, got, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(got[0], node[0]);
    STEP(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
    assert_int_equal(count, 4);
    count = 8;
    STEP(cudaGraphGetEdges(graph, from, to, data, &count));
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++)
        assert_true(from[i] == node[0] || to[i] == node[3]);
    count = 8;
    STEP(cudaGraphNodeGetDependencies(node[3], got, data, &count));
    assert_int_equal(count, 2);
    count = 8;
    STEP(cudaGraphNodeGetDependentNodes(node[0], got, data, &count));
    assert_int_equal(count, 2);
    assert_int_equal(cudaGraphAddDependencies(graph, &node[0], &node[2], NULL, 1), cudaErrorInvalidValue);
    cudaGetLastError();
    STEP(cudaGraphDestroy(graph));
}

TEST(test_order_follows_edges)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t later, earlier;
    int host = 100;
    STEP(cudaGraphCreate(&graph, 0));
    later = add_node(graph, 5, NULL, 0);
    STEP(cudaGraphAddMemcpyNode1D(&earlier, graph, NULL, 0, x, &host, sizeof host, cudaMemcpyHostToDevice));
    STEP(cudaGraphAddDependencies(graph, &earlier, &later, NULL, 1));
    STEP(cudaGraphInstantiate(&exec, graph, 0));
    assert_int_equal(launch(exec), 105);
    STEP(cudaGraphExecDestroy(exec));
    STEP(cudaGraphDestroy(graph));
}

TEST(test_parameters)
{
    cudaGraph_t graph = NULL;
    struct cudaKernelNodeParams params;
    STEP(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t node = add_node(graph, 77, NULL, 0);
    STEP(cudaGraphKernelNodeGetParams(node, &params));
    assert_ptr_equal(params.func, ck_add_function());
    assert_int_equal(params.blockDim.x, 1);
    assert_ptr_equal(*(int **)params.kernelParams[0], x);
    assert_int_equal(*(int *)params.kernelParams[1], 77);
    STEP(cudaGraphDestroy(graph));
}

TEST(test_clone)
{
    cudaGraph_t graph = NULL, clone = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t found = NULL;
    STEP(cudaMemset(x, 0, sizeof *x));
    STEP(cudaDeviceSynchronize()); /* no other stream waits for a fill of device memory */
    STEP(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t first = add_node(graph, 1, NULL, 0), second = add_node(graph, 2, &first, 1);
    STEP(cudaGraphClone(&clone, graph));
    STEP(cudaGraphNodeFindInClone(&found, second, clone));
    assert_ptr_not_equal(found, second);
    add_node(clone, 4, &found, 1);
    STEP(cudaGraphDestroy(graph));
    STEP(cudaGraphInstantiate(&exec, clone, 0));
    assert_int_equal(launch(exec), 7);
    STEP(cudaGraphExecDestroy(exec));
    STEP(cudaGraphDestroy(clone));
}

TEST(test_updates)
{
    int host = 10, other = 20, value = 3;
    void *arguments[2];
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t copy = NULL;
    struct cudaKernelNodeParams params = add_params(&x, &value, arguments);
    STEP(cudaGraphCreate(&graph, 0));
    STEP(cudaGraphAddMemcpyNode1D(&copy, graph, NULL, 0, x, &host, sizeof host, cudaMemcpyHostToDevice));
    cudaGraphNode_t add = add_node(graph, 1, &copy, 1);
    STEP(cudaGraphInstantiate(&exec, graph, 0));
    assert_int_equal(launch(exec), 11);
    STEP(cudaGraphExecKernelNodeSetParams(exec, add, &params));
    assert_int_equal(launch(exec), 13);
    STEP(cudaGraphLaunch(exec, stream));
    STEP(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, x, &other, sizeof other, cudaMemcpyHostToDevice));
    STEP(cudaStreamSynchronize(stream)); /* the launch before keeps what it had */
    int got = 0;
    STEP(cudaMemcpy(&got, x, sizeof got, cudaMemcpyDeviceToHost));
    assert_int_equal(got, 13);
    assert_int_equal(launch(exec), 23);
    assert_int_equal(cudaGraphExecKernelNodeSetParams(exec, copy, &params), cudaErrorInvalidValue);
    cudaGetLastError();
    STEP(cudaGraphExecDestroy(exec));
    STEP(cudaGraphDestroy(graph));
}

TEST(test_bad_arguments)
{
    cudaGraph_t graph = NULL, other = NULL;
    cudaGraphNode_t node = NULL;
    cudaGraphExec_t exec = NULL;
    STEP(cudaGraphCreate(&graph, 0));
    STEP(cudaGraphCreate(&other, 0));
    cudaGraphNode_t foreign = add_node(other, 1, NULL, 0);
    assert_int_equal(cudaGraphCreate(&graph, 7), cudaErrorInvalidValue);
    assert_int_equal(cudaGraphAddEmptyNode(&node, graph, &foreign, 1), cudaErrorInvalidValue);
    assert_int_equal(cudaGraphAddEmptyNode(&node, graph, NULL, 1), cudaErrorInvalidValue);
    assert_int_equal(cudaGraphInstantiate(&exec, graph, 1ull << 40), cudaErrorInvalidValue);
    assert_int_equal(cudaGraphInstantiate(NULL, graph, 0), cudaErrorInvalidValue);
    cudaGetLastError();
    STEP(cudaGraphDestroy(graph));
    STEP(cudaGraphDestroy(other));
}

TEST(test_empty_graph)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    STEP(cudaGraphCreate(&graph, 0));
    STEP(cudaGraphInstantiate(&exec, graph, 0));
    STEP(cudaGraphUpload(exec, stream));
    STEP(cudaGraphLaunch(exec, stream));
    STEP(cudaStreamSynchronize(stream));
    STEP(cudaGraphExecDestroy(exec));
    STEP(cudaGraphDestroy(graph));
}

/* Real work on two streams, recorded once and replayed: the edges are the events'. */
TEST(test_captured_diamond)
{
    cudaStream_t side = NULL;
    cudaEvent_t event = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    STEP(cudaMemset(x, 0, 2 * sizeof *x));
    STEP(cudaDeviceSynchronize()); /* no other stream waits for a fill of device memory */
    STEP(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    STEP(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    STEP(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    STEP(ck_add(x, 1, stream));
    STEP(cudaEventRecord(event, stream));
    STEP(cudaStreamWaitEvent(side, event, 0));
    STEP(ck_scale(x + 1, x, 10, side));
    STEP(cudaEventRecord(event, side));
    STEP(cudaStreamWaitEvent(stream, event, 0));
    STEP(ck_scale(x, x + 1, 1, stream));
    STEP(cudaStreamEndCapture(stream, &graph));
    STEP(cudaGraphInstantiate(&exec, graph, 0));
    assert_int_equal(launch(exec), 10);
    assert_int_equal(launch(exec), 110);
    STEP(cudaGraphExecDestroy(exec));
    STEP(cudaGraphDestroy(graph));
    STEP(cudaEventDestroy(event));
    STEP(cudaStreamDestroy(side));
}

TEST_GROUP(setup, teardown);
