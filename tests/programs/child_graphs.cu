/* Graphs within graphs: a captured one is added twice, as copies that no longer follow the original, and a graph of
 * these is itself a child. */
#include "program.h"

enum { N = 32 };

__global__ void set(int *values, int value)
{
    values[threadIdx.x] = value;
}

/* values[i] = values[i] * 3 + the next one's value, which all have read before any writes */
__global__ void mix(int *values)
{
    const unsigned me = threadIdx.x;
    const int next = __shfl_sync(~0u, values[me], static_cast<int>((me + 1) % N));
    values[me] = values[me] * 3 + next + static_cast<int>(me);
}

static void mix_on_host(int *values)
{
    const int first = values[0];
    for (int i = 0; i < N; i++)
        values[i] = values[i] * 3 + (i + 1 < N ? values[i + 1] : first) + i;
}

static cudaGraph_t capture_mix(cudaStream_t stream, int *values)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    mix<<<1, N, 0, stream>>>(values);
    mix<<<1, N, 0, stream>>>(values);
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static cudaGraphNode_t add_set(cudaGraph_t graph, int *values, int value)
{
    cudaGraphNode_t node;
    void *arguments[] = {&values, &value};
    const cudaKernelNodeParams params = kernel_params(set, 1, N, arguments);
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    return node;
}

static void run(const char *name, cudaGraph_t graph, cudaStream_t stream, const int *values, int value, int mixes)
{
    cudaGraphExec_t exec;
    int found[N], wanted[N];
    unsigned sum = 0;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaMemcpyAsync(found, values, sizeof found, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int &each : wanted)
        each = value;
    for (int i = 0; i < mixes; i++)
        mix_on_host(wanted);
    for (int i = 0; i < N; i++) {
        EXPECT(found[i], wanted[i]);
        sum += static_cast<unsigned>(found[i]);
    }
    std::printf("%s: %zu nodes, sum %u\n", name, count_nodes(graph), sum);
    CHECK(cudaGraphExecDestroy(exec));
}

int main()
{
    cudaStream_t stream = make_stream();
    cudaGraph_t middle, outer, embedded;
    cudaGraphNode_t first, second, extra;
    cudaGraphNodeType type;
    int *values = allocate<int>(N);
    cudaGraph_t inner = capture_mix(stream, values);
    CHECK(cudaGraphCreate(&middle, 0));
    const cudaGraphNode_t start = add_set(middle, values, 1);
    CHECK(cudaGraphAddChildGraphNode(&first, middle, &start, 1, inner));
    CHECK(cudaGraphAddChildGraphNode(&second, middle, &first, 1, inner));
    CHECK(cudaGraphNodeGetType(second, &type));
    EXPECT(type, cudaGraphNodeTypeGraph);
    run("a child twice", middle, stream, values, 1, 4);

    /* The children are copies: what is added to the original is not in them. */
    CHECK(cudaGraphAddEmptyNode(&extra, inner, nullptr, 0));
    CHECK(cudaGraphChildGraphNodeGetGraph(second, &embedded));
    std::printf("the original: %zu nodes, its copy: %zu\n", count_nodes(inner), count_nodes(embedded));
    CHECK(cudaGraphDestroy(inner));

    CHECK(cudaGraphCreate(&outer, 0));
    CHECK(cudaGraphAddChildGraphNode(&first, outer, nullptr, 0, middle));
    CHECK(cudaGraphDestroy(middle));
    inner = capture_mix(stream, values);
    CHECK(cudaGraphAddChildGraphNode(&second, outer, &first, 1, inner));
    CHECK(cudaGraphDestroy(inner));
    run("a child of a child", outer, stream, values, 1, 6);
    CHECK(cudaGraphDestroy(outer));
    CHECK(cudaFree(values));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
