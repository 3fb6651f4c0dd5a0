/* Memory that graphs allocate and free: within one graph, across two graphs with work on a stream between them, and
 * with a graph whose next launch frees what its last one has allocated. */
#include "program.h"

enum { N = 512, THREADS = 64, BLOCKS = N / THREADS, BYTES = N * sizeof(int) };

__global__ void fill_squares(int *out)
{
    out[thread_index()] = thread_index() * thread_index();
}

__global__ void add_to_each(int *out, const int *in, int value)
{
    out[thread_index()] = in[thread_index()] + value;
}

static long long add_up(const int *values)
{
    long long sum = 0;
    for (int i = 0; i < N; i++)
        sum += values[i];
    return sum;
}

static cudaGraphNode_t add_alloc(cudaGraph_t graph, cudaGraphNode_t after, int **memory)
{
    cudaGraphNode_t node;
    cudaMemAllocNodeParams params = {};
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    params.bytesize = BYTES;
    CHECK(cudaGraphAddMemAllocNode(&node, graph, &after, after != nullptr, &params));
    *memory = static_cast<int *>(params.dptr);
    return node;
}

/* allocate a; fill it; allocate b; b = a + 7; free a; copy b out; free b */
static void run_one_graph(cudaStream_t stream, int *result)
{
    cudaGraph_t graph;
    cudaGraphNode_t filled, added, copied, freed;
    int *a, *b, value = 7;
    void *fill[] = {&a}, *add[] = {&b, &a, &value};
    CHECK(cudaGraphCreate(&graph, 0));
    const cudaGraphNode_t first = add_alloc(graph, nullptr, &a);
    cudaKernelNodeParams params = kernel_params(fill_squares, BLOCKS, THREADS, fill);
    CHECK(cudaGraphAddKernelNode(&filled, graph, &first, 1, &params));
    const cudaGraphNode_t second = add_alloc(graph, filled, &b);
    params = kernel_params(add_to_each, BLOCKS, THREADS, add);
    CHECK(cudaGraphAddKernelNode(&added, graph, &second, 1, &params));
    CHECK(cudaGraphAddMemFreeNode(&freed, graph, &added, 1, a));
    CHECK(cudaGraphAddMemcpyNode1D(&copied, graph, &added, 1, result, b, BYTES, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddMemFreeNode(&freed, graph, &copied, 1, b));
    const std::size_t nodes = count_nodes(graph);
    cudaGraphExec_t exec = instantiate(graph);
    for (int i = 0; i < 2; i++) {
        result[N - 1] = 0;
        launch_and_wait(exec, stream);
        EXPECT(result[N - 1], (N - 1) * (N - 1) + value);
        std::printf("one graph of %zu nodes, launch %d: sum %lld\n", nodes, i + 1, add_up(result));
    }
    CHECK(cudaGraphExecDestroy(exec));
}

/* The first graph allocates, and leaves the memory to the stream and to the second graph. */
static cudaGraphExec_t capture_first(cudaStream_t stream, int **memory)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(reinterpret_cast<void **>(memory), BYTES, stream));
    fill_squares<<<BLOCKS, THREADS, 0, stream>>>(*memory);
    CHECK(cudaStreamEndCapture(stream, &graph));
    return instantiate(graph);
}

static cudaGraphExec_t capture_second(cudaStream_t stream, int *memory, int *result)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemcpyAsync(result, memory, BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(memory, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    return instantiate(graph);
}

static void run_two_graphs(cudaStream_t stream, int *result)
{
    int *memory;
    cudaGraphExec_t first = capture_first(stream, &memory), second = capture_second(stream, memory, result);
    for (int i = 0; i < 3; i++) {
        CHECK(cudaGraphLaunch(first, stream));
        add_to_each<<<BLOCKS, THREADS, 0, stream>>>(memory, memory, i);
        launch_and_wait(second, stream);
        EXPECT(result[3], 9 + i);
        std::printf("two graphs, launch %d: sum %lld\n", i + 1, add_up(result));
    }
    CHECK(cudaGraphExecDestroy(first));
    CHECK(cudaGraphExecDestroy(second));
}

static void run_auto_free(cudaStream_t stream, int *result)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int *memory;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(reinterpret_cast<void **>(&memory), BYTES, stream));
    CHECK(cudaMemsetAsync(memory, 1, BYTES, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    CHECK(cudaGraphDestroy(graph));
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaMemcpyAsync(result, memory, BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(memory, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(result[0], 0x01010101);
    std::printf("freed by the next launch: sum %lld\n", add_up(result));
    CHECK(cudaGraphExecDestroy(exec));
}

int main()
{
    cudaStream_t stream = make_stream();
    int *result = allocate_pinned<int>(N);
    run_one_graph(stream, result);
    run_two_graphs(stream, result);
    run_auto_free(stream, result);
    CHECK(cudaFreeHost(result));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
