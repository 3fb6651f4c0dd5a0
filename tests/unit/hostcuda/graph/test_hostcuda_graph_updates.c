/* Graphs that change: edges, clones, executable graphs updated node by node and whole. Runs on both devices. */
#include "tests/support/cuda_support.h"

#include <string.h>

#include "tests/support/kernels/graph_kernels.h"

static cudaStream_t stream;
static int *x, *y;

static int setup(void **state)
{
    (void)state;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    x = device_memory(2 * sizeof *x);
    y = x + 1;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(x));
    return 0;
}

static cudaGraph_t new_graph(void)
{
    cudaGraph_t graph = NULL;
    OK(cudaGraphCreate(&graph, 0));
    return graph;
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, const void *function,
                                  int value)
{
    cudaGraphNode_t node = NULL;
    void *arguments[] = {&x, &value};
    struct cudaKernelNodeParams params;
    memset(&params, 0, sizeof params);
    params.func = (void *)(uintptr_t)function;
    params.gridDim = params.blockDim = (dim3){1, 1, 1};
    params.kernelParams = arguments;
    OK(cudaGraphAddKernelNode(&node, graph, after, count, &params));
    return node;
}

static cudaGraphNode_t add_after(cudaGraph_t graph, const cudaGraphNode_t *after, int value)
{
    return add_kernel(graph, after, after ? 1 : 0, gk_add_function(), value);
}

