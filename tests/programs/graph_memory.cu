// A graph that allocates its own memory: nodes for the allocation, the work and the free, with the work captured from a
// stream and added as a child graph. It is instantiated once and launched several times, with new input each time; and
// the same work is captured whole, with cudaMallocAsync and cudaFreeAsync.
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t status = (call);                                                                                   \
        if (status != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));                 \
            exit(EXIT_FAILURE);                                                                                        \
        }                                                                                                              \
    } while (0)

constexpr int COUNT = 2000, BLOCK = 128, GRID = (COUNT + BLOCK - 1) / BLOCK, LAUNCHES = 4;

__global__ void square(const int *in, int *squared, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        squared[i] = in[i] * in[i];
}

__global__ void add_neighbours(const int *squared, int *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = squared[i] + squared[(i + 1) % n];
}

// Captures what is between the allocation and the free.
static cudaGraph_t capture_work(cudaStream_t stream, const int *in, int *squared, int *out)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    square<<<GRID, BLOCK, 0, stream>>>(in, squared, COUNT);
    add_neighbours<<<GRID, BLOCK, 0, stream>>>(squared, out, COUNT);
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static cudaGraphExec_t make_by_nodes(cudaStream_t stream, const int *in, int *out)
{
    cudaGraph_t graph;
    cudaGraphNode_t allocate, work, release;
    cudaGraphExec_t exec;
    cudaMemAllocNodeParams params = {};
    params.bytesize = COUNT * sizeof(int);
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    params.poolProps.location.id = 0;

    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &params));
    cudaGraph_t captured = capture_work(stream, in, static_cast<int *>(params.dptr), out);
    CHECK(cudaGraphAddChildGraphNode(&work, graph, &allocate, 1, captured));
    CHECK(cudaGraphAddMemFreeNode(&release, graph, &work, 1, params.dptr));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(captured));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

static cudaGraphExec_t make_by_capture(cudaStream_t stream, const int *in, int *out)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t nodes = 0;
    int *squared;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&squared, COUNT * sizeof(int), stream));
    square<<<GRID, BLOCK, 0, stream>>>(in, squared, COUNT);
    add_neighbours<<<GRID, BLOCK, 0, stream>>>(squared, out, COUNT);
    CHECK(cudaFreeAsync(squared, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    printf("captured: %zu nodes\n", nodes);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

static bool launch(const char *name, cudaGraphExec_t exec, cudaStream_t stream, int *in, int *out)
{
    std::vector<int> values(COUNT), result(COUNT);
    int wrong = 0;
    for (int launch = 0; launch < LAUNCHES; ++launch) {
        std::iota(values.begin(), values.end(), launch * 10);
        CHECK(cudaMemcpyAsync(in, values.data(), COUNT * sizeof(int), cudaMemcpyHostToDevice, stream));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaMemcpyAsync(result.data(), out, COUNT * sizeof(int), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < COUNT; ++i) {
            const int next = values[(i + 1) % COUNT];
            wrong += result[i] != values[i] * values[i] + next * next;
        }
        printf("%s, launch %d: %d and %d, %d wrong\n", name, launch, result[0], result[COUNT - 1], wrong);
    }
    CHECK(cudaGraphExecDestroy(exec));
    return wrong == 0;
}

int main()
{
    int *in, *out;
    cudaStream_t stream;
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&in, COUNT * sizeof(int)));
    CHECK(cudaMalloc(&out, COUNT * sizeof(int)));
    bool right = launch("by nodes", make_by_nodes(stream, in, out), stream, in, out);
    right = launch("by capture", make_by_capture(stream, in, out), stream, in, out) && right;
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    CHECK(cudaDeviceGraphMemTrim(0));
    CHECK(cudaStreamDestroy(stream));
    printf("%s\n", right ? "passed" : "FAILED");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
