/* A clone of a graph is changed, and updates the executable graph of the original. A graph of another shape does not,
 * and the executable graph stays as it was. */
#include "program.h"

enum { N = 128, THREADS = 64 };

__global__ void fill(int *values, int value)
{
    values[thread_index()] = value + thread_index();
}

__global__ void multiply(int *values, int factor)
{
    values[thread_index()] *= factor;
}

struct pair {
    cudaGraphNode_t fill, multiply;
};

static void set_number(cudaGraphNode_t node, int *values, int number)
{
    cudaKernelNodeParams params;
    void *arguments[] = {&values, &number};
    CHECK(cudaGraphKernelNodeGetParams(node, &params));
    params.kernelParams = arguments;
    CHECK(cudaGraphKernelNodeSetParams(node, &params));
}

static cudaGraph_t make_graph(int *values, pair *nodes)
{
    cudaGraph_t graph;
    int value = 1, factor = 2;
    void *fill_arguments[] = {&values, &value}, *arguments[] = {&values, &factor};
    CHECK(cudaGraphCreate(&graph, 0));
    cudaKernelNodeParams params = kernel_params(fill, N / THREADS, THREADS, fill_arguments);
    CHECK(cudaGraphAddKernelNode(&nodes->fill, graph, nullptr, 0, &params));
    params = kernel_params(multiply, N / THREADS, THREADS, arguments);
    CHECK(cudaGraphAddKernelNode(&nodes->multiply, graph, &nodes->fill, 1, &params));
    return graph;
}

static void expect_sum(const char *name, cudaGraphExec_t exec, cudaStream_t stream, const int *values, int value,
                       int factor)
{
    int found[N], sum = 0;
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaMemcpyAsync(found, values, sizeof found, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < N; i++) {
        EXPECT(found[i], (value + i) * factor);
        sum += found[i];
    }
    std::printf("%s: sum %d\n", name, sum);
}

int main()
{
    cudaStream_t stream = make_stream();
    cudaGraph_t clone;
    cudaGraphExec_t exec, other;
    cudaGraphExecUpdateResultInfo info;
    cudaGraphNode_t node, extra;
    pair nodes;
    int *values = allocate<int>(N);
    cudaGraph_t graph = make_graph(values, &nodes);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    expect_sum("the original", exec, stream, values, 1, 2);

    CHECK(cudaGraphClone(&clone, graph));
    CHECK(cudaGraphNodeFindInClone(&node, nodes.fill, clone));
    set_number(node, values, 10);
    CHECK(cudaGraphNodeFindInClone(&node, nodes.multiply, clone));
    set_number(node, values, 5);
    CHECK(cudaGraphInstantiate(&other, clone, 0));
    expect_sum("the clone", other, stream, values, 10, 5);
    expect_sum("the original", exec, stream, values, 1, 2);
    CHECK(cudaGraphExecUpdate(exec, clone, &info));
    EXPECT(info.result, cudaGraphExecUpdateSuccess);
    expect_sum("updated by the clone", exec, stream, values, 10, 5);
    CHECK(cudaGraphExecUpdate(exec, graph, &info));
    expect_sum("and back", exec, stream, values, 1, 2);

    CHECK(cudaGraphAddEmptyNode(&extra, clone, &node, 1));
    EXPECT(cudaGraphExecUpdate(exec, clone, &info), cudaErrorGraphExecUpdateFailure);
    EXPECT(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    EXPECT(cudaGetLastError(), cudaErrorGraphExecUpdateFailure);
    std::printf("a clone with one node more: refused\n");
    expect_sum("as before", exec, stream, values, 1, 2);

    CHECK(cudaGraphDestroyNode(extra));
    CHECK(cudaGraphExecUpdate(exec, clone, &info));
    expect_sum("without that node", exec, stream, values, 10, 5);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphExecDestroy(other));
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(values));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