/* *x = 100, then the graph. */
static int run(cudaGraphExec_t exec)
{
    const int start = 100;
    OK(cudaMemcpy(x, &start, sizeof start, cudaMemcpyHostToDevice));
    OK(cudaGraphLaunch(exec, stream));
    return read_int(x, stream);
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t exec = NULL;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

static size_t edges_of(cudaGraph_t graph)
{
    size_t count = 0;
    OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
    return count;
}

/* ---- edges and nodes -------------------------------------------------------------------------------------------- */

TEST(test_edges)
{
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t nodes[3], from[4], to[4];
    size_t count = 4;
    for (int i = 0; i < 3; i++)
        nodes[i] = add_after(graph, NULL, 1);
    OK(cudaGraphAddDependencies(graph, nodes, nodes + 1, NULL, 2)); /* 0 -> 1 -> 2 */
    assert_int_equal(edges_of(graph), 2);
    OK(cudaGraphRemoveDependencies(graph, nodes, nodes + 1, NULL, 1));
    OK(cudaGraphGetEdges(graph, from, to, NULL, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(from[0], nodes[1]);
    assert_ptr_equal(to[0], nodes[2]);
    EXPECT_INVALID(cudaGraphRemoveDependencies(graph, nodes, nodes + 1, NULL, 1));
    EXPECT_INVALID(cudaGraphAddDependencies(graph, nodes, nodes, NULL, 1));
    OK(cudaGraphDestroyNode(nodes[1]));
    count = 0;
    OK(cudaGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 2);
    assert_int_equal(edges_of(graph), 0);
    OK(cudaGraphDestroy(graph));
}

TEST(test_a_cycle_is_refused)
{
    cudaGraph_t graph = new_graph();
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t behind = add_after(graph, NULL, 1);
    cudaGraphNode_t first = add_after(graph, NULL, 1), second = add_after(graph, &first, 1);
    cudaGraphInstantiateParams params;
    memset(&params, 0, sizeof params);
    OK(cudaGraphAddDependencies(graph, &second, &behind, NULL, 1));
    OK(cudaGraphAddDependencies(graph, &second, &first, NULL, 1));
    assert_int_not_equal(cudaGraphInstantiateWithParams(&exec, graph, &params), cudaSuccess);
    assert_int_equal(params.result_out, cudaGraphInstantiateInvalidStructure);
    assert_non_null(params.errNode_out);
    if (strcmp(BG_DEVICE_KIND, "host") == 0)
        assert_ptr_not_equal(params.errNode_out, behind);
    cudaGetLastError();
    OK(cudaGraphDestroy(graph));
}

TEST(test_upload_with_the_graph)
{
    cudaGraph_t graph = new_graph();
    cudaGraphExec_t exec = NULL;
    cudaGraphInstantiateParams params;
    memset(&params, 0, sizeof params);
    params.flags = cudaGraphInstantiateFlagUpload;
    params.uploadStream = stream;
    add_after(graph, NULL, 1);
    OK(cudaGraphInstantiateWithParams(&exec, graph, &params));
    assert_int_equal(params.result_out, cudaGraphInstantiateSuccess);
    assert_int_equal(run(exec), 101);
    OK(cudaGraphUpload(exec, stream));
    assert_int_equal(run(exec), 101);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

/* ---- clones ----------------------------------------------------------------------------------------------------- */

TEST(test_clone)
{
    cudaGraph_t graph = new_graph(), clone = NULL, second = NULL;
    cudaGraphNode_t found = NULL;
    cudaGraphNode_t first = add_after(graph, NULL, 1), last = add_after(graph, &first, 2);
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphNodeFindInClone(&found, last, clone));
    assert_ptr_not_equal(found, last);
    OK(cudaGraphDestroyNode(found));
    assert_int_equal(edges_of(graph), 1); /* the original is as before */
    EXPECT_INVALID(cudaGraphNodeFindInClone(&found, last, clone));
    EXPECT_INVALID(cudaGraphNodeFindInClone(&found, last, graph)); /* no clone of its own */
    OK(cudaGraphClone(&second, clone));
    cudaGraphExec_t exec = instantiate(second);
    assert_int_equal(run(exec), 101);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(second));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroy(graph));
}

/* ---- one node of an executable graph ----------------------------------------------------------------------------- */

TEST(test_copies_and_fills)
{
    int host = 5, other = 6;
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t copy = NULL, fill = NULL;
    struct cudaMemsetParams zero = {y, 4, 0, 4, 1, 1};
    struct cudaMemcpy3DParms box;
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, NULL, 0, x, &host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaGraphAddMemsetNode(&fill, graph, NULL, 0, &zero));
    cudaGraphExec_t exec = instantiate(graph);
    assert_int_equal(run(exec), 5);
    OK(cudaGraphMemcpyNodeGetParams(copy, &box));
    box.srcPtr.ptr = &other;
    OK(cudaGraphExecMemcpyNodeSetParams(exec, copy, &box));
    assert_int_equal(run(exec), 6);
    zero.value = 77;
    OK(cudaGraphExecMemsetNodeSetParams(exec, fill, &zero));
    run(exec);
    assert_int_equal(read_int(y, stream), 77);
    OK(cudaGraphMemcpyNodeSetParams1D(copy, x, &other, sizeof other, cudaMemcpyHostToDevice));
    EXPECT_INVALID(cudaGraphExecMemsetNodeSetParams(exec, copy, &zero));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

/* What is asked of one node sets another; what was instantiated keeps what it had. */
TEST(test_kernels)
{
    cudaGraphExec_t exec = NULL;
    struct cudaKernelNodeParams params;
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t first = add_after(graph, NULL, 1);
    cudaGraphNode_t second = add_kernel(graph, &first, 1, gk_multiply_function(), 3);
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cudaGraphKernelNodeGetParams(second, &params));
    OK(cudaGraphKernelNodeSetParams(first, &params));
    OK(cudaGraphKernelNodeCopyAttributes(first, second));
    assert_int_equal(run(exec), 303);
    OK(cudaGraphExecDestroy(exec));
    exec = instantiate(graph);
    assert_int_equal(run(exec), 900);
    params.blockDim.x = 0;
    EXPECT_INVALID(cudaGraphKernelNodeSetParams(first, &params));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

TEST(test_switched_off)
{
    unsigned on = 99;
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t empty = NULL;
    cudaGraphNode_t first = add_after(graph, NULL, 1), second = add_after(graph, &first, 10);
    OK(cudaGraphAddEmptyNode(&empty, graph, &second, 1));
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaGraphNodeGetEnabled(exec, first, &on));
    assert_int_equal(on, 1);
    OK(cudaGraphNodeSetEnabled(exec, first, 0));
    OK(cudaGraphNodeGetEnabled(exec, first, &on));
    assert_int_equal(on, 0);
    assert_int_equal(run(exec), 110);
    OK(cudaGraphNodeSetEnabled(exec, first, 1));
    assert_int_equal(run(exec), 111);
    EXPECT_INVALID(cudaGraphNodeSetEnabled(exec, empty, 0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

/* The setters know nodes by what they were at the instantiation. */
TEST(test_graph_changed_since)
{
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t first = add_after(graph, NULL, 1), second = add_after(graph, NULL, 10);
    cudaGraphExec_t exec = instantiate(graph);
    cudaGraphNode_t later = add_after(graph, NULL, 100);
    OK(cudaGraphDestroyNode(first));
    OK(cudaGraphNodeSetEnabled(exec, second, 0));
    assert_int_equal(run(exec), 101);
    EXPECT_INVALID(cudaGraphNodeSetEnabled(exec, later, 0));
    OK(cudaGraphDestroy(graph));
    assert_int_equal(run(exec), 101);
    OK(cudaGraphExecDestroy(exec));
}

/* ---- whole graphs ------------------------------------------------------------------------------------------------ */

static cudaGraphExecUpdateResultInfo info;

/* (*x + first) * second */
static cudaGraph_t chain(int first, int second)
{
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node = add_after(graph, NULL, first);
    add_kernel(graph, &node, 1, gk_multiply_function(), second);
    return graph;
}

TEST(test_update)
{
    cudaGraph_t graph = chain(1, 2), other = chain(3, 4);
    cudaGraphExec_t exec = instantiate(graph);
    assert_int_equal(run(exec), 202);
    OK(cudaGraphLaunch(exec, stream)); /* keeps what it had */
    OK(cudaGraphExecUpdate(exec, other, &info));
    assert_int_equal(info.result, cudaGraphExecUpdateSuccess);
    assert_int_equal(read_int(x, stream), 406);
    assert_int_equal(run(exec), 412);
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
    assert_int_equal(run(exec), 412);
    OK(cudaGraphExecDestroy(exec));
}

static void expect_refused(cudaGraphExec_t exec, cudaGraph_t graph, enum cudaGraphExecUpdateResult result)
{
    EXPECT_CODE(cudaGraphExecUpdate(exec, graph, &info), cudaErrorGraphExecUpdateFailure);
    assert_int_equal(info.result, result);
    assert_int_equal(run(exec), 202); /* it is as before */
    OK(cudaGraphDestroy(graph));
}

TEST(test_refused_updates)
{
    cudaGraph_t graph = chain(1, 2);
    cudaGraphExec_t exec = instantiate(graph);
    cudaGraph_t longer = chain(3, 4), loose = new_graph(), other = new_graph();
    cudaGraphNode_t fill = NULL;
    struct cudaMemsetParams zero = {y, 4, 0, 4, 1, 1};
    add_after(longer, NULL, 5);
    expect_refused(exec, longer, cudaGraphExecUpdateErrorTopologyChanged);
    add_after(loose, NULL, 3);
    add_kernel(loose, NULL, 0, gk_multiply_function(), 4);
    expect_refused(exec, loose, cudaGraphExecUpdateErrorTopologyChanged);
    cudaGraphNode_t first = add_after(other, NULL, 3);
    OK(cudaGraphAddMemsetNode(&fill, other, &first, 1, &zero));
    EXPECT_CODE(cudaGraphExecUpdate(exec, other, &info), cudaErrorGraphExecUpdateFailure);
    assert_ptr_equal(info.errorNode, fill);
    expect_refused(exec, other, cudaGraphExecUpdateErrorNodeTypeChanged);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

/* A captured pass updates the executable graph of the pass before it. */
TEST(test_update_by_capture)
{
    cudaGraphExec_t exec = NULL;
    for (int i = 1; i <= 3; i++) {
        cudaGraph_t graph = NULL;
        OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        OK(gk_add(x, i, stream));
        OK(gk_add(x, 10 * i, stream));
        OK(cudaStreamEndCapture(stream, &graph));
        if (exec)
            OK(cudaGraphExecUpdate(exec, graph, &info));
        else
            exec = instantiate(graph);
        OK(cudaGraphDestroy(graph));
        assert_int_equal(run(exec), 100 + 11 * i);
    }
    OK(cudaGraphExecDestroy(exec));
}

static cudaGraph_t holding(cudaGraph_t child, cudaGraphNode_t *node)
{
    cudaGraph_t graph = new_graph();
    OK(cudaGraphAddChildGraphNode(node, graph, NULL, 0, child));
    OK(cudaGraphDestroy(child)); /* the node has its own copy */
    return graph;
}

/* A sum, then a product, so that the order counts. */
static cudaGraph_t sum_and_product(int term, int factor)
{
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t sum = add_after(graph, NULL, term);
    add_kernel(graph, &sum, 1, gk_multiply_function(), factor);
    return graph;
}

TEST(test_child_of_a_child_replaced)
{
    cudaGraphNode_t node = NULL, inner = NULL;
    cudaGraph_t middle = holding(sum_and_product(1, 2), &inner), flat = sum_and_product(5, 6);
    add_after(middle, &inner, 1000);
    cudaGraph_t graph = holding(middle, &node), other = holding(sum_and_product(3, 4), &inner);
    cudaGraphExec_t exec = NULL;
    add_after(graph, &node, 10000);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    assert_int_equal(run(exec), (100 + 1) * 2 + 11000);
    EXPECT_CODE(cudaGraphExecChildGraphNodeSetParams(exec, node, other), cudaErrorGraphExecUpdateFailure);
    EXPECT_CODE(cudaGraphExecChildGraphNodeSetParams(exec, node, flat), cudaErrorGraphExecUpdateFailure);
    assert_int_equal(run(exec), (100 + 1) * 2 + 11000);
    add_after(other, &inner, 2000);
    OK(cudaGraphExecChildGraphNodeSetParams(exec, node, other));
    assert_int_equal(run(exec), (100 + 3) * 4 + 12000);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(flat));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(graph));
}

TEST_GROUP(setup, teardown);
