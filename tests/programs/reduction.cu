/* The sum of many numbers by a graph of copies, a memset, kernels and a host function: first captured from streams,
 * then made node by node. Each is launched three times, and so is a clone of it. */
#include "program.h"

enum { N = 4096, THREADS = 128, BLOCKS = 8, LAUNCHES = 3 };

struct work {
    int *number, *numbers_on_device;
    long long *partial, *sum_on_device, *sum;
};

struct totals {
    const long long *sum;
    long long total;
    int runs;
};

__global__ void add_up_blocks(long long *partial, const int *number, int count)
{
    __shared__ long long cell[THREADS];
    const int me = static_cast<int>(threadIdx.x), stride = static_cast<int>(gridDim.x * blockDim.x);
    long long sum = 0;
    for (int i = thread_index(); i < count; i += stride)
        sum += number[i];
    cell[me] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (me < half)
            cell[me] += cell[me + half];
        __syncthreads();
    }
    if (me == 0)
        partial[blockIdx.x] += cell[0];
}

__global__ void add_up_partial(long long *sum, const long long *partial)
{
    long long value = threadIdx.x < BLOCKS ? partial[threadIdx.x] : 0;
    for (unsigned offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(~0u, value, offset);
    if (threadIdx.x == 0)
        *sum = value;
}

static void CUDART_CB keep_total(void *data)
{
    totals *all = static_cast<totals *>(data);
    all->total += *all->sum;
    all->runs++;
}

static cudaGraph_t capture(const work &w, totals *all)
{
    cudaStream_t stream = make_stream(), side = make_stream();
    cudaEvent_t forked = make_event(), joined = make_event();
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(forked, stream));
    CHECK(cudaStreamWaitEvent(side, forked, 0));
    CHECK(cudaMemcpyAsync(w.numbers_on_device, w.number, N * sizeof(int), cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemsetAsync(w.partial, 0, BLOCKS * sizeof(long long), side));
    CHECK(cudaEventRecord(joined, side));
    CHECK(cudaStreamWaitEvent(stream, joined, 0));
    add_up_blocks<<<BLOCKS, THREADS, 0, stream>>>(w.partial, w.numbers_on_device, N);
    add_up_partial<<<1, 32, 0, stream>>>(w.sum_on_device, w.partial);
    CHECK(cudaMemcpyAsync(w.sum, w.sum_on_device, sizeof(long long), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaLaunchHostFunc(stream, keep_total, all));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(side));
    CHECK(cudaEventDestroy(forked));
    CHECK(cudaEventDestroy(joined));
    return graph;
}

static cudaGraph_t make_by_hand(work w, totals *all)
{
    cudaGraph_t graph;
    cudaGraphNode_t first[2], blocks, added, copied, kept;
    int count = N;
    void *block_arguments[] = {&w.partial, &w.numbers_on_device, &count}, *arguments[] = {&w.sum_on_device, &w.partial};
    const cudaMemsetParams zero = {w.partial, 0, 0, sizeof(int), BLOCKS * 2, 1};
    const cudaHostNodeParams host = {keep_total, all};
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(w.number, N * sizeof(int), N, 1);
    copy.dstPtr = make_cudaPitchedPtr(w.numbers_on_device, N * sizeof(int), N, 1);
    copy.extent = make_cudaExtent(N * sizeof(int), 1, 1);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode(&first[0], graph, nullptr, 0, &copy));
    CHECK(cudaGraphAddMemsetNode(&first[1], graph, nullptr, 0, &zero));
    cudaKernelNodeParams kernel = kernel_params(add_up_blocks, BLOCKS, THREADS, block_arguments);
    CHECK(cudaGraphAddKernelNode(&blocks, graph, first, 2, &kernel));
    kernel = kernel_params(add_up_partial, 1, 32, arguments);
    CHECK(cudaGraphAddKernelNode(&added, graph, &blocks, 1, &kernel));
    CHECK(cudaGraphAddMemcpyNode1D(&copied, graph, &added, 1, w.sum, w.sum_on_device, sizeof(long long),
                                   cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddHostNode(&kept, graph, &copied, 1, &host));
    return graph;
}

static void run(const char *name, cudaGraph_t graph, totals *all)
{
    cudaStream_t stream = make_stream();
    cudaGraph_t clone;
    const std::size_t nodes = count_nodes(graph);
    CHECK(cudaGraphClone(&clone, graph));
    cudaGraphExec_t execs[] = {instantiate(graph), instantiate(clone)};
    *all = {all->sum, 0, 0};
    for (int i = 0; i < 2 * LAUNCHES; i++)
        CHECK(cudaGraphLaunch(execs[i % 2], stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(all->total, 2LL * LAUNCHES * N * (N + 1) / 2);
    std::printf("%s: %zu nodes, %d launches, total %lld\n", name, nodes, all->runs, all->total);
    for (cudaGraphExec_t exec : execs)
        CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(stream));
}

int main()
{
    work w = {allocate_pinned<int>(N), allocate<int>(N), allocate<long long>(BLOCKS), allocate<long long>(1),
              allocate_pinned<long long>(1)};
    totals all = {w.sum, 0, 0};
    for (int i = 0; i < N; i++)
        w.number[i] = i + 1;
    run("captured", capture(w, &all), &all);
    run("by hand", make_by_hand(w, &all), &all);
    for (void *memory : {static_cast<void *>(w.numbers_on_device), static_cast<void *>(w.partial),
                         static_cast<void *>(w.sum_on_device)})
        CHECK(cudaFree(memory));
    CHECK(cudaFreeHost(w.number));
    CHECK(cudaFreeHost(w.sum));
    return 0;
}
