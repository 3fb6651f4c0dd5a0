/* Captures and nodes made by hand in one graph: a capture continues a graph behind two of its nodes, a node is put into
 * a running capture, and the stream goes on behind it. */
#include "program.h"

#include <vector>

__global__ void set(int *value, int number)
{
    *value = number;
}

__global__ void add(int *to, const int *a, const int *b)
{
    *to = *a + *b;
}

__global__ void multiply(int *value, int factor)
{
    *value *= factor;
}

static cudaGraphNode_t add_set(cudaGraph_t graph, int *value, int number)
{
    cudaGraphNode_t node;
    void *arguments[] = {&value, &number};
    const cudaKernelNodeParams params = kernel_params(set, 1, 1, arguments);
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    return node;
}

/* The nodes behind which the stream's next work comes. */
static std::vector<cudaGraphNode_t> tail_of(cudaStream_t stream, cudaGraph_t graph)
{
    cudaStreamCaptureStatus status;
    cudaGraph_t captured = nullptr;
    const cudaGraphNode_t *nodes = nullptr;
    std::size_t count = 0;
    CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &captured, &nodes, nullptr, &count));
    EXPECT(status, cudaStreamCaptureStatusActive);
    EXPECT(captured == graph, true);
    return std::vector<cudaGraphNode_t>(nodes, nodes + count);
}

/* value[0] *= 3 by a node that the capture knows nothing of, until the stream is told to go on behind it. */
static void insert_by_hand(cudaStream_t stream, cudaGraph_t graph, const cudaKernelNodeParams &params)
{
    cudaGraphNode_t node;
    const std::vector<cudaGraphNode_t> tail = tail_of(stream, graph);
    CHECK(cudaGraphAddKernelNode(&node, graph, tail.data(), tail.size(), &params));
    CHECK(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies));
}

int main()
{
    cudaStream_t stream = make_stream();
    cudaGraph_t graph, ended;
    std::size_t roots = 0, edges = 0;
    int *values = allocate<int>(3), *sum = values + 2, factor = 3;
    void *arguments[] = {&sum, &factor};
    const cudaKernelNodeParams params = kernel_params(multiply, 1, 1, arguments);
    CHECK(cudaGraphCreate(&graph, 0));
    const cudaGraphNode_t set_nodes[] = {add_set(graph, values, 4), add_set(graph, values + 1, 5)};

    CHECK(cudaStreamBeginCaptureToGraph(stream, graph, set_nodes, nullptr, 2, cudaStreamCaptureModeGlobal));
    EXPECT(tail_of(stream, graph).size(), 2);
    add<<<1, 1, 0, stream>>>(sum, values, values + 1);
    EXPECT(tail_of(stream, graph).size(), 1);
    insert_by_hand(stream, graph, params);
    add<<<1, 1, 0, stream>>>(sum, sum, values);
    CHECK(cudaStreamEndCapture(stream, &ended));
    EXPECT(ended == graph, true);
    CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    std::printf("%zu nodes, %zu roots, %zu edges\n", count_nodes(graph), roots, edges);

    cudaGraphExec_t exec = instantiate(graph);
    for (int i = 0; i < 2; i++) {
        CHECK(cudaGraphLaunch(exec, stream));
        const int found = read_one(sum, stream);
        EXPECT(found, (4 + 5) * 3 + 4);
        std::printf("launch %d: %d\n", i + 1, found);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaFree(values));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
