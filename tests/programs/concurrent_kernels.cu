/* Kernels that may run at the same time: one stream forks into eight by events, and waits for them all before the last
 * kernel. The same is captured, and the shape of the graph is looked at. */
#include "program.h"

enum { KERNELS = 8 };

__global__ void start(int *seed, int value)
{
    *seed = value;
}

/* Long enough that kernels on other streams may run meanwhile. */
__global__ void walk(int *out, const int *seed, int steps)
{
    unsigned number = static_cast<unsigned>(*seed);
    for (int i = 0; i < steps; i++)
        number = number * 1664525u + 1013904223u;
    *out = static_cast<int>(number >> 16);
}

__global__ void add_up(int *sum, const int *values)
{
    *sum = 0;
    for (int i = 0; i < KERNELS; i++)
        *sum += values[i];
}

static int calculate(int seed)
{
    int sum = 0;
    for (int i = 0; i < KERNELS; i++) {
        unsigned number = static_cast<unsigned>(seed);
        for (int step = 0; step < 100 * (i + 1); step++)
            number = number * 1664525u + 1013904223u;
        sum += static_cast<int>(number >> 16);
    }
    return sum;
}

struct work {
    int *seed, *values, *sum;
    cudaStream_t main, streams[KERNELS];
    cudaEvent_t forked, joined[KERNELS];
};

static void queue(const work &w, int seed)
{
    start<<<1, 1, 0, w.main>>>(w.seed, seed);
    CHECK(cudaEventRecord(w.forked, w.main));
    for (int i = 0; i < KERNELS; i++) {
        CHECK(cudaStreamWaitEvent(w.streams[i], w.forked, 0));
        walk<<<1, 1, 0, w.streams[i]>>>(w.values + i, w.seed, 100 * (i + 1));
        CHECK(cudaEventRecord(w.joined[i], w.streams[i]));
    }
    for (cudaEvent_t event : w.joined)
        CHECK(cudaStreamWaitEvent(w.main, event, 0));
    add_up<<<1, 1, 0, w.main>>>(w.sum, w.values);
}

static cudaGraph_t capture(const work &w, int seed)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(w.main, cudaStreamCaptureModeGlobal));
    queue(w, seed);
    CHECK(cudaStreamEndCapture(w.main, &graph));
    return graph;
}

int main()
{
    work w = {allocate<int>(1), allocate<int>(KERNELS), allocate<int>(1), make_stream(), {}, make_event(), {}};
    std::size_t edges = 0, roots = 0;
    for (int i = 0; i < KERNELS; i++) {
        w.streams[i] = make_stream();
        w.joined[i] = make_event();
    }
    for (int seed = 1; seed <= 3; seed++) {
        queue(w, seed);
        EXPECT(read_one(w.sum, w.main), calculate(seed));
        std::printf("on streams, from %d: %d\n", seed, calculate(seed));
    }
    cudaGraph_t graph = capture(w, 4);
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
    std::printf("graph: %zu nodes, %zu edges, %zu root\n", count_nodes(graph), edges, roots);
    cudaGraphExec_t exec = instantiate(graph);
    for (int i = 0; i < 3; i++) {
        CHECK(cudaGraphLaunch(exec, w.streams[i]));
        EXPECT(read_one(w.sum, w.streams[i]), calculate(4));
    }
    std::printf("as a graph, from 4: %d\n", calculate(4));
    CHECK(cudaGraphExecDestroy(exec));
    for (int i = 0; i < KERNELS; i++) {
        CHECK(cudaStreamDestroy(w.streams[i]));
        CHECK(cudaEventDestroy(w.joined[i]));
    }
    CHECK(cudaStreamDestroy(w.main));
    CHECK(cudaEventDestroy(w.forked));
    for (int *memory : {w.seed, w.values, w.sum})
        CHECK(cudaFree(memory));
    return 0;
}
