/* A histogram: each block counts in shared memory by atomics, and adds its counts to those of the device. A graph
 * clears the counts, counts, and finds the largest bin. */
#include "program.h"

enum { BINS = 32, N = 6000, THREADS = 128, BLOCKS = 6 };

__global__ void count(unsigned *bins, const unsigned char *data, int size)
{
    __shared__ unsigned mine[BINS];
    if (threadIdx.x < BINS)
        mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = thread_index(); i < size; i += BLOCKS * THREADS)
        atomicAdd(&mine[data[i] % BINS], 1u);
    __syncthreads();
    if (threadIdx.x < BINS)
        atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

/* The count and the number of a bin in one word: the largest word has the largest count. */
__global__ void find_largest(unsigned *largest, const unsigned *bins)
{
    atomicMax(largest, bins[threadIdx.x] * BINS + threadIdx.x);
}

struct work {
    unsigned char *data;
    unsigned *bins, *largest;
};

static cudaGraphExec_t make_graph(work w)
{
    cudaGraph_t graph;
    cudaGraphNode_t cleared[2], counted, found;
    int size = N;
    void *count_arguments[] = {&w.bins, &w.data, &size}, *arguments[] = {&w.largest, &w.bins};
    cudaMemsetParams zero = {};
    zero.elementSize = sizeof(unsigned);
    zero.height = 1;
    CHECK(cudaGraphCreate(&graph, 0));
    zero.dst = w.bins;
    zero.width = BINS;
    CHECK(cudaGraphAddMemsetNode(&cleared[0], graph, nullptr, 0, &zero));
    zero.dst = w.largest;
    zero.width = 1;
    CHECK(cudaGraphAddMemsetNode(&cleared[1], graph, nullptr, 0, &zero));
    cudaKernelNodeParams params = kernel_params(count, BLOCKS, THREADS, count_arguments);
    CHECK(cudaGraphAddKernelNode(&counted, graph, cleared, 1, &params));
    params = kernel_params(find_largest, 1, BINS, arguments);
    const cudaGraphNode_t before[] = {counted, cleared[1]};
    CHECK(cudaGraphAddKernelNode(&found, graph, before, 2, &params));
    return instantiate(graph);
}

static unsigned count_on_host(const unsigned char *data, unsigned *bins)
{
    unsigned largest = 0;
    for (int i = 0; i < BINS; i++)
        bins[i] = 0;
    for (int i = 0; i < N; i++)
        bins[data[i] % BINS]++;
    for (unsigned i = 0; i < BINS; i++)
        largest = bins[i] * BINS + i > largest ? bins[i] * BINS + i : largest;
    return largest;
}

int main()
{
    cudaStream_t stream = make_stream();
    const work w = {allocate<unsigned char>(N), allocate<unsigned>(BINS), allocate<unsigned>(1)};
    static unsigned char data[N];
    unsigned wanted[BINS], found[BINS], number = 1;
    cudaGraphExec_t exec = make_graph(w);
    for (int round = 1; round <= 3; round++) {
        for (unsigned char &each : data) {
            number = number * 1103515245u + 12345u;
            each = static_cast<unsigned char>((number >> 16) % 29 * (number >> 24 & 7u) / 3);
        }
        const unsigned largest = count_on_host(data, wanted);
        CHECK(cudaMemcpyAsync(w.data, data, N, cudaMemcpyHostToDevice, stream));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaMemcpyAsync(found, w.bins, sizeof found, cudaMemcpyDeviceToHost, stream));
        EXPECT(read_one(w.largest, stream), largest);
        for (int i = 0; i < BINS; i++)
            EXPECT(found[i], wanted[i]);
        std::printf("round %d: %u in bin 1, most in bin %u: %u\n", round, found[1], largest % BINS, largest / BINS);
    }
    CHECK(cudaGraphExecDestroy(exec));
    for (void *memory : {static_cast<void *>(w.data), static_cast<void *>(w.bins), static_cast<void *>(w.largest)})
        CHECK(cudaFree(memory));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
