/* Nodes of an executable graph that are switched off and on between launches: a memset, two kernels and a copy. */
#include "program.h"

enum { N = 64, BYTES = N * sizeof(int) };

__global__ void add(int *values, int number)
{
    values[threadIdx.x] += number;
}

__global__ void multiply(int *values, int number)
{
    values[threadIdx.x] *= number;
}

enum { MEMSET, ADD, MULTIPLY, COPY, NODES };

static cudaGraph_t make_graph(int *values, int *out, cudaGraphNode_t *nodes)
{
    cudaGraph_t graph;
    int number = 7, factor = 3;
    void *added[] = {&values, &number}, *multiplied[] = {&values, &factor};
    cudaMemsetParams zero = {};
    zero.dst = values;
    zero.elementSize = sizeof(int);
    zero.width = N;
    zero.height = 1;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemsetNode(&nodes[MEMSET], graph, nullptr, 0, &zero));
    cudaKernelNodeParams params = kernel_params(add, 1, N, added);
    CHECK(cudaGraphAddKernelNode(&nodes[ADD], graph, &nodes[MEMSET], 1, &params));
    params = kernel_params(multiply, 1, N, multiplied);
    CHECK(cudaGraphAddKernelNode(&nodes[MULTIPLY], graph, &nodes[ADD], 1, &params));
    CHECK(
        cudaGraphAddMemcpyNode1D(&nodes[COPY], graph, &nodes[MULTIPLY], 1, out, values, BYTES, cudaMemcpyDeviceToHost));
    return graph;
}

int main()
{
    static const struct {
        const char *name;
        bool is_enabled[NODES];
        int wanted;
    } cases[] = {
        {"all", {true, true, true, true}, 21},         {"no sum", {true, false, true, true}, 0},
        {"no product", {true, true, false, true}, 7},  {"no memset", {false, true, true, true}, 42},
        {"no copy", {true, true, true, false}, 42},    {"the copy alone", {false, false, false, true}, 21},
        {"nothing", {false, false, false, false}, 21}, {"all again", {true, true, true, true}, 21},
    };
    cudaStream_t stream = make_stream();
    cudaGraphNode_t nodes[NODES];
    cudaGraphExec_t exec;
    int *values = allocate<int>(N), *out = allocate_pinned<int>(N);
    cudaGraph_t graph = make_graph(values, out, nodes);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (const auto &each : cases) {
        for (int i = 0; i < NODES; i++) {
            unsigned is_enabled = 2;
            CHECK(cudaGraphNodeSetEnabled(exec, nodes[i], each.is_enabled[i]));
            CHECK(cudaGraphNodeGetEnabled(exec, nodes[i], &is_enabled));
            EXPECT(is_enabled, each.is_enabled[i]);
        }
        launch_and_wait(exec, stream);
        for (int i = 0; i < N; i++)
            EXPECT(out[i], each.wanted);
        std::printf("%s: %d\n", each.name, out[0]);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(values));
    CHECK(cudaFreeHost(out));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
