/* Graphs that change: edges, clones, executable graphs updated node by node and whole. Runs on both devices. */
#include "tests/support/cuda_support.h"

#include "tests/support/kernels/graph_kernels.h"

SHARED_STREAM(stream, cudaStreamNonBlocking);
SHARED_MEMORY(int, x, 2);

static cudaGraphNode_t add_kernel(cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, const void *function,
                                  int value)
{
    cudaGraphNode_t node = NULL;
    void *arguments[] = {&x, &value};
    const struct cudaKernelNodeParams params = {(void *)(uintptr_t)function, {1, 1, 1}, {1, 1, 1}, 0, arguments, NULL};
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

static size_t edges_of(cudaGraph_t graph)
{
    size_t count = 0;
    OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
    return count;
}

/* ---- edges and nodes -------------------------------------------------------------------------------------------- */

TEST(test_edges)
{
    NEW_GRAPH(graph);
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
    assert_int_equal(nodes_of(graph), 2);
    assert_int_equal(edges_of(graph), 0);
}

TEST(test_a_cycle_is_refused)
{
    NEW_GRAPH(graph);
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t behind = add_after(graph, NULL, 1);
    cudaGraphNode_t first = add_after(graph, NULL, 1), second = add_after(graph, &first, 1);
    cudaGraphInstantiateParams params = {0};
    OK(cudaGraphAddDependencies(graph, &second, &behind, NULL, 1));
    OK(cudaGraphAddDependencies(graph, &second, &first, NULL, 1));
    assert_int_not_equal(cudaGraphInstantiateWithParams(&exec, graph, &params), cudaSuccess);
    assert_int_equal(params.result_out, cudaGraphInstantiateInvalidStructure);
    assert_non_null(params.errNode_out);
    if (on_host_device())
        assert_ptr_not_equal(params.errNode_out, behind);
    cudaGetLastError();
}

TEST(test_upload_with_the_graph)
{
    NEW_GRAPH(graph);
    OWNED_EXEC(exec);
    cudaGraphInstantiateParams params = {.flags = cudaGraphInstantiateFlagUpload, .uploadStream = stream};
    add_after(graph, NULL, 1);
    OK(cudaGraphInstantiateWithParams(&exec, graph, &params));
    assert_int_equal(params.result_out, cudaGraphInstantiateSuccess);
    assert_int_equal(run(exec), 101);
    OK(cudaGraphUpload(exec, stream));
    assert_int_equal(run(exec), 101);
}

/* ---- clones ----------------------------------------------------------------------------------------------------- */

TEST(test_clone)
{
    OWNED_CUDA_GRAPH(clone);
    OWNED_CUDA_GRAPH(second);
    NEW_GRAPH(graph);
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
    EXEC_OF(exec, second);
    assert_int_equal(run(exec), 101);
}

/* ---- one node of an executable graph ----------------------------------------------------------------------------- */

TEST(test_copies_and_fills)
{
    int host = 5, other = 6;
    NEW_GRAPH(graph);
    cudaGraphNode_t copy = NULL, fill = NULL;
    struct cudaMemsetParams zero = {x + 1, 4, 0, 4, 1, 1};
    struct cudaMemcpy3DParms box;
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, NULL, 0, x, &host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaGraphAddMemsetNode(&fill, graph, NULL, 0, &zero));
    EXEC_OF(exec, graph);
    assert_int_equal(run(exec), 5);
    OK(cudaGraphMemcpyNodeGetParams(copy, &box));
    box.srcPtr.ptr = &other;
    OK(cudaGraphExecMemcpyNodeSetParams(exec, copy, &box));
    assert_int_equal(run(exec), 6);
    zero.value = 77;
    OK(cudaGraphExecMemsetNodeSetParams(exec, fill, &zero));
    run(exec);
    assert_int_equal(read_int(x + 1, stream), 77);
    OK(cudaGraphMemcpyNodeSetParams1D(copy, x, &other, sizeof other, cudaMemcpyHostToDevice));
    EXPECT_INVALID(cudaGraphExecMemsetNodeSetParams(exec, copy, &zero));
}

/* What is asked of one node sets another; what was instantiated keeps what it had. */
TEST(test_kernels)
{
    OWNED_EXEC(exec);
    struct cudaKernelNodeParams params;
    NEW_GRAPH(graph);
    cudaGraphNode_t first = add_after(graph, NULL, 1);
    cudaGraphNode_t second = add_kernel(graph, &first, 1, gk_multiply_function(), 3);
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cudaGraphKernelNodeGetParams(second, &params));
    OK(cudaGraphKernelNodeSetParams(first, &params));
    OK(cudaGraphKernelNodeCopyAttributes(first, second));
    assert_int_equal(run(exec), 303);
    EXEC_OF(again, graph);
    assert_int_equal(run(again), 900);
    params.blockDim.x = 0;
    EXPECT_INVALID(cudaGraphKernelNodeSetParams(first, &params));
}

