/* Variables of kernels: written and read on a stream, in a capture, and by nodes, one of which is given other values.
 */
#include "program.h"

enum { TERMS = 4, N = 64 };

__constant__ int coefficients[TERMS];
__device__ int results[N];
__device__ int runs = 10;

/* results[x] = the polynomial at x */
__global__ void evaluate()
{
    const int x = static_cast<int>(threadIdx.x);
    int value = 0;
    for (int i = TERMS - 1; i >= 0; i--)
        value = value * x + coefficients[i];
    results[x] = value;
    if (x == 0)
        runs++;
}

static void expect_and_print(const char *name, const int *found, const int *terms)
{
    long long sum = 0;
    for (int x = 0; x < N; x++) {
        EXPECT(found[x], terms[0] + terms[1] * x + terms[2] * x * x + terms[3] * x * x * x);
        sum += found[x];
    }
    std::printf("%s: sum %lld\n", name, sum);
}

static void queue(cudaStream_t stream, const int *terms, int *found)
{
    CHECK(cudaMemcpyToSymbolAsync(coefficients, terms, TERMS * sizeof(int), 0, cudaMemcpyHostToDevice, stream));
    evaluate<<<1, N, 0, stream>>>();
    CHECK(cudaMemcpyFromSymbolAsync(found, results, N * sizeof(int), 0, cudaMemcpyDeviceToHost, stream));
}

static void run_captured(cudaStream_t stream, int *terms, int *found)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    queue(stream, terms, found);
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec = instantiate(graph);
    for (int i = 0; i < 2; i++) {
        terms[3] = i;
        launch_and_wait(exec, stream);
        expect_and_print("captured", found, terms);
    }
    CHECK(cudaGraphExecDestroy(exec));
}

/* Two terms are written by one node, at an offset; the others stay. */
static void run_nodes(cudaStream_t stream, int *terms, int *other, int *found)
{
    cudaGraph_t graph;
    cudaGraphNode_t to, evaluated, from;
    cudaGraphExec_t exec;
    const cudaKernelNodeParams kernel = kernel_params(evaluate, 1, N, nullptr);
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNodeToSymbol(&to, graph, nullptr, 0, coefficients, terms, 2 * sizeof(int), 2 * sizeof(int),
                                         cudaMemcpyHostToDevice));
    CHECK(cudaGraphAddKernelNode(&evaluated, graph, &to, 1, &kernel));
    CHECK(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &evaluated, 1, found, results, N * sizeof(int), 0,
                                           cudaMemcpyDeviceToHost));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    int now[TERMS] = {terms[0], terms[1], terms[0], terms[1]};
    launch_and_wait(exec, stream);
    expect_and_print("nodes", found, now);
    CHECK(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, to, coefficients, other, 2 * sizeof(int), 2 * sizeof(int),
                                                   cudaMemcpyHostToDevice));
    now[2] = other[0];
    now[3] = other[1];
    launch_and_wait(exec, stream);
    expect_and_print("nodes with other values", found, now);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

int main()
{
    cudaStream_t stream = make_stream();
    int *terms = allocate_pinned<int>(TERMS), *other = allocate_pinned<int>(2), *found = allocate_pinned<int>(N);
    int count = 0, first = 0;
    std::size_t size = 0;
    void *address = nullptr;
    for (int i = 0; i < TERMS; i++)
        terms[i] = i + 1;
    other[0] = -7;
    other[1] = 2;
    queue(stream, terms, found);
    CHECK(cudaStreamSynchronize(stream));
    expect_and_print("on a stream", found, terms);
    run_captured(stream, terms, found);
    run_nodes(stream, terms, other, found);

    CHECK(cudaMemcpyFromSymbol(&count, runs, sizeof count));
    CHECK(cudaGetSymbolSize(&size, results));
    CHECK(cudaGetSymbolAddress(&address, results));
    CHECK(cudaMemcpy(&first, address, sizeof first, cudaMemcpyDeviceToHost));
    EXPECT(first, terms[0]);
    std::printf("runs: %d, size of the results: %zu\n", count, size);
    for (int *memory : {terms, other, found})
        CHECK(cudaFreeHost(memory));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