TEST(test_switched_off)
{
    unsigned on = 99;
    cudaGraphNode_t empty = NULL;
    NEW_GRAPH(graph);
    cudaGraphNode_t first = add_after(graph, NULL, 1), second = add_after(graph, &first, 10);
    OK(cudaGraphAddEmptyNode(&empty, graph, &second, 1));
    EXEC_OF(exec, graph);
    OK(cudaGraphNodeGetEnabled(exec, first, &on));
    assert_int_equal(on, 1);
    OK(cudaGraphNodeSetEnabled(exec, first, 0));
    OK(cudaGraphNodeGetEnabled(exec, first, &on));
    assert_int_equal(on, 0);
    assert_int_equal(run(exec), 110);
    OK(cudaGraphNodeSetEnabled(exec, first, 1));
    assert_int_equal(run(exec), 111);
    EXPECT_INVALID(cudaGraphNodeSetEnabled(exec, empty, 0));
}

/* The setters know nodes by what they were at the instantiation. */
TEST(test_graph_changed_since)
{
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t first = add_after(graph, NULL, 1), second = add_after(graph, NULL, 10);
    EXEC_OF(exec, graph);
    cudaGraphNode_t later = add_after(graph, NULL, 100);
    OK(cudaGraphDestroyNode(first));
    OK(cudaGraphNodeSetEnabled(exec, second, 0));
    assert_int_equal(run(exec), 101);
    EXPECT_INVALID(cudaGraphNodeSetEnabled(exec, later, 0));
    OK(cudaGraphDestroy(graph));
    assert_int_equal(run(exec), 101);
}

/* ---- whole graphs ------------------------------------------------------------------------------------------------ */

static cudaGraphExecUpdateResultInfo info;

/* (*x + first) * second: the order counts. */
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
    EXEC_OF(exec, graph);
    assert_int_equal(run(exec), 202);
    OK(cudaGraphLaunch(exec, stream)); /* keeps what it had */
    OK(cudaGraphExecUpdate(exec, other, &info));
    assert_int_equal(info.result, cudaGraphExecUpdateSuccess);
    assert_int_equal(read_int(x, stream), 406);
    assert_int_equal(run(exec), 412);
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
    assert_int_equal(run(exec), 412);
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
    GRAPH_OF(graph, chain(1, 2));
    EXEC_OF(exec, graph);
    cudaGraph_t longer = chain(3, 4), loose = new_graph(), other = new_graph();
    cudaGraphNode_t fill = NULL;
    struct cudaMemsetParams zero = {x + 1, 4, 0, 4, 1, 1};
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
}

/* A captured pass updates the executable graph of the pass before it. */
TEST(test_update_by_capture)
{
    OWNED_EXEC(exec);
    for (int i = 1; i <= 3; i++) {
        BEGIN_CAPTURE(stream);
        OK(gk_add(x, i, stream));
        OK(gk_add(x, 10 * i, stream));
        cudaGraph_t graph = end_capture(stream);
        if (exec)
            OK(cudaGraphExecUpdate(exec, graph, &info));
        else
            exec = new_exec(graph);
        OK(cudaGraphDestroy(graph));
        assert_int_equal(run(exec), 100 + 11 * i);
    }
}

static cudaGraph_t holding(cudaGraph_t child, cudaGraphNode_t *node)
{
    cudaGraph_t graph = new_graph();
    OK(cudaGraphAddChildGraphNode(node, graph, NULL, 0, child));
    OK(cudaGraphDestroy(child)); /* the node has its own copy */
    return graph;
}

TEST(test_child_of_a_child_replaced)
{
    cudaGraphNode_t node = NULL, inner = NULL;
    cudaGraph_t middle = holding(chain(1, 2), &inner);
    add_after(middle, &inner, 1000);
    GRAPH_OF(graph, holding(middle, &node));
    GRAPH_OF(flat, chain(5, 6));
    GRAPH_OF(other, holding(chain(3, 4), &inner));
    add_after(graph, &node, 10000);
    EXEC_OF(exec, graph);
    assert_int_equal(run(exec), (100 + 1) * 2 + 11000);
    EXPECT_CODE(cudaGraphExecChildGraphNodeSetParams(exec, node, other), cudaErrorGraphExecUpdateFailure);
    EXPECT_CODE(cudaGraphExecChildGraphNodeSetParams(exec, node, flat), cudaErrorGraphExecUpdateFailure);
    assert_int_equal(run(exec), (100 + 1) * 2 + 11000);
    add_after(other, &inner, 2000);
    OK(cudaGraphExecChildGraphNodeSetParams(exec, node, other));
    assert_int_equal(run(exec), (100 + 3) * 4 + 12000);
}

TEST_GROUP(make_shared, drop_shared);
